#include "runtime/sampling/chain.h"

#include <algorithm>

#include "runtime/base/features.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {

namespace {

// Effects of a stage, besides scaling logits and dropping unlikely tokens.
enum Effect : uint8_t {
  kNoEffect = 0,
  kReorders = 1,                // may change which token is the most likely one
  kReweighs = 2 | kReorders,    // changes logits because of the text
  kBansTokens = 4 | kReweighs,  // may ban every token
  kConstrains = 8,              // limits the mask (hard_bans.h) and has no place in the chain
};

struct Stage {
  Effect effect;
  bool is_built;
  StageFunction* run;  // null if the stage is not part of this build or kConstrains
};

constexpr Stage kStages[] = {
#define SOTTO_STAGE(function, effect, is_built) \
  {effect, is_built, is_built && effect != kConstrains ? stages::function : nullptr},
    SOTTO_STAGES(SOTTO_STAGE)
#undef SOTTO_STAGE
};
static_assert(std::size(kStages) == kStageKindCount);

constexpr const Stage& stage_of(StageKind kind) { return kStages[static_cast<size_t>(kind) - 1]; }

bool has(StageKind kind, Effect effect) { return (stage_of(kind).effect & effect) == effect; }

Status fail_unbuilt(const char* name, Error* error) {
  return fail(error, Status::kUnsupported, name, " is set: this library is built with SOTTO_WITH_SAMPLERS=basic");
}

}  // namespace

std::span<const StageKind> stage_order(const SamplerParams& params) {
  if (!params.stages.empty()) return params.stages;
  return kStageOrders[static_cast<size_t>(params.order)];
}

Status check_built(const SamplerParams& params, Error* error) {
  if (!kHasWatermark && params.watermark.scheme != WatermarkScheme::kNone) return fail_without_watermark(error);
  for (int32_t number = 1; number <= kStageKindCount; ++number) {
    const auto kind = static_cast<StageKind>(number);
    if (!stage_of(kind).is_built && is_on(kind, params)) return fail_unbuilt(stage_setting(kind), error);
  }
  const bool is_basic = params.selection == Selection::kMultinomial || is_greedy(params);
  return kHasAllSamplers || is_basic ? Status::kOk : fail_unbuilt("selection", error);
}

Status check_stages(const SamplerParams& params, Error* error) {
  if (params.stages.empty()) return Status::kOk;
  uint64_t listed = 0;
  for (const StageKind stage : params.stages) {
    const auto number = static_cast<uint32_t>(stage);
    if (number < 1 || number > kStageKindCount) {
      return fail(error, Status::kInvalidArgument, "stages contains ", number,
                  "; it must contain only SOTTO_STAGE_ values");
    }
    if ((listed >> number & 1) != 0) {
      return fail(error, Status::kInvalidArgument, "stages contains ", stage_setting(stage),
                  " twice; it must contain a stage only once");
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
    const bool is_part = is_on(stage, params) && !has(stage, kConstrains);
    if (!is_part || (stage == StageKind::kTemperature && has_zero_temperature(params))) continue;
    chain.stages_[chain.count_++] = stage;
  }
  if (!is_greedy(params)) return chain;
  // Greedy selection does not depend on the stages after the last one that reorders.
  while (chain.count_ > 0 && !has(chain.stages_[chain.count_ - 1], kReorders)) --chain.count_;
  return chain;
}

bool Chain::can_ban() const {
  const auto all = stages();
  return std::any_of(all.begin(), all.end(), [](StageKind kind) { return has(kind, kBansTokens); });
}

void Chain::run(Candidates& candidates, const StageInput& input, Skip skip) const {
  for (const StageKind kind : stages()) {
    if ((skip.bans && has(kind, kBansTokens)) || (skip.all_but_reweighing && !has(kind, kReweighs))) continue;
    candidates.apply_truncation();
    stage_of(kind).run(candidates, input);
  }
}

}  // namespace sotto
