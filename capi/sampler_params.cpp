#include "capi/sotto_handles.h"

using sotto::SamplerParams;
using sotto::capi::ErrorOut;

namespace {

constexpr sotto_text kBreakers[] = {{"\n", 1}, {":", 1}, {"\"", 1}, {"*", 1}};

constexpr sotto_sampler_params make_defaults() {
  constexpr SamplerParams kRuntime;
  sotto_sampler_params params = {};
  params.struct_size = sizeof params;
  params.temperature = kRuntime.temperature;
  params.top_k = kRuntime.top_k;
  params.top_p = kRuntime.top_p;
  params.min_p = kRuntime.min_p;
  params.repetition_penalty = kRuntime.repetition_penalty;
  params.repetition_window = kRuntime.repetition_window;
  params.seed = kRuntime.seed;
  params.min_keep = kRuntime.min_keep;
  params.penalize_prompt = kRuntime.penalize_prompt ? 1 : 0;
  params.dry_base = kRuntime.dry_base;
  params.dry_allowed_length = kRuntime.dry_allowed_length;
  params.dry_window = kRuntime.dry_window;
  params.dry_breakers = kBreakers;
  params.dry_breaker_count = std::size(kBreakers);
  params.guard_penalty = kRuntime.guard_penalty;
  params.temperature_exponent = kRuntime.temperature_exponent;
  params.smoothing_curve = kRuntime.smoothing_curve;
  params.top_p_decay = kRuntime.top_p_decay;
  params.top_p_reset_token = kRuntime.top_p_reset_token;
  params.tail_free = kRuntime.tail_free;
  params.typical_p = kRuntime.typical_p;
  params.top_h = kRuntime.top_h;
  params.xtc_threshold = kRuntime.xtc_threshold;
  params.mirostat_tau = kRuntime.mirostat_tau;
  params.mirostat_eta = kRuntime.mirostat_eta;
  params.mirostat_m = kRuntime.mirostat_m;
  params.adaptive_target = kRuntime.adaptive_target;
  params.adaptive_decay = kRuntime.adaptive_decay;
  params.end_decay_factor = kRuntime.end_decay_factor;
  params.forced_last_token = kRuntime.forced_last_token;
  params.dola_relative_top = kRuntime.dola_relative_top;
  return params;
}

constexpr sotto_sampler_params kDefaults = make_defaults();

// Structs and numbers that runtime and header share, element by element.
template <typename T, typename U>
std::span<const T> same(const U* items, size_t count) {
  static_assert(sizeof(T) == sizeof(U) && alignof(T) == alignof(U));
  return {reinterpret_cast<const T*>(items), count};
}

// The first array that is missing, or null.
const char* find_missing_array(const sotto_sampler_params& given) {
  const struct {
    const char* name;
    const void* items;
    size_t count;
  } arrays[] = {
      {"stages", given.stages, given.stage_count},
      {"dry_breakers", given.dry_breakers, given.dry_breaker_count},
      {"dry_breaker_tokens", given.dry_breaker_tokens, given.dry_breaker_token_count},
      {"logit_bias", given.logit_bias, given.logit_bias_count},
      {"sequence_bias", given.sequence_bias, given.sequence_bias_count},
      {"bad_words", given.bad_words, given.bad_word_count},
      {"allowed_tokens", given.allowed_tokens, given.allowed_token_count},
      {"suppressed_tokens", given.suppressed_tokens, given.suppressed_token_count},
      {"begin_suppressed_tokens", given.begin_suppressed_tokens, given.begin_suppressed_token_count},
      {"forced_prefix", given.forced_prefix, given.forced_prefix_count},
  };
  for (const auto& array : arrays) {
    if (array.items == nullptr && array.count != 0) return array.name;
  }
  return nullptr;
}

void read_chain(const sotto_sampler_params& given, SamplerParams* read) {
  read->temperature = given.temperature;
  read->top_k = given.top_k;
  read->top_p = given.top_p;
  read->min_p = given.min_p;
  read->log_probabilities = given.log_probabilities != 0;
  read->seed = given.seed;
  read->order = static_cast<sotto::ChainOrder>(given.order);
  read->stages = same<sotto::StageKind>(given.stages, given.stage_count);
  read->min_keep = given.min_keep;
  read->alternative_count = given.alternative_count;
  read->dola = static_cast<sotto::DolaLayers>(given.dola);
  read->dola_relative_top = given.dola_relative_top;
}

void read_repetition(const sotto_sampler_params& given, SamplerParams* read) {
  read->repetition_penalty = given.repetition_penalty;
  read->repetition_window = given.repetition_window;
  read->frequency_penalty = given.frequency_penalty;
  read->presence_penalty = given.presence_penalty;
  read->penalize_prompt = given.penalize_prompt != 0;
  read->penalty_slope = given.penalty_slope;
  read->no_repeat_ngram = given.no_repeat_ngram;
  read->dry_multiplier = given.dry_multiplier;
  read->dry_base = given.dry_base;
  read->dry_allowed_length = given.dry_allowed_length;
  read->dry_window = given.dry_window;
  read->dry_breakers = same<sotto::TextView>(given.dry_breakers, given.dry_breaker_count);
  read->dry_breaker_tokens = {given.dry_breaker_tokens, given.dry_breaker_token_count};
  read->guard_window = given.guard_window;
  read->guard_penalty = given.guard_penalty;
}

void read_distribution(const sotto_sampler_params& given, SamplerParams* read) {
  read->temperature_range = given.temperature_range;
  read->temperature_exponent = given.temperature_exponent;
  read->smoothing_factor = given.smoothing_factor;
  read->smoothing_curve = given.smoothing_curve;
  read->top_p_decay = given.top_p_decay;
  read->top_p_min = given.top_p_min;
  read->top_p_reset_token = given.top_p_reset_token;
  read->top_a = given.top_a;
  read->tail_free = given.tail_free;
  read->typical_p = given.typical_p;
  read->epsilon = given.epsilon;
  read->eta = given.eta;
  read->top_n_sigma = given.top_n_sigma;
  read->top_h = given.top_h;
  read->xtc_probability = given.xtc_probability;
  read->xtc_threshold = given.xtc_threshold;
  read->selection = static_cast<sotto::Selection>(given.selection);
  read->mirostat_tau = given.mirostat_tau;
  read->mirostat_eta = given.mirostat_eta;
  read->mirostat_m = given.mirostat_m;
  read->adaptive_target = given.adaptive_target;
  read->adaptive_decay = given.adaptive_decay;
}

void read_bans(const sotto_sampler_params& given, SamplerParams* read) {
  read->min_new_tokens = given.min_new_tokens;
  read->ignore_end = given.ignore_end != 0;
  read->end_decay_start = given.end_decay_start;
  read->end_decay_factor = given.end_decay_factor;
  read->forced_last_token = given.forced_last_token;
  read->logit_bias = same<sotto::TokenBias>(given.logit_bias, given.logit_bias_count);
  read->sequence_bias = same<sotto::SequenceBias>(given.sequence_bias, given.sequence_bias_count);
  read->bad_words = same<sotto::TokenList>(given.bad_words, given.bad_word_count);
  read->allowed_tokens = {given.allowed_tokens, given.allowed_token_count};
  read->suppressed_tokens = {given.suppressed_tokens, given.suppressed_token_count};
  read->begin_suppressed_tokens = {given.begin_suppressed_tokens, given.begin_suppressed_token_count};
  read->forced_prefix = {given.forced_prefix, given.forced_prefix_count};
  read->logits_callback = given.logits_callback;
  read->logits_user_data = given.logits_user_data;
}

}  // namespace

sotto_status sotto::capi::read_sampler_params(const sotto_sampler_params* params, SamplerParams* read_params,
                                              ErrorOut* out) {
  if (params == nullptr) return out->null_argument("params");
  if (params->struct_size == 0) return out->bad_struct("params");
  const sotto_sampler_params given = read(params, kDefaults);
  if (const char* name = find_missing_array(given)) return out->null_argument(name);
  read_chain(given, read_params);
  read_repetition(given, read_params);
  read_distribution(given, read_params);
  read_bans(given, read_params);
  if (given.watermark == nullptr) return SOTTO_OK;
  if (given.watermark->struct_size == 0) return out->bad_struct("watermark");
  read_params->watermark = read_watermark(*given.watermark);
  return SOTTO_OK;
}

void sotto_sampler_params_init(sotto_sampler_params* params, size_t params_size) {
  sotto::capi::init_params(params, params_size, kDefaults);
}
