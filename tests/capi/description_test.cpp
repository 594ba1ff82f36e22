// Tests the description of a model in its file: texts, end-of-text tokens, and recommended sampling parameters.
#include <functional>
#include <limits>
#include <string>

#include "tests/capi/open_sampler.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 32, 32, 2, 48, 2};
constexpr sotto_token kEnd = 5, kOtherEnd = 7, kText = 9;

LoadedModel load(const std::function<void(CheckpointInfo&)>& describe) {
  return LoadedModel(make_described_file(kShape, describe));
}

// Returns the message about a file with this description.
std::string error_of(const std::function<void(CheckpointInfo&)>& describe) {
  try {
    load(describe);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

void add_ends(CheckpointInfo& info) {
  info.end_of_text_token = kEnd;
  info.other_end_of_text_tokens = {kOtherEnd};
}

std::string text_of(const sotto_model* model, sotto_model_text_kind kind) {
  const char* text = nullptr;
  size_t size = 0;
  EXPECT_EQ(sotto_model_text(model, kind, &text, &size), SOTTO_OK);
  return std::string(text, size);
}

sotto_model_info info_of(const sotto_model* model) {
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  EXPECT_EQ(sotto_model_get_info(model, &info), SOTTO_OK);
  return info;
}

// Returns generated tokens and the status that ended them. The sampler draws only from `allowed` if there are any.
std::vector<sotto_token> generate(sotto_model* model, std::vector<sotto_token> allowed, sotto_status* end,
                                  const std::function<void(sotto_sampler_params&)>& adjust) {
  OpenSession session(model);
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.allowed_tokens = allowed.data();
  params.allowed_token_count = allowed.size();
  adjust(params);
  EXPECT_EQ(sotto_session_set_sampler(session.get(), &params, nullptr), SOTTO_OK);
  const sotto_token prompt = 1;
  EXPECT_EQ(sotto_session_prefill(session.get(), &prompt, 1), SOTTO_OK);
  return session.generate(12, end);
}

TEST(Description, TextsAreThoseOfTheFile) {
  LoadedModel model = load([](CheckpointInfo& info) {
    info.license = "mit";
    info.chat_template = "{% for m in messages %}\n{{ m }}{% endfor %}";
    info.chat_format = "{user}\n{|}{assistant}\n";
  });
  EXPECT_EQ(text_of(model.get(), SOTTO_MODEL_TEXT_NAME), "described");
  EXPECT_EQ(text_of(model.get(), SOTTO_MODEL_TEXT_LICENSE), "mit");
  EXPECT_EQ(text_of(model.get(), SOTTO_MODEL_TEXT_CHAT_TEMPLATE), "{% for m in messages %}\n{{ m }}{% endfor %}");
  EXPECT_EQ(text_of(model.get(), SOTTO_MODEL_TEXT_CHAT_FORMAT), "{user}\n{|}{assistant}\n");
  const char* text = nullptr;
  size_t size = 0;
  EXPECT_EQ(sotto_model_text(model.get(), SOTTO_MODEL_TEXT_CHAT_FORMAT + 1, &text, &size), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_model_text(model.get(), -1, &text, &size), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_model_text(nullptr, SOTTO_MODEL_TEXT_NAME, &text, &size), SOTTO_INVALID_ARGUMENT);
  LoadedModel plain = load([](CheckpointInfo&) {});
  EXPECT_EQ(text_of(plain.get(), SOTTO_MODEL_TEXT_LICENSE), "");
  EXPECT_EQ(text_of(plain.get(), SOTTO_MODEL_TEXT_CHAT_TEMPLATE), "");
  EXPECT_EQ(text_of(plain.get(), SOTTO_MODEL_TEXT_CHAT_FORMAT), "");
}

TEST(Description, RewardsAreCountedAndLeaveOneToken) {
  EXPECT_EQ(info_of(load([](CheckpointInfo&) {}).get()).reward_count, 0u);
  EXPECT_EQ(info_of(load([](CheckpointInfo& info) { info.reward_count = 299; }).get()).reward_count, 299u);
  const std::string message = error_of([](CheckpointInfo& info) { info.reward_count = 300; });
  EXPECT_NE(message.find("reward_count is 300; it must be from 0 to 299"), std::string::npos) << message;
}

TEST(Description, EveryEndOfTextTokenEndsTheText) {
  LoadedModel model = load(add_ends);
  EXPECT_EQ(info_of(model.get()).end_of_text_token, kEnd);
  EXPECT_EQ(info_of(model.get()).end_of_text_count, 2u);
  for (sotto_token token = 0; token < 300; ++token) {
    uint32_t flags = 99;
    EXPECT_EQ(sotto_token_flags(model.get(), token, &flags), SOTTO_OK);
    EXPECT_EQ(flags, token == kEnd || token == kOtherEnd ? uint32_t{SOTTO_TOKEN_END_OF_TEXT} : 0) << token;
  }
  uint32_t flags = 0;
  EXPECT_EQ(sotto_token_flags(model.get(), 300, &flags), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_token_flags(model.get(), -1, &flags), SOTTO_INVALID_ARGUMENT);
  for (const sotto_token end : {kEnd, kOtherEnd}) {
    sotto_status status = SOTTO_OK;
    EXPECT_TRUE(generate(model.get(), {end}, &status, [](auto&) {}).empty());
    EXPECT_EQ(status, SOTTO_STOP_END_OF_TEXT) << end;
  }
}

TEST(Description, StagesThatConcernTheEndConcernEveryEndOfTextToken) {
  LoadedModel model = load(add_ends);
  sotto_status status = SOTTO_OK;
  const std::vector<sotto_token> all = {kEnd, kOtherEnd, kText};
  EXPECT_EQ(generate(model.get(), all, &status, [](auto& p) { p.ignore_end = 1; }),
            std::vector<sotto_token>(12, kText));
  const sotto_token_bias biases[] = {{kOtherEnd, 100.0f}};
  const auto tokens = generate(model.get(), all, &status, [&](auto& p) {
    p.min_new_tokens = 3;
    p.logit_bias = biases;
    p.logit_bias_count = 1;
  });
  EXPECT_EQ(tokens, std::vector<sotto_token>(3, kText));
  EXPECT_EQ(status, SOTTO_STOP_END_OF_TEXT);
}

TEST(Description, ModelDefaultsReplaceParametersThatHaveTheirDefaults) {
  LoadedModel model = load([](CheckpointInfo& info) {
    info.sampling.temperature = 3.0f;
    info.sampling.top_k = 0;
    info.sampling.top_p = 1.0f;
    info.sampling.repetition_penalty = 1.5f;
    info.sampling.repetition_window = UINT32_MAX;
    info.sampling.no_repeat_ngram = 2;
  });
  const sotto_model_info info = info_of(model.get());
  EXPECT_EQ(info.default_temperature, 3.0f);
  EXPECT_EQ(info.default_top_k, 0u);
  EXPECT_EQ(info.default_top_p, 1.0f);
  EXPECT_EQ(info.default_min_p, 0.05f);
  EXPECT_EQ(info.default_typical_p, 1.0f);
  EXPECT_EQ(info.default_repetition_penalty, 1.5f);
  EXPECT_EQ(info.default_repetition_window, UINT32_MAX);
  EXPECT_EQ(info.default_no_repeat_ngram, 2u);
  const auto tokens = [&](const std::function<void(sotto_sampler_params&)>& adjust) {
    sotto_status status = SOTTO_OK;
    return generate(model.get(), {}, &status, adjust);
  };
  const auto recommend = [](sotto_sampler_params& p) {
    p.temperature = 3.0f;
    p.top_k = 0;
    p.top_p = 1.0f;
    p.repetition_penalty = 1.5f;
    p.repetition_window = UINT32_MAX;
    p.no_repeat_ngram = 2;
  };
  const auto plain = tokens([](auto&) {});
  const auto recommended = tokens(recommend);
  EXPECT_NE(plain, recommended);
  EXPECT_EQ(tokens([](auto& p) { p.model_defaults = 1; }), recommended);
  const auto cold = tokens([&](auto& p) {
    recommend(p);
    p.temperature = 0.0f;
  });
  EXPECT_NE(cold, recommended);
  EXPECT_EQ(tokens([](auto& p) {
              p.model_defaults = 1;
              p.temperature = 0.0f;
            }),
            cold);
}

TEST(Description, ModelDefaultsNeedAModel) {
  LoadedModel model = load([](CheckpointInfo&) {});
  for (const sotto_model* given :
       {static_cast<const sotto_model*>(nullptr), static_cast<const sotto_model*>(model.get())}) {
    OpenSampler sampler(300, 0, given);
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.model_defaults = 1;
    sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
    const sotto_status expected = given == nullptr ? SOTTO_INVALID_ARGUMENT : SOTTO_OK;
    EXPECT_EQ(sotto_sampler_set(sampler.get(), &params, &error), expected);
    EXPECT_STREQ(error.message, given == nullptr ? "model_defaults needs a model" : "");
  }
}

TEST(Description, HostileDescriptionsAreRejected) {
  EXPECT_EQ(error_of([](CheckpointInfo& info) { info.sampling.top_p = 7.0f; }),
            "sampling_defaults: top_p is 7; it must be greater than 0 and at most 1");
  EXPECT_NE(error_of([](CheckpointInfo& info) { info.sampling.temperature = -1.0f; }), "no error");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (auto member : {&RecommendedSampling::temperature, &RecommendedSampling::top_p, &RecommendedSampling::min_p,
                      &RecommendedSampling::typical_p, &RecommendedSampling::repetition_penalty}) {
    EXPECT_NE(error_of([=](CheckpointInfo& info) { info.sampling.*member = kNan; }), "no error");
  }
  EXPECT_EQ(error_of([](CheckpointInfo& info) {
              add_ends(info);
              info.other_end_of_text_tokens = {300};
            }),
            "end_of_text_tokens contains 300; it must be a token id from 0 to 299");
  EXPECT_EQ(error_of([](CheckpointInfo& info) {
              add_ends(info);
              info.other_end_of_text_tokens.resize(64, 1);
            }),
            "count of end_of_text_tokens is 65; it must be from 1 to 64");
  EXPECT_EQ(error_of([](CheckpointInfo& info) { info.license = "\xff"; }), "license is not UTF-8 at byte 0");
  EXPECT_EQ(error_of([](CheckpointInfo& info) { info.chat_template = "ab\x80"; }),
            "chat_template is not UTF-8 at byte 2");
}

}  // namespace
}  // namespace sotto
