// The table of stages, and the chain that runs those whose parameters turn them on.
//
// To add a stage, add one row here and one function in stages/. Its parameters, its name, its place in each order and
// the condition that turns it on are in the tables of capi/params.
#include "runtime/sampling/chain.h"

#include <algorithm>

#include "runtime/base/features.h"
#include "runtime/base/random.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/stages/bans.h"
#include "runtime/sampling/stages/penalties.h"
#include "runtime/sampling/stages/selection.h"
#include "runtime/sampling/stages/temperature.h"
#include "runtime/sampling/stages/truncation.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {

namespace {

using enum StageKind;

void ban_early_end(Candidates& candidates, const StageInput& input) {
  if (input.input.generated_count < input.params.min_new_tokens) ban(candidates, input.context.end_tokens);
}

void add_watermark(Candidates& candidates, const StageInput& input) {
  add_green_bias(candidates, input.params.watermark, input.input.history);
}

void suppress(Candidates& candidates, const StageInput& input) {
  ban(candidates, input.params.suppressed_tokens);
  if (input.input.generated_count == 0) ban(candidates, input.params.begin_suppressed_tokens);
  if (input.params.ignore_end) ban(candidates, input.context.end_tokens);
}

void decay_to_end(Candidates& candidates, const StageInput& input) {
  const uint64_t count = input.input.generated_count, start = input.params.end_decay_start;
  if (count <= start) return;
  raise_end(candidates, input.context.end_tokens, input.params.end_decay_factor, count - start);
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

void set_temperature(Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  float t = p.temperature;
  if (p.temperature_range > 0) {
    t = dynamic_temperature(candidates, t, p.temperature_range, p.temperature_exponent);
  }
  temperature(candidates, t);
}

void run_dry(Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  dry(candidates, input.past, input.breakers, {p.dry_multiplier, p.dry_base, p.dry_allowed_length, p.dry_window});
}

void run_xtc(Candidates& candidates, const StageInput& input) {
  const double random = uniform(draw_bits(input, DrawLane::kXtc));
  if (random >= static_cast<double>(input.params.xtc_probability)) return;
  xtc(candidates, input.params.xtc_threshold, input.params.min_keep);
}

// Effects of a stage, in addition to scaling logits and dropping unlikely tokens. kTruncates means no other effect.
enum Effect : uint8_t {
  kTruncates = 0,
  kReorders = 1,                  // may change which token is the most likely one
  kReweighs = 2 | kReorders,      // changes logits because of the text, and drops no tokens
  kBansTokens = 4 | kReweighs,    // may ban every token
  kConstrains = 8 | kBansTokens,  // like kBansTokens, but these bans are lifted last (Chain::Skip)
};

using StageFunction = void (*)(Candidates&, const StageInput&);

// Returns `function`, or null in a build with SOTTO_WITH_SAMPLERS=basic.
constexpr StageFunction optional_stage(StageFunction function) { return kHasAllSamplers ? function : nullptr; }

struct Stage {
  StageKind kind;
  uint8_t effect;
  StageFunction run;  // null if the stage is not part of this build
};

// The rows are in the order of StageKind.
constexpr Stage kStages[] = {
    {kLogitsCallback, kBansTokens,
     [](Candidates& c, const StageInput& in) {
       c.call_logits_callback(in.params.logits_callback, in.params.logits_user_data);
     }},
    {kBias, kBansTokens, [](Candidates& c, const StageInput& in) { add_bias(c, in.params.logit_bias); }},
    {kSequenceBias, kBansTokens,
     [](Candidates& c, const StageInput& in) { add_sequence_bias(c, in.params.sequence_bias, in.input.history); }},
    {kAllowed, kConstrains, [](Candidates& c, const StageInput& in) { allow_only(c, in.params.allowed_tokens); }},
    {kSuppress, kConstrains, suppress},
    {kBadWords, kConstrains,
     [](Candidates& c, const StageInput& in) {
       ban_bad_words(c, in.params.bad_words, in.input.history, in.context.end_tokens);
     }},
    {kMinTokens, kBansTokens, ban_early_end},
    {kForced, kReweighs,
     [](Candidates& c, const StageInput& in) {
       force(c, in.input, in.params.forced_prefix, in.params.forced_last_token);
     }},
    {kEndDecay, kReweighs, decay_to_end},
    {kRepetition, kReweighs, penalize_repetition},
    {kFrequency, kReweighs,
     [](Candidates& c, const StageInput& in) {
       frequency_penalty(c, penalty_window(in), in.params.frequency_penalty);
     }},
    {kPresence, kReweighs,
     [](Candidates& c, const StageInput& in) { presence_penalty(c, penalty_window(in), in.params.presence_penalty); }},
    {kNoRepeatNgram, kBansTokens,
     [](Candidates& c, const StageInput& in) { ban_repeated_ngrams(c, in.past, in.params.no_repeat_ngram); }},
    {kDry, kReweighs, optional_stage(run_dry)},
    {kTemperature, kTruncates, set_temperature},
    {kSmoothing, kReorders,
     [](Candidates& c, const StageInput& in) { smooth(c, in.params.smoothing_factor, in.params.smoothing_curve); }},
    {kTopK, kTruncates, [](Candidates& c, const StageInput& in) { top_k(c, in.params.top_k, in.params.min_keep); }},
    {kTopP, kTruncates,
     [](Candidates& c, const StageInput& in) {
       top_p(c, decayed_top_p(in.params.top_p, in.params.top_p_decay, in.params.top_p_min, in.state.top_p_step),
             in.params.min_keep);
     }},
    {kMinP, kTruncates, [](Candidates& c, const StageInput& in) { min_p(c, in.params.min_p, in.params.min_keep); }},
    {kTopA, kTruncates,
     optional_stage([](Candidates& c, const StageInput& in) { top_a(c, in.params.top_a, in.params.min_keep); })},
    {kTailFree, kTruncates, optional_stage([](Candidates& c, const StageInput& in) {
       tail_free(c, in.params.tail_free, in.params.min_keep);
     })},
    {kTypical, kReorders,
     optional_stage([](Candidates& c, const StageInput& in) { typical(c, in.params.typical_p, in.params.min_keep); })},
    {kEpsilon, kTruncates, optional_stage([](Candidates& c, const StageInput& in) {
       epsilon_cutoff(c, in.params.epsilon, in.params.min_keep);
     })},
    {kEta, kTruncates,
     optional_stage([](Candidates& c, const StageInput& in) { eta_cutoff(c, in.params.eta, in.params.min_keep); })},
    {kTopNSigma, kTruncates, optional_stage([](Candidates& c, const StageInput& in) {
       top_n_sigma(c, in.params.top_n_sigma, in.params.min_keep);
     })},
    {kTopH, kTruncates,
     optional_stage([](Candidates& c, const StageInput& in) { top_h(c, in.params.top_h, in.params.min_keep); })},
    {kXtc, kReorders, optional_stage(run_xtc)},
    {kWatermark, kReweighs, kHasWatermark ? add_watermark : nullptr},
};

constexpr bool stages_are_in_order() {
  for (size_t i = 0; i < std::size(kStages); ++i) {
    if (static_cast<size_t>(kStages[i].kind) != i + 1) return false;
  }
  return std::size(kStages) == kStageKindCount;
}
static_assert(stages_are_in_order());

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
    if (!is_on(stage, params) || (stage == kTemperature && has_zero_temperature(params))) continue;
    chain.stages_[chain.count_++] = stage;
  }
  if (!is_greedy(params)) return chain;
  // After the last stage that may change the most likely token, no stage affects greedy selection, so the rest is
  // removed.
  while (chain.count_ > 0 && !has(chain.stages_[chain.count_ - 1], kReorders)) --chain.count_;
  return chain;
}

bool Chain::can_ban() const {
  const auto all = stages();
  return std::any_of(all.begin(), all.end(), [](StageKind kind) { return has(kind, kBansTokens); });
}

void Chain::run(Candidates& candidates, const StageInput& input, Skip skip, bool only_draws) const {
  for (const StageKind& kind : stages()) {
    const bool skips_bans = has(kind, kConstrains) ? skip.constraints : skip.bans && has(kind, kBansTokens);
    if (skips_bans || (skip.truncations && !has(kind, kReweighs))) continue;
    if (only_draws && &kind == &stages().back()) candidates.allow_restricted_draw();
    stage_of(kind).run(candidates, input);
  }
}

}  // namespace sotto
