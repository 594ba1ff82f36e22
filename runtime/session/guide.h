// Logits of two models, or of one model for two prompts, made into one row.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/status.h"

namespace sotto {

// Numbered as sotto_guide_mode.
enum class GuideMode : int32_t { kOff = 0, kCfg = 1, kContrast = 2 };

// As sotto_guide_params.
struct GuideParams {
  GuideMode mode = GuideMode::kCfg;
  float scale = 1.5f;
  float alpha = 0.1f;
  float beta = 0.5f;
};

Status check_guide(const GuideParams& params, Error* error);

// Both write a row of `logits.size()` to `mixed`.
// Classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free
// Guidance"): scale (ln p - ln p_guide) + ln p_guide. At scale 1 exactly ln p.
// Contrastive decoding (Li et al. 2022; in the form of O'Brien and Lewis 2023, "Contrastive
// Decoding Improves Reasoning in Large Language Models"): (1 + beta) l - beta l_guide where
// l >= max l + ln alpha, else -infinity.
void mix_guide(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
               std::span<const float> guide, float* mixed);

}  // namespace sotto
