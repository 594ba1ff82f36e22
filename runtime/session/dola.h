// Decoding by contrasting layers (Chuang et al. 2024, "DoLa"): what the last layer has learned
// over an earlier one.
#pragma once

#include "runtime/base/status.h"
#include "runtime/model/model.h"
#include "runtime/sampling/sampler_params.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Refuses dola where the session or the model is not made for it.
Status check_dola(const SamplerParams& params, const Model& model, uint32_t features, Error* error);

// Of the candidate layers (kLow: every other one of the lower half, from layer 2 on, as the
// first only sees the tokens themselves; kHigh: of the upper half) the one whose distribution
// q has the largest Jensen-Shannon divergence from the last one's p, the lowest of equals:
// mixed = ln p - ln q where p >= dola_relative_top max p, else -infinity. After ensure_logits(),
// for the stream's last token; logits() stay. `mixed`: (vocabulary).
Status contrast_layers(KvSequence* context, const Model& model, const SamplerParams& params, float* mixed);

}  // namespace sotto
