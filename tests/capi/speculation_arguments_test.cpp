// Tests every field of sotto_speculation_params with values out of range. Such values must be rejected before anything
// happens, with a message that names the field.

#include "tests/capi/decoding_arguments.h"

namespace sotto {
namespace {

using Params = sotto_speculation_params;

class SpeculationArguments : public DecodingArguments {
 protected:
  SpeculationArguments() : drafting_(model_.get(), [](sotto_session_params& params) { params.draft_tokens = 4; }) {}

  static Params defaults() {
    Params params;
    sotto_speculation_params_init(&params, sizeof params);
    return params;
  }
  sotto_status set(const Params& params) { return sotto_session_set_speculation(drafting_.get(), &params, &error_); }

  OpenSession drafting_;
};

TEST_F(SpeculationArguments, FieldsOutOfRangeAreNamed) {
  LoadedModel other_model(make_model_file({301, 64, 48, 3, 100, 2}, true));
  OpenSession other(other_model.get());
  std::vector<Case<Params>> cases;
  add(cases, "sources", &Params::sources, {32u, UINT32_MAX});
  add(cases, "draft_tokens", &Params::draft_tokens, {5u, UINT32_MAX});
  add(cases, "min_match", &Params::min_match, {0u, 9u});
  add(cases, "max_match", &Params::max_match, {1u, 65u});
  add(cases, "draft_threshold", &Params::draft_threshold, {-0.1f, 1.1f, kNan});
  const auto add_source = [&](uint32_t source, const char* name, auto spoil) {
    cases.push_back({name, [=](Params& params) {
                       params.sources = source;
                       spoil(params);
                     }});
  };
  add_source(SOTTO_DRAFT_EARLY_EXIT, "exit_layer", [](Params& p) { p.exit_layer = 2; });
  add_source(SOTTO_DRAFT_CALLBACK, "draft is NULL", [](Params&) {});
  add_source(SOTTO_DRAFT_SESSION, "draft_session is NULL", [](Params&) {});
  add_source(SOTTO_DRAFT_SESSION, "session itself", [this](Params& p) { p.draft_session = drafting_.get(); });
  add_source(SOTTO_DRAFT_SESSION, "vocabulary_size", [&](Params& p) { p.draft_session = other.get(); });
  for (const auto& wrong : cases) {
    Params params = defaults();
    wrong.spoil(params);
    expect_error(set(params), wrong.name);
  }
}

TEST_F(SpeculationArguments, NeedsMemoryForDrafts) {
  const Params params = defaults();
  expect_error(sotto_session_set_speculation(session_.get(), &params, &error_), "draft_tokens", SOTTO_INVALID_STATE);
  EXPECT_EQ(sotto_session_set_speculation(session_.get(), nullptr, &error_), SOTTO_OK);
}

TEST_F(SpeculationArguments, NullAndUnsizedStructsAreRejected) {
  const Params params = defaults();
  Params unsized = params;
  unsized.struct_size = 0;
  expect_error(sotto_session_set_speculation(nullptr, &params, &error_), "session");
  expect_error(set(unsized), "params");
  sotto_speculation_info info = {};
  EXPECT_EQ(sotto_session_get_speculation_info(drafting_.get(), &info), SOTTO_INVALID_ARGUMENT);
  info.struct_size = sizeof info;
  EXPECT_EQ(sotto_session_get_speculation_info(nullptr, &info), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_get_speculation_info(drafting_.get(), nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_get_speculation_info(drafting_.get(), &info), SOTTO_OK);
}

TEST_F(SpeculationArguments, OneDraftSessionServesOneSession) {
  OpenSession second(model_.get(), [](sotto_session_params& params) { params.draft_tokens = 2; });
  OpenSession drafter(model_.get());
  Params params = defaults();
  params.sources = SOTTO_DRAFT_SESSION;
  params.draft_session = drafter.get();
  ASSERT_EQ(set(params), SOTTO_OK);
  expect_error(sotto_session_set_speculation(second.get(), &params, &error_), "draft_session");
  ASSERT_EQ(sotto_session_set_speculation(drafting_.get(), nullptr, &error_), SOTTO_OK);
  EXPECT_EQ(sotto_session_set_speculation(second.get(), &params, &error_), SOTTO_OK);
  EXPECT_EQ(sotto_session_set_speculation(second.get(), nullptr, &error_), SOTTO_OK);
}

}  // namespace
}  // namespace sotto
