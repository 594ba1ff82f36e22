#include "platforms/cli/options/chain.h"

#include <algorithm>

namespace sotto::cli {
namespace {

#include "platforms/cli/generated/stages.inc"

}  // namespace

bool append_stages(const std::string& name, std::vector<sotto_stage>& stages) {
  if (name == "penalties") {
    stages.insert(stages.end(), {SOTTO_STAGE_REPETITION, SOTTO_STAGE_FREQUENCY, SOTTO_STAGE_PRESENCE});
    return true;
  }
  const std::optional<int32_t> stage = find_value(kStageNames, name);
  if (stage) stages.push_back(*stage);
  return stage.has_value();
}

bool set_mirostat(uint32_t version, SamplerParams& params) {
  constexpr sotto_selection kVersions[] = {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_MIROSTAT, SOTTO_SELECT_MIROSTAT_V2};
  if (version >= std::size(kVersions)) return false;
  params.selection = kVersions[version];
  return true;
}

bool is_greedy_temperature(const SamplerParams& params) {
  return params.temperature == 0.0f && params.temperature_range == 0.0f;
}

SamplerParams without_stages(SamplerParams params) {
  for (const sotto_stage ban : kHardBans) (void)turn_off_stage(ban, params);
  for (const sotto_stage stage : kStageOrders[SOTTO_ORDER_DEFAULT]) (void)turn_off_stage(stage, params);
  params.selection = SOTTO_SELECT_MULTINOMIAL;
  params.stages.clear();
  return params;
}

std::vector<Stage> stages_of(const SamplerParams& params) {
  // The bans apply first, wherever a list names them.
  std::vector<sotto_stage> all(std::begin(kHardBans), std::end(kHardBans));
  const auto add = [&all](const auto& order) {
    for (const sotto_stage stage : order) {
      if (std::find(all.begin(), all.end(), stage) == all.end()) all.push_back(stage);
    }
  };
  params.stages.empty() ? add(kStageOrders[params.order]) : add(params.stages);
  std::vector<Stage> stages;
  SamplerParams rest = params;
  rest.selection = SOTTO_SELECT_MULTINOMIAL;
  if (is_greedy_temperature(params)) rest.temperature = 1.0f;
  for (size_t i = all.size(); i-- > 0;) {
    const SamplerParams upto = rest;
    if (turn_off_stage(all[i], rest)) stages.push_back({name_of(kStageNames, all[i]), upto});
  }
  std::reverse(stages.begin(), stages.end());
  return stages;
}

}  // namespace sotto::cli
