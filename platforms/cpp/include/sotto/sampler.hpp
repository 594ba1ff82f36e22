// Part of sotto.hpp: the sampler's chain for any logits, and the detection of watermarks.
#ifndef SOTTO_SAMPLER_HPP
#define SOTTO_SAMPLER_HPP

#include <vector>

#include "model.hpp"
#include "params.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

// Input for one token.
struct SamplerInput {
  View<const float> logits;
  View<const uint64_t> allowed;  // bit i % 64 of word i / 64 allows token i; empty allows all
  Tokens history;                // the previous tokens, newest last
  uint64_t generated_count = 0;  // number of tokens at the end of the history that were generated
  uint64_t token_limit = 0;
  uint32_t sequence = 0;
};

// A token that remains after the chain, with its probability.
struct Candidate {
  Token token;
  float probability;
};

// The sampler's chain without a session, for the logits of any runtime.
class Sampler {
 public:
  // Creates a sampler for a model. The model defines the text of tokens and the end-of-text token.
  static Result<Sampler> create(const Model& model, uint32_t list_bytes = 16384) {
    return create(&model, model.info().vocabulary_size, list_bytes);
  }
  // Creates a sampler for tokens without text and without an end-of-text token.
  static Result<Sampler> create(size_t vocabulary_size, uint32_t list_bytes = 16384) {
    return create(nullptr, vocabulary_size, list_bytes);
  }

  Sampler(Sampler&&) = default;
  Sampler& operator=(Sampler&&) = default;

  Result<void> set(const SamplerParams& params) {
    detail::CSamplerParams c_params(params, &state_->guard);
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_sampler_set(c_sampler(), c_params.get(), report.out()));
    state_->logits = c_params.take_calls();
    SOTTO_HPP_DONE_;
  }

  Result<Token> sample(const SamplerInput& input) {
    const sotto_sampler_input c_input = to_c(input);
    detail::Report report;
    Token token = -1;
    if (!fits(input)) SOTTO_HPP_FAIL_(wrong_size());
    SOTTO_HPP_TRY_(sotto_sampler_sample(c_sampler(), &c_input, &token, report.out()));
    state_->guard.rethrow();
    return token;
  }

  // Returns the distribution after the chain, in the order of token ids.
  Result<std::vector<Candidate>> apply(const SamplerInput& input) {
    const sotto_sampler_input c_input = to_c(input);
    detail::Report report;
    std::vector<Token> tokens(state_->vocabulary_size);
    std::vector<float> probabilities(state_->vocabulary_size);
    size_t count = 0;
    if (!fits(input)) SOTTO_HPP_FAIL_(wrong_size());
    SOTTO_HPP_TRY_(sotto_sampler_apply(c_sampler(), &c_input, tokens.data(), probabilities.data(), tokens.size(),
                                       &count, report.out()));
    state_->guard.rethrow();
    std::vector<Candidate> candidates(count);
    for (size_t i = 0; i < count; ++i) candidates[i] = {tokens[i], probabilities[i]};
    return candidates;
  }

  sotto_sampler* c_sampler() { return state_->handle; }

 private:
  struct State {
    std::shared_ptr<const detail::ModelState> model;
    Memory memory;
    size_t vocabulary_size = 0;
    std::unique_ptr<detail::LogitsCalls> logits;
    detail::Guard guard;
    sotto_sampler* handle = nullptr;
  };

  explicit Sampler(std::unique_ptr<State> state) : state_(std::move(state)) {}

  static Result<Sampler> create(const Model* model, size_t vocabulary_size, uint32_t list_bytes) {
    auto state = std::make_unique<State>();
    if (model) state->model = model->state();
    state->vocabulary_size = vocabulary_size;
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_sampler_memory_size(vocabulary_size, list_bytes, &size, report.out()));
    SOTTO_HPP_TRY_(detail::allocate(size, state->memory));
    SOTTO_HPP_TRY_(sotto_sampler_init(model ? model->c_model() : nullptr, vocabulary_size, list_bytes,
                                      state->memory.data(), size, &state->handle, report.out()));
    return Sampler(std::move(state));
  }

  // Returns whether the arrays are long enough; the library cannot check this.
  bool fits(const SamplerInput& input) const {
    const size_t words = (state_->vocabulary_size + 63) / 64;
    return input.logits.size() == state_->vocabulary_size && (input.allowed.empty() || input.allowed.size() >= words);
  }
  static Error wrong_size() {
    return Error(SOTTO_INVALID_ARGUMENT, "logits must have one element per token, allowed one bit per token");
  }

  static sotto_sampler_input to_c(const SamplerInput& input) {
    sotto_sampler_input c_input{};
    c_input.struct_size = sizeof c_input;
    c_input.sequence = input.sequence;
    c_input.logits = input.logits.data();
    c_input.allowed = input.allowed.empty() ? nullptr : input.allowed.data();
    c_input.history = input.history.data();
    c_input.history_count = input.history.size();
    c_input.generated_count = input.generated_count;
    c_input.token_limit = input.token_limit;
    return c_input;
  }

  std::unique_ptr<State> state_;
};

using WatermarkResult = sotto_watermark_result;

// Detects a watermark. `vocabulary_size` must be the vocabulary size of the model that generated the tokens.
inline Result<WatermarkResult> detect_watermark(const WatermarkParams& params, size_t vocabulary_size, Tokens tokens) {
  WatermarkResult result{};
  result.struct_size = sizeof result;
  detail::Report report;
  SOTTO_HPP_TRY_(sotto_watermark_detect(&params, vocabulary_size, tokens.data(), tokens.size(), &result, report.out()));
  return result;
}

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_SAMPLER_HPP
