#include "runtime/sampling/chain.h"

#include <algorithm>

#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/repetition_severity.h"
#include "runtime/sampling/stages/bans.h"
#include "runtime/sampling/stages/bias.h"
#include "runtime/sampling/stages/more_samplers.h"
#include "runtime/sampling/stages/penalties.h"
#include "runtime/sampling/stages/temperature.h"
#include "runtime/sampling/stages/truncation.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {

namespace {

using enum StageKind;

// Changes logits, and drops nothing.
bool reweighs(StageKind stage) { return stage < kTemperature || stage == kWatermark; }

// May make another token the most likely one.
bool reorders(StageKind stage) { return reweighs(stage) || stage == kSmoothing || stage == kTypical || stage == kXtc; }

bool bans(StageKind stage) { return (stage >= kLogitsCallback && stage < kForced) || stage == kNoRepeatNgram; }

bool belongs_to(Chain::Part part, StageKind stage) {
  switch (part) {
    case Chain::Part::kAll:
      return true;
    case Chain::Part::kReweigh:
      return reweighs(stage);
    case Chain::Part::kWithoutBans:
      return !bans(stage);
    case Chain::Part::kReweighWithoutBans:
      return reweighs(stage) && !bans(stage);
  }
  return true;
}

void suppress(Candidates& candidates, const StageInput& input) {
  ban(candidates, input.params.suppressed_tokens);
  if (input.input.generated_count == 0) ban(candidates, input.params.begin_suppressed_tokens);
  if (input.params.ignore_end) ban(candidates, input.shape.end_token);
}

void decay_to_end(Candidates& candidates, const StageInput& input) {
  const uint64_t count = input.input.generated_count, start = input.params.end_decay_start;
  if (count <= start) return;
  raise_end(candidates, input.shape.end_token, input.params.end_decay_factor, count - start);
}

std::span<const PastToken> penalty_window(const StageInput& input) {
  return input.past.weigh(input.params.repetition_window, input.params.penalty_slope);
}

void penalize_repetition(Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  float penalty = p.repetition_penalty;
  if (p.guard_window > 0) {
    const size_t reach = input.past.reach(p.guard_window);
    penalty = guarded_penalty(penalty, p.guard_penalty, repetition_severity(input.input.history, reach));
  }
  if (penalty != 1) repetition_penalty(candidates, penalty_window(input), penalty);
}

void set_temperature(Candidates& candidates, const SamplerParams& p) {
  float t = p.temperature;
  if (p.temperature_range > 0) {
    t = dynamic_temperature(candidates, t, p.temperature_range, p.temperature_exponent);
  }
  temperature(candidates, t);
}

void run_stage(StageKind stage, Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  switch (stage) {
    case kLogitsCallback:
      candidates.rewrite(p.logits_callback, p.logits_user_data);
      break;
    case kBias:
      add_bias(candidates, p.logit_bias);
      break;
    case kSequenceBias:
      add_sequence_bias(candidates, p.sequence_bias, input.input.history);
      break;
    case kAllowed:
      allow_only(candidates, p.allowed_tokens);
      break;
    case kSuppress:
      suppress(candidates, input);
      break;
    case kBadWords:
      ban_bad_words(candidates, p.bad_words, input.input.history, input.shape.end_token);
      break;
    case kMinTokens:
      if (input.input.generated_count < p.min_new_tokens) ban(candidates, input.shape.end_token);
      break;
    case kForced:
      force(candidates, input.input, p.forced_prefix, p.forced_last_token);
      break;
    case kEndDecay:
      decay_to_end(candidates, input);
      break;
    case kRepetition:
      penalize_repetition(candidates, input);
      break;
    case kFrequency:
      frequency_penalty(candidates, penalty_window(input), p.frequency_penalty);
      break;
    case kPresence:
      presence_penalty(candidates, penalty_window(input), p.presence_penalty);
      break;
    case kNoRepeatNgram:
      ban_repeated_ngrams(candidates, input.past, p.no_repeat_ngram);
      break;
    case kWatermark:
      add_green_bias(candidates, p.watermark, input.input.history);
      break;
    case kTemperature:
      set_temperature(candidates, p);
      break;
    case kSmoothing:
      smooth(candidates, p.smoothing_factor, p.smoothing_curve);
      break;
    case kTopK:
      top_k(candidates, p.top_k, p.min_keep);
      break;
    case kTopP:
      top_p(candidates, decayed_top_p(p.top_p, p.top_p_decay, p.top_p_min, input.state.top_p_step), p.min_keep);
      break;
    case kMinP:
      min_p(candidates, p.min_p, p.min_keep);
      break;
    default:
      run_more(stage, candidates, input);
  }
}

}  // namespace

std::span<const StageKind> stage_order(const SamplerParams& params) {
  if (!params.stages.empty()) return params.stages;
  return kStageOrders[static_cast<size_t>(params.order)];
}

Status check_stages(const SamplerParams& params, Error* error) {
  if (params.stages.empty()) return Status::kOk;
  uint64_t listed = 0;
  for (const StageKind stage : params.stages) {
    const auto number = static_cast<uint32_t>(stage);
    if (number < 1 || number > kStageKindCount) {
      return fail(error, Status::kInvalidArgument, "stages: ", number, " is not a SOTTO_STAGE_ value");
    }
    if ((listed >> number & 1) != 0) {
      return fail(error, Status::kInvalidArgument, "stages: ", stage_setting(stage), " is listed twice");
    }
    listed |= uint64_t{1} << number;
  }
  for (uint32_t number = 1; number <= kStageKindCount; ++number) {
    const auto stage = static_cast<StageKind>(number);
    if ((listed >> number & 1) == 0 && is_on(stage, params)) {
      return fail(error, Status::kInvalidArgument, stage_setting(stage),
                  " is set, but its stage is not among the stages");
    }
  }
  return Status::kOk;
}

Chain Chain::make(const SamplerParams& params) {
  Chain chain;
  for (const StageKind stage : stage_order(params)) {
    if (!is_on(stage, params) || (stage == kTemperature && is_cold(params))) continue;
    chain.stages_[chain.count_++] = stage;
  }
  if (!is_greedy(params)) return chain;
  // What comes after leaves the most likely token.
  while (chain.count_ > 0 && !reorders(chain.stages_[chain.count_ - 1])) --chain.count_;
  return chain;
}

bool Chain::can_ban() const {
  const auto all = stages();
  return std::any_of(all.begin(), all.end(), bans);
}

void Chain::run(Candidates& candidates, const StageInput& input, Part part, bool draws) const {
  for (const StageKind& stage : stages()) {
    if (!belongs_to(part, stage)) continue;
    if (draws && &stage == &stages().back()) candidates.draw_after_truncation();
    run_stage(stage, candidates, input);
  }
}

}  // namespace sotto
