// Part of sotto.hpp: the parameters of samplers, sessions, stops, guides, speculation and searches. Each struct
// inherits the C struct and sets its defaults. Lists and callbacks hide the C fields with the same names, which are
// filled in from them.
#ifndef SOTTO_PARAMS_HPP
#define SOTTO_PARAMS_HPP

#include <functional>
#include <optional>
#include <vector>

#include "base.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

class Session;

using TokenBias = sotto_token_bias;

// A bias of the last of `tokens`, applied when the text ends with the others.
struct SequenceBias {
  std::vector<Token> tokens;
  float bias = 0;
};

// Parameters of a watermark.
struct WatermarkParams : sotto_watermark_params {
  WatermarkParams() { sotto_watermark_params_init(this, sizeof(sotto_watermark_params)); }
};

// Parameters of the sampler.
struct SamplerParams : sotto_sampler_params {
  SamplerParams() { sotto_sampler_params_init(this, sizeof(sotto_sampler_params)); }

  std::vector<sotto_stage> stages;
  std::optional<std::vector<std::string>> dry_breakers;  // nullopt selects the defaults of the C interface
  std::vector<Token> dry_breaker_tokens;
  std::vector<TokenBias> logit_bias;
  std::vector<SequenceBias> sequence_bias;
  std::vector<std::vector<Token>> bad_words;
  std::vector<Token> allowed_tokens;
  std::vector<Token> suppressed_tokens;
  std::vector<Token> begin_suppressed_tokens;
  std::vector<Token> forced_prefix;
  std::function<void(View<float> logits)> logits_callback;
  std::optional<WatermarkParams> watermark;
};

// Parameters of a session, which determine its memory.
struct SessionParams : sotto_session_params {
  SessionParams() { sotto_session_params_init(this, sizeof(sotto_session_params)); }
};

// Conditions that end generation.
struct StopParams : sotto_stop_params {
  StopParams() { sotto_stop_params_init(this, sizeof(sotto_stop_params)); }

  std::vector<Token> stop_tokens;
  std::vector<std::string> stop_strings;
  std::vector<std::string> banned_strings;
};

// Parameters of guidance by a second session.
struct GuideParams : sotto_guide_params {
  GuideParams() { sotto_guide_params_init(this, sizeof(sotto_guide_params)); }
};

// Proposes tokens that may come next: writes them to `drafts` and returns their number.
using DraftFunction = std::function<size_t(Tokens tokens, View<const float> hidden, View<Token> drafts)>;

// Parameters of speculative decoding.
struct SpeculationParams : sotto_speculation_params {
  SpeculationParams() { sotto_speculation_params_init(this, sizeof(sotto_speculation_params)); }

  const Session* draft_session = nullptr;  // the session that uses it keeps it alive
  DraftFunction draft;
};

// Parameters of a search.
struct SearchParams : sotto_search_params {
  SearchParams() { sotto_search_params_init(this, sizeof(sotto_search_params)); }

  std::vector<std::vector<Token>> phrases;
  std::vector<uint32_t> phrase_groups;  // one per phrase, or empty
  std::function<double(Tokens a, Tokens b)> similarity;
  std::function<bool(uint32_t sequence, Token token)> on_step;  // returns true to continue the search
};

// A continuation that a search found.
struct Sequence {
  std::vector<Token> tokens;
  double score;
  double log_probability;
  Status stop;
  uint32_t index;
};

namespace detail {

template <class T>
void to_c(const std::vector<T>& list, const T*& data, size_t& count) {
  data = list.empty() ? nullptr : list.data();
  count = list.size();
}

// An array of C texts or token lists that refers to a list of the caller.
class Texts {
 public:
  Texts() = default;
  explicit Texts(const std::vector<std::string>& list) {
    for (const std::string& text : list) texts_.push_back({text.data(), text.size()});
  }
  void to_c(const sotto_text*& data, size_t& count) const { detail::to_c(texts_, data, count); }

 private:
  std::vector<sotto_text> texts_;
};

class TokenLists {
 public:
  explicit TokenLists(const std::vector<std::vector<Token>>& lists) {
    for (const std::vector<Token>& list : lists) lists_.push_back({list.data(), list.size()});
  }
  void to_c(const sotto_token_list*& data, size_t& count) const { detail::to_c(lists_, data, count); }

 private:
  std::vector<sotto_token_list> lists_;
};

// The C struct of sampler parameters, without the callback. `params` must outlive it.
class CSamplerParams {
 public:
  explicit CSamplerParams(const SamplerParams& params) : c_(params), bad_words_(params.bad_words) {
    to_c(params.stages, c_.stages, c_.stage_count);
    if (params.dry_breakers) {
      breakers_ = Texts(*params.dry_breakers);
      breakers_.to_c(c_.dry_breakers, c_.dry_breaker_count);
    }
    to_c(params.dry_breaker_tokens, c_.dry_breaker_tokens, c_.dry_breaker_token_count);
    to_c(params.logit_bias, c_.logit_bias, c_.logit_bias_count);
    for (const SequenceBias& sequence : params.sequence_bias) {
      sequences_.push_back({sequence.tokens.data(), sequence.tokens.size(), sequence.bias, 0});
    }
    to_c(sequences_, c_.sequence_bias, c_.sequence_bias_count);
    bad_words_.to_c(c_.bad_words, c_.bad_word_count);
    to_c(params.allowed_tokens, c_.allowed_tokens, c_.allowed_token_count);
    to_c(params.suppressed_tokens, c_.suppressed_tokens, c_.suppressed_token_count);
    to_c(params.begin_suppressed_tokens, c_.begin_suppressed_tokens, c_.begin_suppressed_token_count);
    to_c(params.forced_prefix, c_.forced_prefix, c_.forced_prefix_count);
    c_.watermark = params.watermark ? &*params.watermark : nullptr;
  }
  CSamplerParams(const CSamplerParams&) = delete;
  CSamplerParams& operator=(const CSamplerParams&) = delete;

  void set_callback(sotto_logits_fn function, void* user_data) {
    c_.logits_callback = function;
    c_.logits_user_data = user_data;
  }
  const sotto_sampler_params* get() const { return &c_; }

 private:
  sotto_sampler_params c_;
  Texts breakers_;
  TokenLists bad_words_;
  std::vector<sotto_sequence_bias> sequences_;
};

// A callback that changes logits, and the exception that it threw, if any.
struct LogitsCall {
  std::function<void(View<float>)> function;
  Guard* guard;

  static void call(void* user_data, float* logits, size_t count) {
    auto* self = static_cast<LogitsCall*>(user_data);
    self->guard->run([&] { self->function(View<float>(logits, count)); });
  }
};

}  // namespace detail

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_PARAMS_HPP
