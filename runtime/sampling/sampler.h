// Logits and a mask -> one token: the sampling chain of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/list_memory.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/sampling/stages/dry.h"

namespace sotto {

struct SampledToken {
  int32_t token;
  float log_probability;          // ln p under the raw logits; NaN unless asked for
  float sampled_log_probability;  // ln p under what it was picked from: all stages, and the
                                  // selection's own; for the most likely token, the stages that
                                  // reweigh; NaN unless asked for
};

// Whatever the stages are, a token is one that the mask allows, which is at least one. If
// every allowed token is banned, the stages that ban are left out for that token. NaN
// logits are -infinity; if all are, the lowest allowed id is picked. Logits of +infinity
// share the whole probability.
class Sampler {
 public:
  // Bytes of working memory, a multiple of 64. `list_bytes`: for a copy of the parameters'
  // lists, of list_size() bytes.
  static size_t memory_size(size_t vocabulary_size, size_t list_bytes,
                            size_t history_capacity = kDefaultHistoryCapacity);

  // `memory`: memory_size bytes, 64-byte aligned. The defaults are set.
  void init(const Kernels& kernels, const SamplerShape& shape, void* memory);

  // Checks and takes the parameters, lists included; on failure the old ones stay.
  Status set_params(const SamplerParams& params, Error* error);
  const SamplerParams& params() const { return params_; }  // lists: the sampler's copies

  SamplerState initial_state() const;

  // Picks a token. `logits` (vocabulary) is not changed.
  SampledToken sample(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                      SamplerState* state);

  // The candidates after the stages that change logits by what the text is: bans, biases,
  // forcing, penalties, the watermark's bias; not temperature, smoothing and truncation.
  Candidates& reweigh(std::span<const float> logits, const TokenMask& mask, const SampleInput& input);
  // The candidates after all stages, before the selection; of a greedy one the most likely alone.
  Candidates& process(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                      const SamplerState& state);
  // `state` after tokens that process() was asked about, and something else selected.
  SamplerState state_after(SamplerState state, std::span<const int32_t> tokens) const;

 private:
  StageInput stage_input(const SampleInput& input, const SamplerState& state) {
    return {params_, shape_, input, state, past_, breakers_};
  }
  void run(std::span<const float> logits, const TokenMask& mask, const StageInput& input, Chain::Part part, bool draws);
  float log_probability(std::span<const float> logits, int32_t token);
  void count_for_top_p(int32_t token, SamplerState* state) const;

  const Kernels* kernels_ = nullptr;
  SamplerShape shape_;
  SamplerParams params_;
  ListMemory lists_;
  Chain chain_;
  Candidates candidates_;
  PastTokens past_;
  BreakerSet breakers_;
};

}  // namespace sotto
