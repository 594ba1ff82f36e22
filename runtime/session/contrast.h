// Functions that compute logits from two distributions: of two models, of one model for two prompts, or of two layers.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Combines the logits of a session and of its guide into the row `mixed` of `logits.size()` elements. GuideMode::kCfg
// is classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"): scale (ln p - ln
// p_guide) + ln p_guide. At scale 1 this is exactly ln p. GuideMode::kContrast is contrastive decoding (Li et al. 2022)
// in the form of O'Brien and Lewis 2023 ("Contrastive Decoding Improves Reasoning in Large Language Models"): (1 +
// beta) l - beta l_guide if l >= max l + ln alpha, else -infinity.
void mix_guide(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
               std::span<const float> guide, float* mixed);

// Rejects the parameter dola if the session or the model cannot support it.
Status check_dola(const SamplerParams& params, const Model& model, uint32_t features, Error* error);

// DoLa, decoding by contrasting layers (Chuang et al. 2023). The candidates are every other layer of the lower half,
// from layer 2 on because the first layers depend mostly on the input token (kLow), or of the upper half (kHigh). The
// candidate whose distribution q has the largest Jensen-Shannon divergence from the last layer's p is chosen; if
// several are equal, the lowest one. The result is mixed = ln p - ln q if p >= dola_relative_top * max p, and -infinity
// otherwise. The logits must be present (KvSequence::ensure_logits()), and they are kept. `mixed` has one element per
// token of the vocabulary.
void contrast_layers(KvSequence* sequence, const Model& model, const SamplerParams& params, float* mixed);

}  // namespace sotto
