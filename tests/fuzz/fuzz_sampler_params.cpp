#include "tests/fuzz/fuzz_sampler_params.h"

namespace sotto {
namespace {

using Params = sotto_sampler_params;

constexpr float Params::*kNumbers[] = {
    &Params::temperature,
    &Params::top_p,
    &Params::min_p,
    &Params::repetition_penalty,
    &Params::frequency_penalty,
    &Params::presence_penalty,
    &Params::penalty_slope,
    &Params::dry_multiplier,
    &Params::dry_base,
    &Params::guard_penalty,
    &Params::temperature_range,
    &Params::temperature_exponent,
    &Params::smoothing_factor,
    &Params::smoothing_curve,
    &Params::top_p_decay,
    &Params::top_p_min,
    &Params::top_a,
    &Params::tail_free,
    &Params::typical_p,
    &Params::epsilon,
    &Params::eta,
    &Params::top_n_sigma,
    &Params::top_h,
    &Params::xtc_probability,
    &Params::xtc_threshold,
    &Params::mirostat_tau,
    &Params::mirostat_eta,
    &Params::adaptive_target,
    &Params::adaptive_decay,
    &Params::end_decay_factor,
};

constexpr uint32_t Params::*kCounts[] = {
    &Params::top_k,
    &Params::repetition_window,
    &Params::min_keep,
    &Params::dry_window,
    &Params::dry_allowed_length,
    &Params::guard_window,
    &Params::mirostat_m,
    &Params::no_repeat_ngram,
    &Params::min_new_tokens,
    &Params::ignore_end,
    &Params::end_decay_start,
    &Params::penalize_prompt,
    &Params::alternative_count,
};

}  // namespace

FuzzedParams::FuzzedParams(FuzzBytes& bytes, uint32_t vocabulary_size) {
  sotto_sampler_params_init(&params_, sizeof params_);
  sotto_watermark_params_init(&watermark_, sizeof watermark_);
  for (size_t i = 0; i < kTokens; ++i) {
    // About one in 64 is not a token of the vocabulary.
    tokens_[i] = static_cast<sotto_token>(bytes.byte() % (vocabulary_size + 1));
    biases_[i] = {tokens_[i], static_cast<float>(bytes.byte()) / 16 - 4};
  }
  // Of 16 values, 7 are presets. The others leave the defaults.
  sotto_sampler_params_init_preset(&params_, sizeof params_, tokens_[0] % 16);
  sequences_[0] = {tokens_, 1 + bytes.below(3), 1.5f, 0};
  sequences_[1] = {tokens_ + 2, bytes.below(4), bytes.number(), 0};
  words_[0] = {tokens_ + 1, 1 + size_t{bytes.below(3)}};
  words_[1] = {tokens_ + 3, size_t{bytes.below(3)}};
  for (sotto_stage& stage : stages_) stage = 1 + static_cast<sotto_stage>(bytes.below(30));
  for (uint32_t i = 0, count = bytes.below(6); i < count; ++i) change(bytes);
}

void FuzzedParams::change(FuzzBytes& bytes) {
  switch (bytes.below(8)) {
    case 0:
    case 1:
    case 2:
      params_.*kNumbers[bytes.below(std::size(kNumbers))] = bytes.number();
      break;
    case 3:
      params_.*kCounts[bytes.below(std::size(kCounts))] = bytes.byte();
      break;
    case 4:
      params_.order = static_cast<sotto_order>(bytes.below(4));
      params_.selection = static_cast<sotto_selection>(bytes.below(7));
      break;
    case 5:
      params_.stages = stages_;
      params_.stage_count = bytes.below(9);
      break;
    case 6:
      watermark_.scheme = static_cast<sotto_watermark_scheme>(bytes.below(6));
      watermark_.context_width = bytes.below(18);
      params_.watermark = &watermark_;
      break;
    default:
      add_list(bytes);
  }
}

void FuzzedParams::add_list(FuzzBytes& bytes) {
  const size_t count = 1 + bytes.below(kTokens);
  switch (bytes.below(8)) {
    case 0:
      params_.logit_bias = biases_;
      params_.logit_bias_count = count;
      break;
    case 1:
      params_.sequence_bias = sequences_;
      params_.sequence_bias_count = 1 + count % 2;
      break;
    case 2:
      params_.bad_words = words_;
      params_.bad_word_count = 1 + count % 2;
      break;
    case 3:
      params_.allowed_tokens = tokens_;
      params_.allowed_token_count = count;
      break;
    case 4:
      params_.suppressed_tokens = tokens_;
      params_.suppressed_token_count = count;
      break;
    case 5:
      params_.begin_suppressed_tokens = tokens_;
      params_.begin_suppressed_token_count = count;
      break;
    case 6:
      params_.forced_prefix = tokens_;
      params_.forced_prefix_count = count;
      break;
    default:
      params_.forced_last_token = tokens_[0];
  }
}

FuzzedStops::FuzzedStops(FuzzBytes& bytes, sotto_token stop_token) : stop_token_(stop_token) {
  static constexpr sotto_text kTexts[] = {{"e", 1}, {"th", 2}, {" a", 2}, {"\xC3\xA9", 2}};
  sotto_stop_params_init(&params_, sizeof params_);
  params_.include_stop_text = bytes.below(2);
  params_.max_tokens = bytes.below(20);
  params_.repetition_limit = static_cast<float>(bytes.below(12)) / 10;
  params_.repetition_window = 8 + bytes.below(20);
  params_.stop_tokens = &stop_token_;
  params_.stop_token_count = bytes.below(2);
  params_.stop_strings = kTexts + bytes.below(3);
  params_.stop_string_count = bytes.below(2);
  params_.banned_strings = kTexts + bytes.below(3);
  params_.banned_string_count = bytes.below(2);
}

}  // namespace sotto
