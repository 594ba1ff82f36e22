// SOTTO_FEATURE_SAMPLERS=basic: what would reach the other functions is refused at the door.
#include "runtime/sampling/chain.h"
#include "runtime/sampling/stages/more_samplers.h"

namespace sotto {
namespace {

using enum StageKind;

constexpr StageKind kAbsent[] = {kDry, kTopA, kTailFree, kTypical, kEpsilon, kEta, kTopNSigma, kTopH, kXtc};

Status refuse(const char* name, Error* error) {
  return fail(error, Status::kUnsupported, name, " is set: this library is built with SOTTO_FEATURE_SAMPLERS=basic");
}

}  // namespace

Status check_samplers_built(const SamplerParams& params, Error* error) {
  for (const StageKind stage : kAbsent) {
    if (is_on(stage, params)) return refuse(stage_setting(stage), error);
  }
  const bool is_basic = params.selection == Selection::kMultinomial || is_greedy(params);
  return is_basic ? Status::kOk : refuse("selection", error);
}

void run_more(StageKind, Candidates&, const StageInput&) {}
void set_breakers(const SamplerParams&, const TokenBytes&, BreakerSet*) {}
size_t select_otherwise(Candidates&, const StageInput&, SamplerState*) { return 0; }

}  // namespace sotto
