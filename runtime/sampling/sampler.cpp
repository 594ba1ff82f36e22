#include "runtime/sampling/sampler.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "runtime/base/features.h"
#include "runtime/base/object_memory.h"
#include "runtime/base/range_check.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/hard_bans.h"
#include "runtime/sampling/sampler_params.h"
#include "runtime/sampling/stages/selection.h"

namespace sotto {
namespace {

Status check_sizes(const SamplerContext& context, Error* error) {
  SOTTO_TRY(check_range("vocabulary_size", static_cast<double>(context.vocabulary_size), 1, double{kMaxVocabularySize},
                        error));
  return check_range("list_bytes", static_cast<double>(context.list_bytes), 0, SessionParams::kMaxListBytes, error);
}

}  // namespace

void Sampler::layout(Arena& arena, const SamplerContext& context) {
  context_ = context;
  scratch_.layout(arena, context.vocabulary_size);
  candidates_.layout(arena, context.vocabulary_size, scratch_);
  lists_.layout(arena, context.list_bytes);
  past_.layout(arena, context.history_capacity);
  breakers_.layout(arena, context.vocabulary_size);
  mask_words_ = arena.take<uint64_t>(TokenMask::word_count(context.vocabulary_size));
}

void Sampler::init(const Kernels& kernels) {
  kernels_ = &kernels;
  params_ = SamplerParams();
  chain_ = Chain::make(params_);
  candidates_.init();
  breakers_.init();
}

Status Sampler::set_params(const SamplerParams& given, Error* error) {
  SamplerParams params = given;
  if (given.model_defaults) {
    if (context_.defaults == nullptr) return fail(error, Status::kInvalidArgument, "model_defaults needs a model");
    context_.defaults->apply(&params);
  }
  SOTTO_TRY(check_sampler(params, context_, error));
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
    breakers_.set(params_.dry_breakers, params_.dry_breaker_tokens, context_.bytes);
  }
  chain_ = Chain::make(params_);
  return Status::kOk;
}

SamplerState Sampler::initial_state() const {
  SamplerState state;
  state.mirostat_mu = 2 * params_.mirostat_tau;
  AdaptiveP{params_.adaptive_target, params_.adaptive_decay}.begin(&state);
  return state;
}

bool Sampler::constrain(const SampleInput& input, TokenMask* mask) {
  if (has_hard_bans(params_)) apply_hard_bans(params_, context_, input, copy_mask(mask));
  return mask->allows_all() || mask->allows_any();
}

uint64_t* Sampler::copy_mask(TokenMask* mask) {
  const size_t word_count = TokenMask::word_count(context_.vocabulary_size);
  if (mask->allows_all()) {
    std::fill_n(mask_words_, word_count, ~uint64_t{0});
  } else if (mask->words != mask_words_) {
    std::copy_n(mask->words, word_count, mask_words_);
  }
  *mask = {mask_words_, context_.vocabulary_size};
  return mask_words_;
}

// Runs the chain, and again without the bans if it leaves no token.
void Sampler::run(std::span<const float> logits, const TokenMask& mask, const StageInput& input, Chain::Skip skip) {
  past_.begin(input.sample, params_.penalize_prompt);
  const auto leaves_tokens = [&] {
    candidates_.begin(*kernels_, logits, mask);
    chain_.run(candidates_, input, skip);
    return !chain_.can_ban() || candidates_.max() > kMinusInfinity;
  };
  if (leaves_tokens()) return;
  skip.bans = true;
  (void)leaves_tokens();
}

SampledToken Sampler::sample(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                             SamplerState* state) {
  const StageInput stage_input = make_stage_input(input, *state);
  run(logits, mask, stage_input, {});
  SampledToken sampled = {select(candidates_, stage_input, state), std::numeric_limits<float>::quiet_NaN(), 0};
  assert(mask.allows(static_cast<size_t>(sampled.token)));
  count_for_top_p(sampled.token, state);
  if (params_.log_probabilities) {
    sampled.sampled_log_probability = static_cast<float>(candidates_.log_probability(sampled.token));
  }
  if (params_.statistics) {
    const bool is_certain = is_greedy(params_) || candidates_.max() == kMinusInfinity;
    sampled.kept_count = is_certain ? 1 : static_cast<uint32_t>(candidates_.positive_weight_count());
  }
  return sampled;
}

Candidates& Sampler::reweigh(std::span<const float> logits, const TokenMask& mask, const SampleInput& input) {
  const SamplerState state;
  run(logits, mask, make_stage_input(input, state), {.all_but_reweighing = true});
  candidates_.apply_truncation();
  return candidates_;
}

const Candidates& Sampler::apply(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                                 const SamplerState& state) {
  run(logits, mask, make_stage_input(input, state), {});
  candidates_.apply_truncation();
  if (is_greedy(params_)) {
    candidates_.keep_top(1);
    candidates_.apply_truncation();
  }
  return candidates_;
}

const Candidates& Sampler::drawable(std::span<const float> logits, const TokenMask& mask, const SampleInput& input,
                                    const SamplerState& state) {
  (void)apply(logits, mask, input, state);
  apply_selection(candidates_, make_stage_input(input, state));
  candidates_.apply_truncation();
  return candidates_;
}

SamplerState Sampler::state_after(SamplerState state, std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens) count_for_top_p(token, &state);
  return state;
}

void Sampler::count_for_top_p(int32_t token, SamplerState* state) const {
  state->top_p_step = token == params_.top_p_reset_token ? 0 : state->top_p_step + 1;
}

Status StandaloneSampler::memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* size, Error* error) {
  SamplerContext context;
  context.vocabulary_size = vocabulary_size;
  context.list_bytes = list_bytes;
  SOTTO_TRY(check_sizes(context, error));
  return measure_object<StandaloneSampler>(size, error, context);
}

Status StandaloneSampler::init(const Kernels& kernels, const SamplerContext& context, void* memory, size_t memory_size,
                               StandaloneSampler** sampler, Error* error) {
  SOTTO_TRY(check_sizes(context, error));
  StandaloneSampler* object = nullptr;
  SOTTO_TRY(create_object(memory, memory_size, &object, error, context));
  object->sampler_.init(kernels);
  object->state_ = object->sampler_.initial_state();
  *sampler = object;
  return Status::kOk;
}

Status StandaloneSampler::set_params(const SamplerParams& params, Error* error) {
  if (params.dola != DolaLayers::kOff) {
    return fail(error, Status::kInvalidArgument, "dola is set; it must be OFF in a sampler without a session");
  }
  SOTTO_TRY(sampler_.set_params(params, error));
  state_ = sampler_.initial_state();
  return Status::kOk;
}

Status StandaloneSampler::sample(std::span<const float> logits, TokenMask mask, const SampleInput& input,
                                 int32_t* token, Error* error) {
  SOTTO_TRY(constrain(input, &mask, error));
  const UseCount::Scope use(&uses_);
  *token = sampler_.sample(logits, mask, input, &state_).token;
  return Status::kOk;
}

Status StandaloneSampler::apply(std::span<const float> logits, TokenMask mask, const SampleInput& input,
                                const Candidates** candidates, Error* error) {
  SOTTO_TRY(constrain(input, &mask, error));
  const UseCount::Scope use(&uses_);
  *candidates = &sampler_.drawable(logits, mask, input, state_);
  return Status::kOk;
}

Status StandaloneSampler::constrain(const SampleInput& input, TokenMask* mask, Error* error) {
  if (sampler_.constrain(input, mask)) return Status::kOk;
  return fail(error, Status::kInvalidArgument,
              "allowed, allowed_tokens, suppressed_tokens and bad_words leave no token; they must leave at least one");
}

void write_probabilities(const Candidates& candidates, float* probabilities) {
  const size_t count = candidates.count();
  if (candidates.max() == kMinusInfinity) {
    std::fill_n(probabilities, count, 0.0f);
    probabilities[0] = 1;
    return;
  }
  const double whole = candidates.total();
  const float* weights = candidates.weights();
  for (size_t i = 0; i < count; ++i) {
    probabilities[i] = static_cast<float>(static_cast<double>(weights[i]) / whole);
  }
}

}  // namespace sotto
