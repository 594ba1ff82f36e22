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
};

struct Stage {
  StageKind kind;
  Effect effect;
  StageFunction* run;  // null if the stage is not part of this build

  bool has(Effect wanted) const { return (effect & wanted) == wanted; }
};

constexpr Stage kStages[] = {
#define SOTTO_STAGE(kind, function, effect, is_built) {StageKind::kind, effect, is_built ? stages::function : nullptr},
    SOTTO_STAGES(SOTTO_STAGE)
#undef SOTTO_STAGE
};
static_assert(std::size(kStages) == kChainStageCount);

const Stage& stage_of(StageKind kind) {
  return *std::find_if(std::begin(kStages), std::end(kStages), [kind](const Stage& s) { return s.kind == kind; });
}

bool is_hard_ban(StageKind kind) {
  return std::find(std::begin(kHardBans), std::end(kHardBans), kind) != std::end(kHardBans);
}

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
  for (const Stage& stage : kStages) {
    if (stage.run == nullptr && is_on(stage.kind, params)) return fail_unbuilt(stage_setting(stage.kind), error);
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
  for (const Stage& stage : kStages) {
    if ((listed >> static_cast<uint32_t>(stage.kind) & 1) == 0 && is_on(stage.kind, params)) {
      return fail(error, Status::kInvalidArgument, stage_setting(stage.kind),
                  " is set, but its stage is not among the stages");
    }
  }
  return Status::kOk;
}

Chain Chain::make(const SamplerParams& params) {
  Chain chain;
  for (const StageKind kind : stage_order(params)) {
    if (is_hard_ban(kind) || !is_on(kind, params)) continue;  // a list of the caller may name bans
    if (kind == StageKind::kTemperature && has_zero_temperature(params)) continue;
    chain.stages_[chain.count_++] = kind;
  }
  if (!is_greedy(params)) return chain;
  // Greedy selection does not depend on the stages after the last one that reorders.
  while (chain.count_ > 0 && !stage_of(chain.stages_[chain.count_ - 1]).has(kReorders)) --chain.count_;
  return chain;
}

bool Chain::can_ban() const {
  const auto all = stages();
  return std::any_of(all.begin(), all.end(), [](StageKind kind) { return stage_of(kind).has(kBansTokens); });
}

void Chain::run(Candidates& candidates, const StageInput& input, Skip skip) const {
  for (const StageKind kind : stages()) {
    const Stage& stage = stage_of(kind);
    if ((skip.bans && stage.has(kBansTokens)) || (skip.all_but_reweighing && !stage.has(kReweighs))) continue;
    candidates.apply_truncation();
    stage.run(candidates, input);
  }
}

}  // namespace sotto
