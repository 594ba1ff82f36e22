#include "runtime/sampling/sampler.h"

#include <cassert>
#include <limits>

#include "runtime/sampling/chain.h"
#include "runtime/sampling/features.h"
#include "runtime/sampling/stages/selection.h"
#include "runtime/sampling/stages/temperature.h"
#include "runtime/sampling/validate.h"

namespace sotto {

size_t Sampler::memory_size(size_t vocabulary_size, size_t list_bytes, size_t history_capacity) {
  Arena measure;
  Candidates().place(vocabulary_size, measure);
  ListMemory().place(list_bytes, measure);
  PastTokens().place(history_capacity, measure);
  BreakerSet().place(vocabulary_size, measure);
  return measure.overflowed() ? SIZE_MAX / kMemoryAlignment * kMemoryAlignment : measure.size();
}

void Sampler::init(const Kernels& kernels, const SamplerShape& shape, void* memory) {
  kernels_ = &kernels;
  shape_ = shape;
  params_ = SamplerParams();
  chain_ = Chain::make(params_);
  Arena arena(memory);
  candidates_.place(shape.vocabulary_size, arena);
  lists_.place(shape.list_bytes, arena);
  past_.place(shape.history_capacity, arena);
  breakers_.place(shape.vocabulary_size, arena);
}

Status Sampler::set_params(const SamplerParams& params, Error* error) {
  SOTTO_TRY(check_sampler(params, shape_, error));
  SOTTO_TRY(check_stages(params, error));
  SamplerParams copied = params;
  const bool has_dry = is_on(StageKind::kDry, params);
  if (!has_dry) {
    copied.dry_breakers = {};
    copied.dry_breaker_tokens = {};
  }
  SOTTO_TRY(lists_.copy(&copied, error));
  lists_.keep_copied();
  params_ = copied;
  if (kHasAllSamplers && has_dry) {
    breakers_.set(params_.dry_breakers, params_.dry_breaker_tokens, shape_.bytes);
  }
  chain_ = Chain::make(params_);
  return Status::kOk;
}

SamplerState Sampler::initial_state() const {
  SamplerState state;
  state.mirostat_mu = 2 * params_.mirostat_tau;
  begin_adaptive(params_.adaptive_target, params_.adaptive_decay, &state);
  return state;
}

void Sampler::run(std::span<const float> logits, const TokenMask& mask, const StageInput& input, Chain::Part part,
                  bool draws) {
  candidates_.begin(*kernels_, logits, mask);
  past_.begin(input.input, params_.penalize_prompt);
  chain_.run(candidates_, input, part, draws);
  if (!chain_.can_ban() || candidates_.max() > Candidates::kLowest) return;
  candidates_.begin(*kernels_, logits, mask);
  chain_.run(candidates_, input,
             part == Chain::Part::kAll ? Chain::Part::kWithoutBans : Chain::Part::kReweighWithoutBans, draws);
}

SampledToken Sampler::sample(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                             SamplerState* state) {
  const StageInput stage_input = this->stage_input(input, *state);
  run(logits, mask, stage_input, Chain::Part::kAll, only_draws(params_));
  SampledToken sampled = {0, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
  const size_t index = select(candidates_, stage_input, state);
  sampled.token = candidates_.id(index);
  assert(mask.allows(static_cast<size_t>(sampled.token)));
  count_for_top_p(sampled.token, state);
  if (params_.log_probabilities) {
    sampled.sampled_log_probability = static_cast<float>(candidates_.log_probability(index));
    sampled.log_probability = log_probability(logits, sampled.token);
  }
  return sampled;
}

Candidates& Sampler::reweigh(std::span<const float> logits, const TokenMask& mask, const SampleInput& input) {
  const SamplerState state;
  run(logits, mask, stage_input(input, state), Chain::Part::kReweigh, false);
  return candidates_;
}

Candidates& Sampler::process(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                             const SamplerState& state) {
  run(logits, mask, stage_input(input, state), Chain::Part::kAll, false);
  if (is_greedy(params_)) temperature(candidates_, 0);
  return candidates_;
}

SamplerState Sampler::state_after(SamplerState state, std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens) count_for_top_p(token, &state);
  return state;
}

void Sampler::count_for_top_p(int32_t token, SamplerState* state) const {
  state->top_p_step = token == params_.top_p_reset_token ? 0 : state->top_p_step + 1;
}

float Sampler::log_probability(std::span<const float> logits, int32_t token) {
  candidates_.begin(*kernels_, logits, TokenMask());
  return static_cast<float>(candidates_.log_probability(static_cast<size_t>(token)));
}

}  // namespace sotto
