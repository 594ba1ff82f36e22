// A Sampler takes logits and a mask, runs the chain of stages, and selects one token. A session owns a Sampler and
// stores the state of its selections per token. A StandaloneSampler stores the state itself and serves the logits of
// any runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/base/use_count.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/sampling/sampler_context.h"
#include "runtime/sampling/sampler_params.h"
#include "runtime/sampling/scratch.h"
#include "runtime/sampling/stages/dry.h"

namespace sotto {

// A token that was drawn.
struct SampledToken {
  int32_t token;
  // ln p under the distribution that the token was selected from, or NaN unless SamplerParams::log_probabilities is
  // set. For greedy selection, this is the distribution after the last stage that reorders tokens (Chain::make()).
  float sampled_log_probability;
  // Number of tokens that could be drawn from that distribution, or 0 unless SamplerParams::statistics is set. It is 1
  // for greedy selection.
  uint32_t kept_count;
};

// Selects tokens with the parameters of the last set_params(). The mask must allow at least one token, and the selected
// token is always an allowed one.
//
// Allowed tokens, suppressed tokens and bad words limit the mask (constrain), so they always hold. If the stages ban
// every allowed token, those that ban are skipped.
//
// NaN counts as -infinity. If all logits are -infinity, the lowest allowed id is selected. If some are +infinity, these
// tokens are equally likely and no others are drawn.
class Sampler {
 public:
  // Takes the memory of a sampler with these properties. The objects that `context` points to must outlive the sampler.
  void layout(Arena& arena, const SamplerContext& context);
  // Sets the default parameters. Requires layout() over real memory.
  void init(const Kernels& kernels);

  // Validates and copies the parameters, including their lists. On failure the old ones stay in effect.
  Status set_params(const SamplerParams& params, Error* error);
  const SamplerContext& context() const { return context_; }
  const SamplerParams& params() const { return params_; }  // its lists are the sampler's copies

  SamplerState initial_state() const;

  // Applies the hard bans to the mask: it keeps only the allowed tokens, without suppressed tokens and bad words.
  // Returns whether any token is left. The result may be in the sampler's memory. sample(), reweigh(), apply() and
  // drawable() require a mask from this function.
  bool constrain(const SampleInput& input, TokenMask* mask);
  // Copies the mask to the sampler's memory and returns its words. The caller may change them.
  uint64_t* copy_mask(TokenMask* mask);

  // Selects a token. `logits` has one element per token of the vocabulary and is not changed.
  SampledToken sample(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                      SamplerState* state);

  // The next three return a complete set of candidates, valid until the next call.

  // Returns the candidates after the stages that change logits because of the text: bans, biases, forcing, penalties
  // and the bias of the watermark. Temperature, smoothing and truncations are not applied.
  Candidates& reweigh(std::span<const float> logits, const TokenMask& mask, const SampleInput& input);
  // Returns the candidates after all stages, before the selection. If the selection is greedy, only the most likely one
  // remains.
  const Candidates& apply(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                          const SamplerState& state);
  // Returns the candidates that sample() draws from: those of apply(), changed by Mirostat or adaptive-p.
  const Candidates& drawable(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                             const SamplerState& state);
  // Returns the state that follows `state` after the caller has selected `tokens` from the results of apply().
  SamplerState state_after(SamplerState state, std::span<const int32_t> tokens) const;

 private:
  StageInput make_stage_input(const SampleInput& input, const SamplerState& state) {
    return {params_, context_, input, state, past_, breakers_, scratch_};
  }
  void run(std::span<const float> logits, const TokenMask& mask, const StageInput& input, Chain::Skip skip);
  void count_for_top_p(int32_t token, SamplerState* state) const;

  const Kernels* kernels_ = nullptr;
  SamplerContext context_;
  SamplerParams params_;
  ListMemory lists_;
  Chain chain_;
  SamplerScratch scratch_;
  Candidates candidates_;
  PastTokens past_;
  BreakerSet breakers_;
  uint64_t* mask_words_ = nullptr;  // one bit per token
};

// A sampler for the logits of any runtime.
class StandaloneSampler {
 public:
  static constexpr size_t kObjectBytes = 4096;

  static Status memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* size, Error* error);
  // `kernels` and the objects that `context` points to must outlive the sampler.
  static Status init(const Kernels& kernels, const SamplerContext& context, void* memory, size_t memory_size,
                     StandaloneSampler** sampler, Error* error);
  void layout(Arena& arena, const SamplerContext& context) { sampler_.layout(arena, context); }

  size_t vocabulary_size() const { return sampler_.context().vocabulary_size; }
  // Returns whether the sampler's logits callback is running. No other function may be called then.
  bool is_in_use() const { return uses_.is_in_use(); }
  Status set_params(const SamplerParams& params, Error* error);
  // Selects a token. `logits` has vocabulary_size() elements, and the tokens in the input are in the vocabulary.
  Status sample(std::span<const float> logits, TokenMask mask, const SampleInput& input, int32_t* token, Error* error);
  // Returns the candidates that sample() would draw from, valid until the next call.
  Status apply(std::span<const float> logits, TokenMask mask, const SampleInput& input, const Candidates** candidates,
               Error* error);

 private:
  Status constrain(const SampleInput& input, TokenMask* mask, Error* error);

  UseCount uses_;
  Sampler sampler_;
  SamplerState state_;
};

// Writes the probability of each candidate. If all logits are -infinity, the first candidate has probability 1, because
// it would be selected.
void write_probabilities(const Candidates& candidates, float* probabilities);

}  // namespace sotto
