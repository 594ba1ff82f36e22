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

// Every other layer, beginning with `first`.
struct PrematureLayers {
  uint32_t first;
  uint32_t count;
};

// Returns DoLa's premature layers, those of Hugging Face transformers: of the lower half (kLow) or of the upper half
// (kHigh). If the head shares its weights with the token embedding, kLow omits the first two layers, because their
// states mostly encode the input token. With three layers, none are then left, and `count` is 0.
PrematureLayers premature_layers(uint32_t layer_count, bool has_tied_head, DolaLayers which);

// Rejects the parameter dola if the session or the model cannot support it.
Status check_dola(const SamplerParams& params, const Model& model, uint32_t features, Error* error);

// Applies DoLa, decoding by contrasting layers (Chuang et al. 2023), as transformers does. With the last layer's
// distribution p and a distribution q of each premature layer:
//
//   chosen = argmax over q of KL(m || p) + KL(m || q), where m = (p + q) / 2; the lowest layer among equals
//   mixed  = ln p - ln chosen where p >= relative_top * max p, and -infinity elsewhere
//
// (The paper has the Jensen-Shannon divergence KL(p || m) + KL(q || m), but the authors' code and transformers exchange
// the arguments.) `premature` has the logits of `count` layers, as (layer, token), lowest layer first. Returns `mixed`,
// in place of the row of the chosen layer.
std::span<const float> contrast_layers(const Kernels& kernels, std::span<const float> logits, float relative_top,
                                       uint32_t count, float* premature);

// Applies DoLa to the last row of a sequence. The premature logits are the head's output for the states before these
// layers, without the final norm. A head of its own cannot do without: the converter moves scales of channels from the
// norm into it. Requires the last row and the logits (KvSequence::ensure_last_row(), ensure_logits()); the logits stay
// as they are. `memory` has premature_layer_count() rows of one element per token. Returns `mixed`, one of these rows.
std::span<const float> contrast_layers(KvSequence* sequence, const Model& model, const SamplerParams& params,
                                       float* memory);

}  // namespace sotto
