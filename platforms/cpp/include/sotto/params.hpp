// Part of sotto.hpp: the parameters of samplers, sessions, stops, guides, speculation and searches. Each struct
// inherits the C struct and sets its defaults. Lists and callbacks hide the C fields with the same names, which the
// binding fills in from them. Structs with lists inherit detail::...Lists, which capi/generate writes.
#ifndef SOTTO_PARAMS_HPP
#define SOTTO_PARAMS_HPP

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "generated/lists.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

class Session;

// Parameters of a watermark.
struct WatermarkParams : sotto_watermark_params {
  WatermarkParams() { sotto_watermark_params_init(this, sizeof(sotto_watermark_params)); }
};

// Parameters of the sampler.
struct SamplerParams : detail::SamplerParamsLists {
  SamplerParams() { sotto_sampler_params_init(this, sizeof(sotto_sampler_params)); }
  // Sets the parameters for a purpose, or the defaults for an unknown preset.
  explicit SamplerParams(sotto_preset preset) : SamplerParams() {
    sotto_sampler_params_init_preset(this, sizeof(sotto_sampler_params), preset);
  }

  std::function<void(View<float> logits)> logits_callback;
  std::function<void(Tokens tokens, uint32_t sequence, View<float> logits)> logits_processor;
  std::optional<WatermarkParams> watermark;
};

// Parameters of a session. They determine its memory.
struct SessionParams : sotto_session_params {
  SessionParams() { sotto_session_params_init(this, sizeof(sotto_session_params)); }
};

// Conditions that end generation.
struct StopParams : detail::StopParamsLists {
  StopParams() { sotto_stop_params_init(this, sizeof(sotto_stop_params)); }
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
struct SearchParams : detail::SearchParamsLists {
  SearchParams() { sotto_search_params_init(this, sizeof(sotto_search_params)); }

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

// The functions that change logits, and the guard that stores an exception of one of them.
struct LogitsCalls {
  std::function<void(View<float>)> callback;
  std::function<void(Tokens, uint32_t, View<float>)> processor;
  Guard* guard;

  static void call(void* user_data, float* logits, size_t count) {
    auto* self = static_cast<LogitsCalls*>(user_data);
    self->guard->run([&] { self->callback(View<float>(logits, count)); });
  }
  static void process(void* user_data, const Token* tokens, size_t token_count, uint32_t sequence, float* logits,
                      size_t count) {
    auto* self = static_cast<LogitsCalls*>(user_data);
    self->guard->run([&] { self->processor(Tokens(tokens, token_count), sequence, View<float>(logits, count)); });
  }
};

// The C struct of sampler parameters, and the functions that it calls. `params` must outlive it.
class CSamplerParams {
 public:
  CSamplerParams(const SamplerParams& params, Guard* guard)
      : c_(params), calls_(new LogitsCalls{params.logits_callback, params.logits_processor, guard}) {
    params.lists_to_c(c_, arrays_);
    c_.watermark = params.watermark ? &*params.watermark : nullptr;
    c_.logits_callback = params.logits_callback ? &LogitsCalls::call : nullptr;
    c_.logits_processor = params.logits_processor ? &LogitsCalls::process : nullptr;
    c_.logits_user_data = c_.processor_user_data = calls_.get();
  }
  CSamplerParams(const CSamplerParams&) = delete;
  CSamplerParams& operator=(const CSamplerParams&) = delete;

  const sotto_sampler_params* get() const { return &c_; }
  // Returns the functions. They must live as long as the parameters are in effect.
  std::unique_ptr<LogitsCalls> take_calls() { return std::move(calls_); }

 private:
  sotto_sampler_params c_;
  Arrays arrays_;
  std::unique_ptr<LogitsCalls> calls_;
};

}  // namespace detail

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_PARAMS_HPP
