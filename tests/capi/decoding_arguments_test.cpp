// Tests every field of the structs of sotto_session.h and sotto_search.h with values out of range, and calls for which
// a session has no memory. All of these must be rejected before anything happens, with a message that names the field.

#include "tests/capi/decoding_arguments.h"

namespace sotto {
namespace {

TEST_F(DecodingArguments, StopFieldsOutOfRangeAreNamed) {
  const sotto_token bad[] = {300};
  const sotto_text empty[] = {{"", 0}};
  const std::string long_text(1025, 'x');
  const sotto_text too_long[] = {{long_text.data(), long_text.size()}};
  const std::vector<sotto_text> too_many(20, {long_text.data(), 1024});
  using Params = sotto_stop_params;
  std::vector<Case<Params>> cases;
  add(cases, "repetition_limit", &Params::repetition_limit, {-0.1f, 1.1f, kNan});
  cases.push_back({"repetition_window", [](Params& p) {
                     p.repetition_limit = 0.5f;
                     p.repetition_window = 7;
                   }});
  cases.push_back({"stop_tokens", [&](Params& p) {
                     p.stop_tokens = bad;
                     p.stop_token_count = 1;
                   }});
  cases.push_back({"stop_tokens", [](Params& p) { p.stop_token_count = 1; }});
  cases.push_back({"stop_strings", [&](Params& p) {
                     p.stop_strings = empty;
                     p.stop_string_count = 1;
                   }});
  cases.push_back({"stop_strings", [](Params& p) { p.stop_string_count = 1; }});
  cases.push_back({"banned_strings", [&](Params& p) {
                     p.banned_strings = empty;
                     p.banned_string_count = 1;
                   }});
  cases.push_back({"banned_strings", [](Params& p) { p.banned_string_count = 1; }});
  cases.push_back({"stop_strings", [&](Params& p) {
                     p.stop_strings = too_long;
                     p.stop_string_count = 1;
                   }});
  cases.push_back({"list_bytes", [&](Params& p) {
                     p.stop_strings = too_many.data();
                     p.stop_string_count = too_many.size();
                   }});
  for (const auto& wrong : cases) {
    Params params;
    sotto_stop_params_init(&params, sizeof params);
    wrong.spoil(params);
    expect_error(sotto_session_set_stops(session_.get(), &params, &error_), wrong.name);
  }
}

TEST_F(DecodingArguments, GuideFieldsOutOfRangeAreNamed) {
  LoadedModel other_model(make_model_file({301, 64, 48, 3, 100, 2}, true));
  OpenSession other(other_model.get());
  OpenSession guide(model_.get());
  using Params = sotto_guide_params;
  std::vector<Case<Params>> cases;
  add(cases, "mode", &Params::mode, {-1, 3});
  add(cases, "scale", &Params::scale, {-0.1f, 100.5f, kNan});
  add(cases, "alpha", &Params::alpha, {0.0f, 1.1f, kNan});
  add(cases, "beta", &Params::beta, {-0.1f, 100.5f, kNan});
  for (const auto& wrong : cases) {
    Params params;
    sotto_guide_params_init(&params, sizeof params);
    wrong.spoil(params);
    expect_error(sotto_session_set_guide(session_.get(), guide.get(), &params, &error_), wrong.name);
  }
  expect_error(sotto_session_set_guide(session_.get(), other.get(), nullptr, &error_), "vocabular");
  expect_error(sotto_session_set_guide(session_.get(), session_.get(), nullptr, &error_), "guide");
}

TEST_F(DecodingArguments, SearchFieldsOutOfRangeAreNamed) {
  const auto prompt = random_tokens(5, kDecodingShape.vocabulary_size, 1);
  ASSERT_EQ(sotto_session_prefill(session_.get(), prompt.data(), prompt.size()), SOTTO_OK);
  const sotto_token bad_tokens[] = {300};
  const sotto_token_list bad[] = {{bad_tokens, 1}};
  const sotto_token_list empty[] = {{bad_tokens, 0}};
  using Params = sotto_search_params;
  std::vector<Case<Params>> cases;
  add(cases, "mode", &Params::mode, {-1, 4});
  add(cases, "sequence_count", &Params::sequence_count, {5u});
  add(cases, "return_count", &Params::return_count, {5u});
  add(cases, "max_tokens", &Params::max_tokens, {9u});
  add(cases, "length_penalty", &Params::length_penalty, {-10.5f, 10.5f, kNan});
  add(cases, "length_norm", &Params::length_norm, {-1, 2});
  add(cases, "early_stopping", &Params::early_stopping, {-1, 3});
  add(cases, "group_count", &Params::group_count, {0u, 3u});
  add(cases, "diversity_penalty", &Params::diversity_penalty, {-0.1f, 0.5f, 100.5f, kNan});
  add(cases, "rerank", &Params::rerank, {-1, 5});
  cases.push_back({"similarity", [](Params& p) {
                     p.mode = SOTTO_SEARCH_SAMPLE;
                     p.rerank = SOTTO_RERANK_CALLBACK;
                   }});
  for (const uint32_t k : {1u, 65u, 5u}) {
    cases.push_back({"contrastive_k", [k](Params& p) {
                       p.mode = SOTTO_SEARCH_CONTRASTIVE;
                       p.contrastive_k = k;
                     }});
  }
  for (const float alpha : {-0.1f, 1.1f, kNan}) {
    cases.push_back({"contrastive_alpha", [alpha](Params& p) {
                       p.mode = SOTTO_SEARCH_CONTRASTIVE;
                       p.contrastive_alpha = alpha;
                     }});
  }
  cases.push_back({"phrases", [&](Params& p) {
                     p.phrases = bad;
                     p.phrase_count = 1;
                   }});
  cases.push_back({"phrases", [&](Params& p) {
                     p.phrases = empty;
                     p.phrase_count = 1;
                   }});
  cases.push_back({"phrases", [](Params& p) { p.phrase_count = 1; }});
  for (const auto& wrong : cases) {
    Params params;
    sotto_search_params_init(&params, sizeof params);
    wrong.spoil(params);
    const sotto_sequence* sequences = nullptr;
    size_t count = 0;
    expect_error(sotto_session_search(session_.get(), &params, &sequences, &count, &error_), wrong.name);
    EXPECT_EQ(sequences, nullptr);
  }
}

TEST_F(DecodingArguments, FeaturesWithoutMemoryAreRejected) {
  OpenSession plain(model_.get());
  const auto prompt = random_tokens(5, kDecodingShape.vocabulary_size, 1);
  ASSERT_EQ(sotto_session_prefill(plain.get(), prompt.data(), prompt.size()), SOTTO_OK);
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  expect_error(sotto_session_search(plain.get(), nullptr, &sequences, &count, &error_), "sequence_count",
               SOTTO_INVALID_STATE);
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.dola = SOTTO_DOLA_LOW;
  expect_error(sotto_session_set_sampler(plain.get(), &params, &error_), "dola");
  OpenSession guide(model_.get());
  expect_error(sotto_session_set_guide(plain.get(), guide.get(), nullptr, &error_), "features", SOTTO_INVALID_STATE);
  OpenSession searching(model_.get(), [](sotto_session_params& session) { session.sequence_count = 4; });
  ASSERT_EQ(sotto_session_prefill(searching.get(), prompt.data(), prompt.size()), SOTTO_OK);
  sotto_search_params search;
  sotto_search_params_init(&search, sizeof search);
  search.mode = SOTTO_SEARCH_CONTRASTIVE;
  expect_error(sotto_session_search(searching.get(), &search, &sequences, &count, &error_), "HIDDEN_HISTORY");
}

TEST_F(DecodingArguments, SearchesRejectBannedStrings) {
  const auto prompt = random_tokens(5, kDecodingShape.vocabulary_size, 1);
  ASSERT_EQ(sotto_session_prefill(session_.get(), prompt.data(), prompt.size()), SOTTO_OK);
  const sotto_text banned = {"x", 1};
  sotto_stop_params stops;
  sotto_stop_params_init(&stops, sizeof stops);
  stops.banned_strings = &banned;
  stops.banned_string_count = 1;
  ASSERT_EQ(sotto_session_set_stops(session_.get(), &stops, &error_), SOTTO_OK);
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  expect_error(sotto_session_search(session_.get(), nullptr, &sequences, &count, &error_), "banned_strings");
}

TEST_F(DecodingArguments, SearchesRejectGuidesAndDola) {
  const auto prompt = random_tokens(5, kDecodingShape.vocabulary_size, 1);
  OpenSession guide(model_.get());
  ASSERT_EQ(sotto_session_prefill(session_.get(), prompt.data(), prompt.size()), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(guide.get(), prompt.data(), prompt.size()), SOTTO_OK);
  ASSERT_EQ(sotto_session_set_guide(session_.get(), guide.get(), nullptr, &error_), SOTTO_OK);
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  expect_error(sotto_session_search(session_.get(), nullptr, &sequences, &count, &error_), "guide",
               SOTTO_INVALID_STATE);
  ASSERT_EQ(sotto_session_set_guide(session_.get(), nullptr, nullptr, &error_), SOTTO_OK);
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.dola = SOTTO_DOLA_HIGH;
  ASSERT_EQ(set(params), SOTTO_OK);
  expect_error(sotto_session_search(session_.get(), nullptr, &sequences, &count, &error_), "dola");
}

TEST_F(DecodingArguments, NullsAreRejected) {
  sotto_session* session = session_.get();
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  float embedding[48];
  sotto_score score = {};
  const float* hidden = nullptr;
  expect_error(sotto_session_search(nullptr, nullptr, &sequences, &count, &error_), "session");
  expect_error(sotto_session_search(session, nullptr, nullptr, &count, &error_), "sequences");
  expect_error(sotto_session_search(session, nullptr, &sequences, nullptr, &error_), "count");
  expect_error(sotto_session_set_stops(nullptr, nullptr, &error_), "session");
  expect_error(sotto_session_set_guide(nullptr, nullptr, nullptr, &error_), "session");
  expect_error(sotto_session_restore(session, nullptr, 10, &error_), "bytes");
  expect_error(sotto_session_restore(nullptr, &score, 10, &error_), "session");
  expect_error(sotto_session_fork(session, nullptr, &error_), "to");
  expect_error(sotto_session_fork(nullptr, session, &error_), "from");
  EXPECT_EQ(sotto_session_heal(nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_heal(session), SOTTO_INVALID_STATE);
  EXPECT_EQ(sotto_session_score(session, nullptr, 0, nullptr, &score), SOTTO_INVALID_ARGUMENT);
  score.struct_size = sizeof score;
  EXPECT_EQ(sotto_session_score(session, nullptr, 1, nullptr, &score), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_hidden(session, nullptr, &count), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_hidden(session, &hidden, &count), SOTTO_INVALID_STATE);
  EXPECT_EQ(sotto_session_embed(session, nullptr, 1, SOTTO_POOL_MEAN, embedding), SOTTO_INVALID_ARGUMENT);
  const sotto_token token = 1;
  EXPECT_EQ(sotto_session_embed(session, &token, 1, 2, embedding), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_saved_size(session, nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_save(session, nullptr, 0, &count), SOTTO_BUFFER_TOO_SMALL);
  EXPECT_EQ(sotto_session_save(session, nullptr, 1, &count), SOTTO_INVALID_ARGUMENT);
  size_t saved_size = 0, needed = 0;
  ASSERT_EQ(sotto_session_saved_size(session, &saved_size), SOTTO_OK);
  char byte = 0;
  EXPECT_EQ(sotto_session_save(session, &byte, 1, &needed), SOTTO_BUFFER_TOO_SMALL);
  EXPECT_EQ(needed, saved_size);
  EXPECT_EQ(byte, 0);
}

TEST_F(DecodingArguments, NullParametersRestoreTheInitialSettings) {
  sotto_session* session = session_.get();
  const auto generate = [&] {
    const sotto_token prompt = 7;
    std::vector<sotto_token> tokens;
    const auto append = [](void* list, const sotto_piece* piece) {
      static_cast<std::vector<sotto_token>*>(list)->push_back(piece->token);
      return 0;
    };
    sotto_session_reset(session);
    EXPECT_EQ(sotto_session_generate(session, &prompt, 1, 20, append, &tokens), SOTTO_STOP_MAX_TOKENS);
    return tokens;
  };
  const std::vector<sotto_token> initial = generate();
  sotto_sampler_params sampler;
  sotto_sampler_params_init(&sampler, sizeof sampler);
  sampler.seed += 1;
  sotto_stop_params stops;
  sotto_stop_params_init(&stops, sizeof stops);
  stops.max_tokens = 5;
  ASSERT_EQ(sotto_session_set_sampler(session, &sampler, &error_), SOTTO_OK);
  ASSERT_EQ(sotto_session_set_stops(session, &stops, &error_), SOTTO_OK);
  const std::vector<sotto_token> changed = generate();
  EXPECT_EQ(changed.size(), 5u);
  EXPECT_NE(changed, std::vector<sotto_token>(initial.begin(), initial.begin() + 5));
  ASSERT_EQ(sotto_session_set_sampler(session, nullptr, &error_), SOTTO_OK);
  ASSERT_EQ(sotto_session_set_stops(session, nullptr, &error_), SOTTO_OK);
  EXPECT_EQ(generate(), initial);
}

}  // namespace
}  // namespace sotto
