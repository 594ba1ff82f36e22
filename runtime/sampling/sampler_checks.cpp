#include "runtime/sampling/sampler_checks.h"

#include "runtime/sampling/process_checks.h"
#include "runtime/sampling/stages/more_samplers.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {

namespace {

struct Range {
  const char* name;
  float SamplerParams::*member;
  float low;
  float high;
  bool above_low = false;   // low itself is not allowed
  bool below_high = false;  // nor high
};

constexpr Range kRanges[] = {
    {"temperature", &SamplerParams::temperature, 0, 100},
    {"temperature_range", &SamplerParams::temperature_range, 0, 100},
    {"temperature_exponent", &SamplerParams::temperature_exponent, 0, 10},
    {"smoothing_factor", &SamplerParams::smoothing_factor, 0, 100},
    {"smoothing_curve", &SamplerParams::smoothing_curve, 1, 10},
    {"top_p", &SamplerParams::top_p, 0, 1, true},
    {"top_p_decay", &SamplerParams::top_p_decay, 0, 1, true},
    {"min_p", &SamplerParams::min_p, 0, 1},
    {"top_a", &SamplerParams::top_a, 0, 1},
    {"tail_free", &SamplerParams::tail_free, 0, 1, true},
    {"typical_p", &SamplerParams::typical_p, 0, 1, true},
    {"epsilon", &SamplerParams::epsilon, 0, 1, false, true},
    {"eta", &SamplerParams::eta, 0, 1, false, true},
    {"top_n_sigma", &SamplerParams::top_n_sigma, 0, 100},
    {"top_h", &SamplerParams::top_h, 0, 1, true},
    {"xtc_probability", &SamplerParams::xtc_probability, 0, 1},
    {"xtc_threshold", &SamplerParams::xtc_threshold, 0, 1},
    {"mirostat_tau", &SamplerParams::mirostat_tau, 0, 20, true},
    {"mirostat_eta", &SamplerParams::mirostat_eta, 0, 1, true},
    {"adaptive_decay", &SamplerParams::adaptive_decay, 0, 0.99f},
    {"dola_relative_top", &SamplerParams::dola_relative_top, 0, 1},
};

// NaN is out of every range.
Status check_range(const Range& range, float value, Error* error) {
  const bool above = range.above_low ? value > range.low : value >= range.low;
  const bool below = range.below_high ? value < range.high : value <= range.high;
  if (above && below) return Status::kOk;
  return fail(error, Status::kInvalidArgument, range.name, " is ", value, ", allowed is ",
              range.above_low ? "above " : "", range.low, range.below_high ? " to below " : " to ", range.high);
}

Status check_least(const char* name, uint32_t value, uint32_t least, Error* error) {
  if (value >= least) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", allowed is at least ", least);
}

template <typename Choice>
Status check_choice(const char* name, Choice value, Choice last, Error* error) {
  if (static_cast<int32_t>(value) >= 0 && value <= last) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is none of its values");
}

Status check_choices(const SamplerParams& p, Error* error) {
  SOTTO_TRY(check_choice("order", p.order, ChainOrder::kOpenAi, error));
  SOTTO_TRY(check_choice("selection", p.selection, Selection::kAdaptiveP, error));
  return check_choice("dola", p.dola, DolaLayers::kHigh, error);
}

Status check_counts(const SamplerParams& p, Error* error) {
  constexpr uint32_t kMaxAlternatives = 64;
  SOTTO_TRY(check_least("min_keep", p.min_keep, 1, error));
  SOTTO_TRY(check_least("mirostat_m", p.mirostat_m, 2, error));
  if (p.alternative_count <= kMaxAlternatives) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "alternative_count is ", p.alternative_count, ", allowed is 0 to ",
              kMaxAlternatives);
}

// Parameters whose range depends on another.
Status check_dependent(const SamplerParams& p, const SamplerShape& shape, Error* error) {
  SOTTO_TRY(check_range({"top_p_min", nullptr, 0, p.top_p}, p.top_p_min, error));
  const int32_t reset = p.top_p_reset_token;
  if (reset != kNoTokenId && (reset < 0 || static_cast<size_t>(reset) >= shape.vocabulary_size)) {
    return fail(error, Status::kInvalidArgument, "top_p_reset_token is not in the vocabulary");
  }
  if (p.adaptive_target != -1) {
    return check_range({"adaptive_target", nullptr, 0, 1}, p.adaptive_target, error);
  }
  if (p.selection != Selection::kAdaptiveP) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "adaptive_target is not set");
}

}  // namespace

Status check_sampler(const SamplerParams& params, const SamplerShape& shape, Error* error) {
  for (const Range& range : kRanges) SOTTO_TRY(check_range(range, params.*range.member, error));
  SOTTO_TRY(check_choices(params, error));
  SOTTO_TRY(check_counts(params, error));
  SOTTO_TRY(check_dependent(params, shape, error));
  SOTTO_TRY(check_penalties(params, error));
  SOTTO_TRY(check_lists(params, shape, error));
  SOTTO_TRY(check_watermark(params.watermark, error));
  SOTTO_TRY(check_watermark_selection(params, error));
  SOTTO_TRY(check_watermark_built(params.watermark, error));
  return check_samplers_built(params, error);
}

}  // namespace sotto
