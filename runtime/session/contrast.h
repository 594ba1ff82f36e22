// Contrastive logits: combinations of the logits of two models, of two prompts of one model, or of two layers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Combines the logits of a session and of its guide into `mixed`, a row of `logits.size()` elements.
//   kCfg: classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"),
//     mixed = scale * (ln p - ln p_guide) + ln p_guide. At scale 1, this is ln p, up to rounding.
//   kContrast: contrastive decoding (Li et al. 2022) as O'Brien and Lewis 2023 write it ("Contrastive Decoding Improves
//     Reasoning in Large Language Models"), mixed = (1 + beta) * l - beta * l_guide where l >= max l + ln alpha, and
//     -infinity elsewhere.
void mix_guide(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
               std::span<const float> guide, float* mixed);

inline constexpr uint32_t kMaxPrematureLayers = 10;
// Returns the maximum number of premature layers: DoLa compares these layers with the last one.
constexpr uint32_t premature_layer_count(uint32_t layer_count) {
  return std::min((layer_count + 3) / 4, kMaxPrematureLayers);
}

// Rejects the parameter dola if the session or the model cannot support it.
Status check_dola(const SamplerParams& params, const Model& model, uint32_t features, Error* error);

// Applies DoLa, decoding by contrasting layers (Chuang et al. 2023). DoLa compares the last layer's distribution p with
// the distribution q of each candidate layer, and takes the q with the largest Jensen-Shannon divergence from p; among
// equals, the lowest layer wins. Then mixed = ln p - ln q where p >= dola_relative_top * max p, and -infinity
// elsewhere. The candidates are every other layer of the lower half (kLow) or of the upper half (kHigh). Requires the
// last row and the logits (KvSequence::ensure_last_row(), ensure_logits()); the logits stay as they are. `memory` has
// premature_layer_count() rows of one element per token. Returns `mixed`, one of these rows.
std::span<const float> contrast_layers(KvSequence* sequence, const Model& model, const SamplerParams& params,
                                       float* memory);

}  // namespace sotto
