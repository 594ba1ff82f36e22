// Part of sotto.hpp: the parameters of samplers, sessions, stops, guides, speculation and searches. Each struct
// inherits the C struct and sets its defaults. Lists and callbacks hide the C fields with the same names; the binding
// fills in the C fields from them. Structs with lists inherit detail::...Lists, which capi/generate writes.
#ifndef SOTTO_PARAMS_HPP
#define SOTTO_PARAMS_HPP

#include <functional>
#include <optional>
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
  // The parameters for a purpose. For an unknown preset, they are the defaults.
  explicit SamplerParams(sotto_preset preset) : SamplerParams() {
    sotto_sampler_params_init_preset(this, sizeof(sotto_sampler_params), preset);
  }

  std::function<void(View<float> logits)> logits_callback;
  std::optional<WatermarkParams> watermark;
};

// Parameters of a session, which determine its memory.
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

// The C struct of sampler parameters, without the callback. `params` must outlive it.
class CSamplerParams {
 public:
  explicit CSamplerParams(const SamplerParams& params) : c_(params) {
    params.lists_to_c(c_, arrays_);
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
  Arrays arrays_;
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
