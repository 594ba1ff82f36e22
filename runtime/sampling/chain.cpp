#include "runtime/sampling/chain.h"

#include <algorithm>

#include "runtime/sampling/penalties.h"
#include "runtime/sampling/stage_settings.h"
#include "runtime/sampling/temperature.h"
#include "runtime/sampling/truncation.h"

namespace sotto {

namespace {

using enum StageKind;

// As sotto_order says.
constexpr StageKind kDefaultOrder[] = {
    kLogitsCallback, kAllowed, kSuppress, kBadWords, kMinTokens, kForced, kBias, kSequenceBias,
    kRepetition, kFrequency, kPresence, kNoRepeatNgram, kDry, kEndDecay, kTopNSigma, kTopK,
    kTypical, kTopP, kMinP, kTopA, kTailFree, kEpsilon, kEta, kTopH, kXtc, kTemperature,
    kSmoothing, kWatermark};
constexpr StageKind kHuggingFaceOrder[] = {
    kLogitsCallback, kBias, kSequenceBias, kRepetition, kFrequency, kPresence, kNoRepeatNgram,
    kDry, kBadWords, kMinTokens, kForced, kEndDecay, kAllowed, kSuppress, kTemperature,
    kSmoothing, kTopH, kTopNSigma, kTopK, kTopP, kMinP, kTopA, kTailFree, kTypical, kEpsilon,
    kEta, kXtc, kWatermark};
constexpr StageKind kOpenAiOrder[] = {
    kLogitsCallback, kAllowed, kSuppress, kBadWords, kMinTokens, kForced, kBias, kSequenceBias,
    kRepetition, kFrequency, kPresence, kNoRepeatNgram, kDry, kEndDecay, kTemperature,
    kSmoothing, kMinP, kTopK, kTopP, kTopA, kTailFree, kTypical, kEpsilon, kEta, kTopNSigma,
    kTopH, kXtc, kWatermark};

static_assert(std::size(kDefaultOrder) == kStageKindCount);
static_assert(std::size(kHuggingFaceOrder) == kStageKindCount);
static_assert(std::size(kOpenAiOrder) == kStageKindCount);

// Changes logits, and drops nothing.
bool reweighs(StageKind stage) {
  return stage < kTemperature || stage == kWatermark;
}

bool bans(StageKind stage) {
  return (stage >= kLogitsCallback && stage <= kForced) || stage == kNoRepeatNgram;
}

bool belongs_to(Chain::Part part, StageKind stage) {
  switch (part) {
    case Chain::Part::kAll: return true;
    case Chain::Part::kReweigh: return reweighs(stage);
    case Chain::Part::kWithoutBans: return !bans(stage);
  }
  return true;
}

void run_stage(StageKind stage, Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  switch (stage) {
    case kRepetition:
      repetition_penalty(candidates, input.input.history, p.repetition_window,
                         p.repetition_penalty);
      break;
    case kTemperature: temperature(candidates, p.temperature); break;
    case kTopK: top_k(candidates, p.top_k); break;
    case kTopP: top_p(candidates, p.top_p); break;
    case kMinP: min_p(candidates, p.min_p); break;
    default: break;
  }
}

}  // namespace

std::span<const StageKind> stage_order(const SamplerParams& params) {
  if (!params.stages.empty()) return params.stages;
  switch (params.order) {
    case ChainOrder::kHuggingFace: return kHuggingFaceOrder;
    case ChainOrder::kOpenAi: return kOpenAiOrder;
    case ChainOrder::kDefault: break;
  }
  return kDefaultOrder;
}

Status check_stages(const SamplerParams& params, Error* error) {
  if (params.stages.empty()) return Status::kOk;
  uint64_t listed = 0;
  for (const StageKind stage : params.stages) {
    const auto number = static_cast<uint32_t>(stage);
    if (number < 1 || number > kStageKindCount) {
      return fail(error, Status::kInvalidArgument, "stages: ", number,
                  " is not a SOTTO_STAGE_ value");
    }
    if ((listed >> number & 1) != 0) {
      return fail(error, Status::kInvalidArgument, "stages: ", stage_setting(stage),
                  " is listed twice");
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
  // No truncation drops the most likely token.
  const bool greedy = is_greedy(params);
  Chain chain;
  for (const StageKind stage : stage_order(params)) {
    if (!is_on(stage, params) || (greedy && !reweighs(stage))) continue;
    chain.stages_[chain.count_++] = stage;
  }
  return chain;
}

bool Chain::can_ban() const {
  const auto all = stages();
  return std::any_of(all.begin(), all.end(), bans);
}

void Chain::run(Candidates& candidates, const StageInput& input, Part part) const {
  for (const StageKind stage : stages()) {
    if (belongs_to(part, stage)) run_stage(stage, candidates, input);
  }
}

}  // namespace sotto
