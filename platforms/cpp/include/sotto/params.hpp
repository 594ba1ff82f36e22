// Part of sotto.hpp: the parameters of samplers, speculation and searches, which have callbacks or objects. These hide
// the C fields with the same names, which the binding fills in from them. capi/generate writes the other parameters,
// and the bases of these with the lists.
#ifndef SOTTO_PARAMS_HPP
#define SOTTO_PARAMS_HPP

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "generated/params.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

class Session;

// Parameters of the sampler.
struct SamplerParams : detail::SamplerParamsBase {
  using SamplerParamsBase::SamplerParamsBase;

  std::function<void(View<float> logits)> logits_callback;
  std::function<void(Tokens tokens, uint32_t sequence, View<float> logits)> logits_processor;
  std::optional<WatermarkParams> watermark;
};

// Proposes tokens that may come next: writes them to `drafts` and returns their number.
using DraftFunction = std::function<size_t(Tokens tokens, View<const float> hidden, View<Token> drafts)>;

// Parameters of speculative decoding.
struct SpeculationParams : detail::SpeculationParamsBase {
  const Session* draft_session = nullptr;  // the session that uses it keeps it alive
  DraftFunction draft;
};

// Parameters of a search.
struct SearchParams : detail::SearchParamsBase {
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
