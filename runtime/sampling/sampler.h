// Logits and a mask -> one token: the sampling chain of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/sampler_params.h"

namespace sotto {

struct SampledToken {
  int32_t token;
  float log_probability;  // ln p under the raw logits; NaN unless asked for
};

class Sampler {
 public:
  // Bytes of working memory for a vocabulary, a multiple of 64.
  static size_t memory_size(size_t vocabulary_size);

  // `memory`: memory_size bytes, 64-byte aligned. The defaults are set.
  void init(const Kernels& kernels, size_t vocabulary_size, void* memory);

  // Checks and takes the parameters; on failure the old ones stay.
  Status set_params(const SamplerParams& params, Error* error);
  const SamplerParams& params() const { return params_; }

  // Draw number `draw` of the seed (counter-based, so that a rewound session draws the
  // same numbers again). `logits` (vocabulary) is not changed. Never picks a masked token;
  // NaN counts as -infinity. `mask` allows at least one token.
  SampledToken sample(std::span<const float> logits, const TokenMask& mask,
                      const TokenHistory& history, uint64_t draw);

 private:
  float log_probability(std::span<const float> logits, int32_t token);

  const Kernels* kernels_ = nullptr;
  SamplerParams params_;
  Chain chain_;
  Candidates candidates_;
};

}  // namespace sotto
