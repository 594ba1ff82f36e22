// Settings of the sampler for tests that repeat something with every stage, selection and watermark.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

#include "capi/include/sotto.h"

namespace sotto {

// Params is the struct of the C API or the one of the runtime.
template <typename Params>
struct SamplerSetting {
  const char* name;
  std::function<void(Params&)> adjust;
};

template <typename Enum>
void set_enum(Enum& field, int32_t value) {
  field = static_cast<Enum>(value);
}

template <typename Params>
void set_watermark(Params& params, int32_t scheme) {
  if constexpr (std::is_same_v<Params, sotto_sampler_params>) {
    static sotto_watermark_params watermarks[SOTTO_WATERMARK_GUMBEL + 1];
    sotto_watermark_params& watermark = watermarks[scheme];
    sotto_watermark_params_init(&watermark, sizeof watermark);
    watermark.scheme = scheme;
    params.watermark = &watermark;
  } else {
    set_enum(params.watermark.scheme, scheme);
  }
}

template <typename Params>
std::vector<SamplerSetting<Params>> sampler_settings() {
  constexpr bool kIsC = std::is_same_v<Params, sotto_sampler_params>;  // lists have a count
  static const sotto_token kTokens[] = {1, 2, 3};
  static const sotto_token_bias kBiases[] = {{4, 1.0f}, {5, -1.0f}};
  static const sotto_token_list kWords[] = {{kTokens, 2}, {kTokens + 2, 1}};
  std::vector<SamplerSetting<Params>> settings = {
      {"plain", [](Params&) {}},
      {"greedy", [](Params& p) { set_enum(p.selection, SOTTO_SELECT_GREEDY); }},
      {"cold", [](Params& p) { p.temperature = 0; }},
      {"gumbel", [](Params& p) { set_enum(p.selection, SOTTO_SELECT_GUMBEL); }},
      {"mirostat", [](Params& p) { set_enum(p.selection, SOTTO_SELECT_MIROSTAT); }},
      {"mirostat 2", [](Params& p) { set_enum(p.selection, SOTTO_SELECT_MIROSTAT_V2); }},
      {"adaptive",
       [](Params& p) {
         set_enum(p.selection, SOTTO_SELECT_ADAPTIVE_P);
         p.adaptive_target = 0.3f;
       }},
      {"repetition", [](Params& p) { p.repetition_penalty = 1.3f; }},
      {"frequency", [](Params& p) { p.frequency_penalty = 0.5f; }},
      {"presence", [](Params& p) { p.presence_penalty = 0.5f; }},
      {"slope",
       [](Params& p) {
         p.repetition_penalty = 1.2f;
         p.penalty_slope = 1.5f;
         p.repetition_window = UINT32_MAX;
       }},
      {"n-grams", [](Params& p) { p.no_repeat_ngram = 3; }},
      {"dry", [](Params& p) { p.dry_multiplier = 1; }},
      {"guard", [](Params& p) { p.guard_window = 32; }},
      {"bias",
       [](Params& p) {
         p.logit_bias = kBiases;
         if constexpr (kIsC) p.logit_bias_count = std::size(kBiases);
       }},
      {"bad words",
       [](Params& p) {
         p.bad_words = kWords;
         if constexpr (kIsC) p.bad_word_count = std::size(kWords);
       }},
      {"suppressed",
       [](Params& p) {
         p.suppressed_tokens = kTokens;
         if constexpr (kIsC) p.suppressed_token_count = std::size(kTokens);
       }},
      {"prefix",
       [](Params& p) {
         p.forced_prefix = kTokens;
         if constexpr (kIsC) p.forced_prefix_count = std::size(kTokens);
       }},
      {"min new", [](Params& p) { p.min_new_tokens = 9; }},
      {"end decay", [](Params& p) { p.end_decay_factor = 1.1f; }},
      {"no end", [](Params& p) { p.ignore_end = true; }},
      {"top_k", [](Params& p) { p.top_k = 3; }},
      {"top_p", [](Params& p) { p.top_p = 0.7f; }},
      {"top_p decay",
       [](Params& p) {
         p.top_p = 0.9f;
         p.top_p_decay = 0.9f;
       }},
      {"min_p", [](Params& p) { p.min_p = 0.3f; }},
      {"top_a", [](Params& p) { p.top_a = 0.3f; }},
      {"tail free", [](Params& p) { p.tail_free = 0.8f; }},
      {"typical", [](Params& p) { p.typical_p = 0.6f; }},
      {"epsilon", [](Params& p) { p.epsilon = 0.01f; }},
      {"eta", [](Params& p) { p.eta = 0.01f; }},
      {"sigma", [](Params& p) { p.top_n_sigma = 1; }},
      {"top_h", [](Params& p) { p.top_h = 0.5f; }},
      {"xtc",
       [](Params& p) {
         p.xtc_probability = 1;
         p.xtc_threshold = 0.001f;
       }},
      {"dynamic", [](Params& p) { p.temperature_range = 0.5f; }},
      {"smoothing", [](Params& p) { p.smoothing_factor = 0.3f; }},
      {"dola", [](Params& p) { set_enum(p.dola, SOTTO_DOLA_HIGH); }},
  };
  for (const int32_t scheme :
       {SOTTO_WATERMARK_LEFT_HASH, SOTTO_WATERMARK_SELF_HASH, SOTTO_WATERMARK_TOURNAMENT, SOTTO_WATERMARK_GUMBEL}) {
    settings.push_back({"watermark", [scheme](Params& p) { set_watermark(p, scheme); }});
  }
  return settings;
}

}  // namespace sotto
