#include "runtime/session/contrast.h"

#include <algorithm>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/log_probabilities.h"

namespace sotto {
namespace {

void mix_cfg(const Kernels& kernels, double scale, std::span<const float> logits, std::span<const float> guide,
             float* mixed) {
  const LogProbabilities model(kernels, logits);
  const LogProbabilities other(kernels, guide);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double unguided = other.of_logit(guide[i]);
    const double difference = model.of_logit(logits[i]) - unguided;
    mixed[i] = static_cast<float>(scale * difference + unguided);
  }
}

void mix_contrast(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
                  std::span<const float> guide, float* mixed) {
  const double max = static_cast<double>(kernels.max(logits.data(), logits.size()));
  const double floor = max + ln(static_cast<double>(params.alpha));
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool plausible = static_cast<double>(logits[i]) >= floor;
    mixed[i] = plausible ? (1 + params.beta) * logits[i] - params.beta * guide[i] : kMinusInfinity;
  }
}

PrematureLayers premature_layers_of(const Model& model, DolaLayers which) {
  return premature_layers(model.config().layer_count, model.view().has_tied_head(), which);
}

// Returns KL(m || p) + KL(m || q) for m = (p + q) / 2.
double mean_divergence(const Kernels& kernels, std::span<const float> a, const LogProbabilities& p,
                       std::span<const float> b, const LogProbabilities& q) {
  double divergence = 0;
  for_each_power_chunk(kernels, a, p.max_logit(), [&](const float* p_powers, size_t first, size_t count) {
    float q_powers[kPowerCount];
    kernels.exp_shifted(b.data() + first, count, q.max_logit(), q_powers);
    for (size_t i = 0; i < count; ++i) {
      const double mean = (static_cast<double>(p_powers[i]) / p.sum() + static_cast<double>(q_powers[i]) / q.sum()) / 2;
      if (mean > 0) divergence += mean * (2 * ln(mean) - p.of_logit(a[first + i]) - q.of_logit(b[first + i]));
    }
  });
  return divergence;
}

}  // namespace

void mix_guide(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
               std::span<const float> guide, float* mixed) {
  if (params.mode == GuideMode::kCfg) {
    mix_cfg(kernels, static_cast<double>(params.scale), logits, guide, mixed);
  } else {
    mix_contrast(kernels, params, logits, guide, mixed);
  }
}

PrematureLayers premature_layers(uint32_t layer_count, bool has_tied_head, DolaLayers which) {
  constexpr uint32_t kMaxSpan = 2 * kMaxPrematureLayers;
  const uint32_t half = layer_count / 2;
  if (which == DolaLayers::kHigh) {
    const uint32_t first = std::max(half, layer_count - std::min(layer_count, kMaxSpan));
    return {first, (layer_count - first + 1) / 2};
  }
  const uint32_t first = has_tied_head ? std::min(layer_count - 1, 2u) : 0;
  if (first == half) return {first, 1};
  return {first, first < half ? (std::min(half, kMaxSpan) - first + 1) / 2 : 0};
}

Status check_dola(const SamplerParams& params, const Model& model, uint32_t features, Error* error) {
  if (params.dola != DolaLayers::kLow && params.dola != DolaLayers::kHigh) return Status::kOk;
  if ((features & kFeatureDola) == 0) {
    return fail(error, Status::kInvalidArgument, "dola: the session was created without SOTTO_FEATURE_DOLA");
  }
  const PrematureLayers layers = premature_layers_of(model, params.dola);
  if (layers.count > 0) return Status::kOk;
  return fail(error, Status::kInvalidArgument,
              "dola is LOW; it must be HIGH for a model with 3 layers and a tied head");
}

std::span<const float> contrast_layers(const Kernels& kernels, std::span<const float> logits, float relative_top,
                                       uint32_t count, float* premature) {
  const LogProbabilities p(kernels, logits);
  float* chosen = premature;
  double largest = double{kMinusInfinity};
  for (size_t i = 0; i < count && count > 1; ++i) {
    float* const candidate = premature + i * logits.size();
    const std::span<const float> row(candidate, logits.size());
    const double divergence = mean_divergence(kernels, logits, p, row, LogProbabilities(kernels, row));
    if (!(divergence > largest)) continue;
    largest = divergence;
    chosen = candidate;
  }
  const LogProbabilities q(kernels, {chosen, logits.size()});
  const double floor = p.of_logit(p.max_logit()) + ln(static_cast<double>(relative_top));
  for (size_t i = 0; i < logits.size(); ++i) {
    const double late = p.of_logit(logits[i]);
    chosen[i] = late >= floor ? static_cast<float>(late - q.of_logit(chosen[i])) : kMinusInfinity;
  }
  return {chosen, logits.size()};
}

std::span<const float> contrast_layers(KvSequence* sequence, const Model& model, const SamplerParams& params,
                                       float* memory) {
  const PrematureLayers layers = premature_layers_of(model, params.dola);
  const LayerStates& states = sequence->layer_states();
  const auto input = model.view().has_tied_head() ? Forward::HeadInput::kState : Forward::HeadInput::kNorm;
  sequence->forward().apply_head(input, states.state(layers.first, sequence->batch_row_count() - 1),
                                 2 * states.layer_stride(), layers.count, memory);
  return contrast_layers(model.kernels(), sequence->logits(), params.dola_relative_top, layers.count, memory);
}

}  // namespace sotto
