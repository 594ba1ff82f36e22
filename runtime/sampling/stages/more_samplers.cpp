#include "runtime/sampling/stages/more_samplers.h"

#include "runtime/sampling/stages/adaptive.h"
#include "runtime/sampling/stages/mirostat.h"
#include "runtime/sampling/stages/selection.h"
#include "runtime/sampling/stages/truncation.h"

namespace sotto {
namespace {

// True with the probability given.
bool happens(uint64_t random, float probability) {
  return static_cast<double>(random >> 11) * 0x1p-53 < static_cast<double>(probability);
}

size_t draw(Candidates& candidates, const StageInput& input) {
  return select_multinomial(candidates, draw_bits(input, DrawLane::kSelection));
}

size_t select_mirostat(Candidates& candidates, const StageInput& input, SamplerState* state) {
  const SamplerParams& p = input.params;
  candidates.draw_after_truncation();
  if (p.selection == Selection::kMirostat) {
    cut_mirostat(candidates, p.mirostat_m, state->mirostat_mu);
  } else {
    cut_mirostat_v2(candidates, state->mirostat_mu);
  }
  const size_t picked = draw(candidates, input);
  state->mirostat_mu = next_mu(candidates, picked, {p.mirostat_tau, p.mirostat_eta, p.mirostat_m}, state->mirostat_mu);
  return picked;
}

size_t select_adaptive(Candidates& candidates, const StageInput& input, SamplerState* state) {
  if (candidates.max() == Candidates::kLowest) return 0;
  const SamplerParams& p = input.params;
  const std::span<const float> before = adapt(candidates, p.adaptive_target, *state);
  const size_t picked = draw(candidates, input);
  record_adaptive(before[picked], p.adaptive_decay, state);
  return picked;
}

}  // namespace

Status check_samplers_built(const SamplerParams&, Error*) { return Status::kOk; }

void run_more(StageKind stage, Candidates& candidates, const StageInput& input) {
  using enum StageKind;
  const SamplerParams& p = input.params;
  switch (stage) {
    case kDry:
      dry(candidates, input.past, input.breakers, {p.dry_multiplier, p.dry_base, p.dry_allowed_length, p.dry_window});
      break;
    case kTopA:
      top_a(candidates, p.top_a, p.min_keep);
      break;
    case kTailFree:
      tail_free(candidates, p.tail_free, p.min_keep);
      break;
    case kTypical:
      typical(candidates, p.typical_p, p.min_keep);
      break;
    case kEpsilon:
      epsilon_cutoff(candidates, p.epsilon, p.min_keep);
      break;
    case kEta:
      eta_cutoff(candidates, p.eta, p.min_keep);
      break;
    case kTopNSigma:
      top_n_sigma(candidates, p.top_n_sigma, p.min_keep);
      break;
    case kTopH:
      top_h(candidates, p.top_h, p.min_keep);
      break;
    case kXtc:
      if (happens(draw_bits(input, DrawLane::kXtc), p.xtc_probability)) {
        xtc(candidates, p.xtc_threshold, p.min_keep);
      }
      break;
    default:
      break;
  }
}

void set_breakers(const SamplerParams& params, const TokenBytes& bytes, BreakerSet* breakers) {
  breakers->set(params.dry_breakers, params.dry_breaker_tokens, bytes);
}

size_t select_otherwise(Candidates& candidates, const StageInput& input, SamplerState* state) {
  switch (input.params.selection) {
    case Selection::kGumbel:
      return select_gumbel(candidates, draw_bits(input, DrawLane::kGumbel));
    case Selection::kAdaptiveP:
      return select_adaptive(candidates, input, state);
    default:
      return select_mirostat(candidates, input, state);
  }
}

}  // namespace sotto
