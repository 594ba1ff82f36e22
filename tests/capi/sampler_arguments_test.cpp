// Tests every field of sotto_sampler_params and sotto_watermark_params with values out of range. The call that sets it
// must fail with a message that names the field.

#include <cstring>

#include "tests/capi/decoding_arguments.h"
#include "tests/capi/open_sampler.h"

namespace sotto {
namespace {

std::vector<Case<sotto_sampler_params>> sampler_cases() {
  using Params = sotto_sampler_params;
  std::vector<Case<Params>> cases;
  add(cases, "temperature", &Params::temperature, {-0.1f, 100.5f, kNan, kInfinity});
  add(cases, "top_p", &Params::top_p, {0.0f, 1.1f, kNan});
  add(cases, "min_p", &Params::min_p, {-0.1f, 1.1f, kNan});
  add(cases, "repetition_penalty", &Params::repetition_penalty, {0.0f, 100.5f, kNan});
  add(cases, "order", &Params::order, {-1, 3});
  add(cases, "min_keep", &Params::min_keep, {0u});
  add(cases, "frequency_penalty", &Params::frequency_penalty, {-100.5f, 100.5f, kNan});
  add(cases, "presence_penalty", &Params::presence_penalty, {-100.5f, 100.5f, kNan});
  add(cases, "penalty_slope", &Params::penalty_slope, {-0.1f, 10.5f, kNan});
  add(cases, "dry_multiplier", &Params::dry_multiplier, {-0.1f, 100.5f, kNan});
  add(cases, "dry_base", &Params::dry_base, {0.9f, 10.5f, kNan});
  add(cases, "guard_penalty", &Params::guard_penalty, {0.9f, 100.5f, kNan});
  add(cases, "temperature_range", &Params::temperature_range, {-0.1f, 100.5f, kNan});
  add(cases, "temperature_exponent", &Params::temperature_exponent, {-0.1f, 10.5f, kNan});
  add(cases, "smoothing_factor", &Params::smoothing_factor, {-0.1f, 100.5f, kNan});
  add(cases, "smoothing_curve", &Params::smoothing_curve, {0.9f, 10.5f, kNan});
  add(cases, "top_p_decay", &Params::top_p_decay, {0.0f, 1.1f, kNan});
  add(cases, "top_p_min", &Params::top_p_min, {-0.1f, 0.96f, kNan});
  add(cases, "top_p_reset_token", &Params::top_p_reset_token, {-2, 300});
  add(cases, "top_a", &Params::top_a, {-0.1f, 1.1f, kNan});
  add(cases, "tail_free", &Params::tail_free, {0.0f, 1.1f, kNan});
  add(cases, "typical_p", &Params::typical_p, {0.0f, 1.1f, kNan});
  add(cases, "epsilon", &Params::epsilon, {-0.1f, 1.0f, kNan});
  add(cases, "eta", &Params::eta, {-0.1f, 1.0f, kNan});
  add(cases, "top_n_sigma", &Params::top_n_sigma, {-0.1f, 100.5f, kNan});
  add(cases, "top_h", &Params::top_h, {0.0f, 1.1f, kNan});
  add(cases, "xtc_probability", &Params::xtc_probability, {-0.1f, 1.1f, kNan});
  add(cases, "xtc_threshold", &Params::xtc_threshold, {-0.1f, 1.1f, kNan});
  add(cases, "selection", &Params::selection, {-1, 6});
  add(cases, "mirostat_tau", &Params::mirostat_tau, {0.0f, 20.5f, kNan});
  add(cases, "mirostat_eta", &Params::mirostat_eta, {0.0f, 1.1f, kNan});
  add(cases, "mirostat_m", &Params::mirostat_m, {0u, 1u});
  add(cases, "adaptive_target", &Params::adaptive_target, {1.1f, kNan});
  add(cases, "adaptive_decay", &Params::adaptive_decay, {-0.1f, 1.0f, kNan});
  add(cases, "end_decay_factor", &Params::end_decay_factor, {-0.1f, 10.5f, kNan});
  add(cases, "forced_last_token", &Params::forced_last_token, {-2, 300});
  add(cases, "dola", &Params::dola, {-1, 3});
  add(cases, "dola_relative_top", &Params::dola_relative_top, {-0.1f, 1.1f, kNan});
  add(cases, "alternative_count", &Params::alternative_count, {65u});
  cases.push_back({"adaptive_target", [](Params& params) { params.selection = SOTTO_SELECT_ADAPTIVE_P; }});
  return cases;
}

TEST_F(DecodingArguments, SamplerFieldsOutOfRangeAreNamed) {
  for (const auto& wrong : sampler_cases()) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    wrong.spoil(params);
    expect_error(set(params), wrong.name);
  }
}

TEST_F(DecodingArguments, StandaloneSamplersRejectTheSameParameters) {
  OpenSampler sampler(300, 4096);
  for (const auto& wrong : sampler_cases()) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    wrong.spoil(params);
    expect_error(sotto_sampler_set(sampler.get(), &params, &error_), wrong.name);
  }
}

TEST_F(DecodingArguments, ListsWithWrongTokensAreNamed) {
  const sotto_token good[] = {1, 2};
  const sotto_token bad[] = {1, 300};
  const sotto_token_bias bad_bias[] = {{-1, 1.0f}};
  const sotto_token_bias nan_bias[] = {{1, kNan}};
  const sotto_token_bias infinite_bias[] = {{1, kInfinity}};
  const sotto_sequence_bias empty_sequence[] = {{good, 0, 1.0f, 0}};
  const sotto_sequence_bias bad_sequence[] = {{bad, 2, 1.0f, 0}};
  const sotto_token_list empty_words[] = {{good, 0}};
  const sotto_token_list bad_words[] = {{good, 2}, {bad, 2}};
  const sotto_stage twice[] = {SOTTO_STAGE_TOP_K, SOTTO_STAGE_TOP_K};
  const sotto_stage unknown[] = {29};
  const sotto_stage without_top_k[] = {SOTTO_STAGE_TOP_P, SOTTO_STAGE_MIN_P, SOTTO_STAGE_TEMPERATURE};
  using Params = sotto_sampler_params;
  const Case<Params> cases[] = {
      {"logit_bias",
       [&](Params& p) {
         p.logit_bias = bad_bias;
         p.logit_bias_count = 1;
       }},
      {"logit_bias",
       [&](Params& p) {
         p.logit_bias = nan_bias;
         p.logit_bias_count = 1;
       }},
      {"logit_bias",
       [&](Params& p) {
         p.logit_bias = infinite_bias;
         p.logit_bias_count = 1;
       }},
      {"logit_bias",
       [&](Params& p) {
         p.logit_bias = nullptr;
         p.logit_bias_count = 1;
       }},
      {"sequence_bias",
       [&](Params& p) {
         p.sequence_bias = empty_sequence;
         p.sequence_bias_count = 1;
       }},
      {"sequence_bias",
       [&](Params& p) {
         p.sequence_bias = bad_sequence;
         p.sequence_bias_count = 1;
       }},
      {"bad_words",
       [&](Params& p) {
         p.bad_words = empty_words;
         p.bad_word_count = 1;
       }},
      {"bad_words",
       [&](Params& p) {
         p.bad_words = bad_words;
         p.bad_word_count = 2;
       }},
      {"allowed_tokens",
       [&](Params& p) {
         p.allowed_tokens = bad;
         p.allowed_token_count = 2;
       }},
      {"suppressed_tokens",
       [&](Params& p) {
         p.suppressed_tokens = bad;
         p.suppressed_token_count = 2;
       }},
      {"begin_suppressed_tokens",
       [&](Params& p) {
         p.begin_suppressed_tokens = bad;
         p.begin_suppressed_token_count = 2;
       }},
      {"forced_prefix",
       [&](Params& p) {
         p.forced_prefix = bad;
         p.forced_prefix_count = 2;
       }},
      {"forced_prefix",
       [&](Params& p) {
         p.forced_prefix = nullptr;
         p.forced_prefix_count = 2;
       }},
      {"dry_breakers",
       [&](Params& p) {
         p.dry_breakers = nullptr;
         p.dry_breaker_count = 1;
       }},
      {"dry_breaker_tokens",
       [&](Params& p) {
         p.dry_breaker_tokens = bad;
         p.dry_breaker_token_count = 2;
       }},
      {"stages",
       [&](Params& p) {
         p.stages = twice;
         p.stage_count = 2;
       }},
      {"stages",
       [&](Params& p) {
         p.stages = unknown;
         p.stage_count = 1;
       }},
      {"top_k",
       [&](Params& p) {
         p.stages = without_top_k;
         p.stage_count = 3;
       }},
  };
  for (const auto& wrong : cases) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    wrong.spoil(params);
    expect_error(set(params), wrong.name);
  }
  std::vector<sotto_token> many(10000, 1);
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.suppressed_tokens = many.data();
  params.suppressed_token_count = many.size();
  expect_error(set(params), "list_bytes");
}

TEST_F(DecodingArguments, RejectedSamplerParametersLeaveTheOldOnes) {
  const auto prompt = random_tokens(5, kDecodingShape.vocabulary_size, 1);
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.seed = 9;
  params.temperature = 3;
  ASSERT_EQ(set(params), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(session_.get(), prompt.data(), prompt.size()), SOTTO_OK);
  const auto expected = session_.generate(10);
  sotto_session_reset(session_.get());
  params.seed = 10;
  params.top_a = -1;
  expect_error(set(params), "top_a");
  ASSERT_EQ(sotto_session_prefill(session_.get(), prompt.data(), prompt.size()), SOTTO_OK);
  EXPECT_EQ(session_.generate(10), expected);
}

TEST_F(DecodingArguments, WatermarkFieldsOutOfRangeAreNamed) {
  using Params = sotto_watermark_params;
  std::vector<Case<Params>> cases;
  add(cases, "scheme", &Params::scheme, {-1, 5});
  add(cases, "context_width", &Params::context_width, {17u});
  add(cases, "gamma", &Params::gamma, {0.0f, 1.0f, kNan});
  add(cases, "delta", &Params::delta, {-0.1f, 100.5f, kNan});
  add(cases, "tournament_layers", &Params::tournament_layers, {0u, 65u});
  for (const auto& wrong : cases) {
    Params watermark;
    sotto_watermark_params_init(&watermark, sizeof watermark);
    watermark.scheme = SOTTO_WATERMARK_LEFT_HASH;
    wrong.spoil(watermark);
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.watermark = &watermark;
    expect_error(set(params), wrong.name);
    const sotto_token tokens[] = {1, 2, 3};
    sotto_watermark_result result = {};
    result.struct_size = sizeof result;
    expect_error(sotto_watermark_detect(&watermark, 300, tokens, 3, &result, &error_), wrong.name);
  }
}

TEST(SamplerPresets, ChangeOnlyWhatTheySet) {
  sotto_sampler_params plain = {}, creative = {};  // also clears the padding, which memcmp compares
  sotto_sampler_params_init(&plain, sizeof plain);
  ASSERT_EQ(sotto_sampler_params_init_preset(&creative, sizeof creative, SOTTO_PRESET_CREATIVE), SOTTO_OK);
  EXPECT_EQ(creative.temperature, 1.0f);
  EXPECT_EQ(creative.top_k, 0u);
  EXPECT_EQ(creative.repetition_penalty, 1.1f);
  creative.temperature = plain.temperature;
  creative.top_k = plain.top_k;
  creative.repetition_penalty = plain.repetition_penalty;
  EXPECT_EQ(std::memcmp(&creative, &plain, sizeof plain), 0);
}

TEST(SamplerPresets, AnUnknownOneChangesNothing) {
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.top_k = 7;
  for (const sotto_preset preset : {-1, 0, 8}) {
    EXPECT_EQ(sotto_sampler_params_init_preset(&params, sizeof params, preset), SOTTO_INVALID_ARGUMENT) << preset;
  }
  EXPECT_EQ(params.top_k, 7u);
  EXPECT_EQ(sotto_sampler_params_init_preset(nullptr, sizeof params, SOTTO_PRESET_CHAT), SOTTO_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sotto
