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

// Every other layer, beginning with `first`.
struct PrematureLayers {
  uint32_t first;
  uint32_t count;
};

// Returns DoLa's candidate layers, those of Hugging Face transformers. If the head shares its weights with the token
// embedding, the first two layers are left out, because their states mostly encode the input token.
PrematureLayers candidate_layers(const Model& model, DolaLayers which) {
  constexpr uint32_t kMaxSpan = 2 * kMaxPrematureLayers;
  const uint32_t last = model.config().layer_count;
  const uint32_t half = std::min(last / 2, kMaxSpan);
  const uint32_t lowest = model.view().has_tied_head() ? std::min<uint32_t>(last - 1, 2) : 0;
  const bool low = which == DolaLayers::kLow;
  const uint32_t first = low ? lowest : std::max(last / 2, last - std::min(last, kMaxSpan));
  const uint32_t end = low ? std::max(half, first) : last;
  return {first, (end - first + 1) / 2};
}

// Returns H((p + q) / 2), the entropy of the mean of two distributions.
double mean_entropy(const Kernels& kernels, std::span<const float> a, const LogProbabilities& p,
                    std::span<const float> b, const LogProbabilities& q) {
  double entropy = 0;
  for_each_power_chunk(kernels, a, p.max_logit(), [&](const float* p_powers, size_t first, size_t count) {
    float q_powers[kPowerCount];
    kernels.exp_shifted(b.data() + first, count, q.max_logit(), q_powers);
    for (size_t i = 0; i < count; ++i) {
      const double mean = (static_cast<double>(p_powers[i]) / p.sum() + static_cast<double>(q_powers[i]) / q.sum()) / 2;
      if (mean > 0) entropy -= mean * ln(mean);
    }
  });
  return entropy;
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

Status check_dola(const SamplerParams& params, const Model& model, uint32_t features, Error* error) {
  if (params.dola != DolaLayers::kLow && params.dola != DolaLayers::kHigh) return Status::kOk;
  if ((features & kFeatureDola) == 0) {
    return fail(error, Status::kInvalidArgument, "dola: the session was created without SOTTO_FEATURE_DOLA");
  }
  if (candidate_layers(model, params.dola).count > 0) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "dola is LOW; the model has ", model.config().layer_count,
              " layers and must have at least ", model.view().has_tied_head() ? 6u : 2u);
}

std::span<const float> contrast_layers(KvSequence* sequence, const Model& model, const SamplerParams& params,
                                       float* memory) {
  const Kernels& kernels = model.kernels();
  const PrematureLayers layers = candidate_layers(model, params.dola);
  const LayerStates& states = sequence->layer_states();
  sequence->forward().apply_head(states.state(layers.first, sequence->batch_row_count() - 1), 2 * states.layer_stride(),
                                 layers.count, memory);
  const std::span<const float> logits = sequence->logits();
  const LogProbabilities p(kernels, logits);
  const double own_entropy = p.entropy(kernels);
  float* premature = memory;
  double largest = double{kMinusInfinity};
  for (size_t i = 0; i < layers.count; ++i) {
    float* const candidate = memory + i * logits.size();
    const LogProbabilities q(kernels, {candidate, logits.size()});
    // The Jensen-Shannon divergence is H((p + q) / 2) - (H(p) + H(q)) / 2.
    const double divergence =
        mean_entropy(kernels, logits, p, {candidate, logits.size()}, q) - (own_entropy + q.entropy(kernels)) / 2;
    if (!(divergence > largest)) continue;
    largest = divergence;
    premature = candidate;
  }
  const LogProbabilities q(kernels, {premature, logits.size()});
  const double floor = p.of_logit(p.max_logit()) + ln(static_cast<double>(params.dola_relative_top));
  for (size_t i = 0; i < logits.size(); ++i) {
    const double late = p.of_logit(logits[i]);
    premature[i] = late >= floor ? static_cast<float>(late - q.of_logit(premature[i])) : kMinusInfinity;
  }
  return {premature, logits.size()};
}

}  // namespace sotto
