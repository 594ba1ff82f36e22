// Tests that settings out of range and conflicting pairs of settings are rejected by name before anything is evaluated.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/unit/search/search_fixture.h"

namespace sotto {
namespace {

class SearchChecks : public testing::Test {
 protected:
  SearchChecks()
      : bench_(10, {6, 8}), model_([](const Tokens&) -> std::vector<float> { throw std::runtime_error("evaluated"); }) {
    bench_.set_end_token(0);
    static constexpr int32_t kStopToken = 9;
    StopParams stops;
    stops.stop_tokens = {&kStopToken, 1};
    bench_.set_stops(stops);
  }

  void refuses(const char* name, const std::function<void(SearchParams&)>& change) {
    SearchParams params;
    change(params);
    EXPECT_NE(bench_.refusal(model_.view(), params).find(name), std::string::npos)
        << name << ": " << bench_.refusal(model_.view(), params);
  }

  SearchFixture bench_;
  FunctionModel model_;
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_F(SearchChecks, RejectsParametersOutOfRange) {
  refuses("mode", [](auto& p) { p.mode = static_cast<SearchMode>(4); });
  refuses("mode", [](auto& p) { p.mode = static_cast<SearchMode>(-1); });
  refuses("sequence_count", [](auto& p) { p.sequence_count = 7; });
  refuses("return_count", [](auto& p) { p.return_count = 7; });
  refuses("return_count", [](auto& p) { p.sequence_count = 3, p.return_count = 4; });
  refuses("max_tokens", [](auto& p) { p.max_tokens = 9; });
  for (const float value : {kNan, -10.5f, 11.0f}) {
    refuses("length_penalty", [&](auto& p) { p.length_penalty = value; });
  }
  refuses("length_norm", [](auto& p) { p.length_norm = static_cast<LengthNorm>(2); });
  refuses("early_stopping", [](auto& p) { p.early_stopping = static_cast<EarlyStopping>(3); });
  refuses("group_count", [](auto& p) { p.group_count = 0; });
  refuses("group_count", [](auto& p) { p.group_count = 4; });
  refuses("group_count", [](auto& p) { p.group_count = 65; });
  for (const float value : {kNan, -0.5f, 101.0f}) {
    refuses("diversity_penalty", [&](auto& p) { p.group_count = 2, p.diversity_penalty = value; });
  }
  refuses("rerank", [](auto& p) { p.rerank = static_cast<Rerank>(5); });
  for (const uint32_t k : {0u, 1u, 65u}) {
    refuses("contrastive_k", [&](auto& p) { p.contrastive_k = k; });
  }
  for (const float value : {kNan, -0.1f, 1.1f}) {
    refuses("contrastive_alpha", [&](auto& p) { p.contrastive_alpha = value; });
  }
}

TEST_F(SearchChecks, RejectsParametersThatExcludeEachOther) {
  refuses("diversity_penalty", [](auto& p) { p.diversity_penalty = 1; });
  for (const SearchMode mode : {SearchMode::kBeamSample, SearchMode::kSample}) {
    refuses("group_count", [&](auto& p) { p.mode = mode, p.group_count = 2; });
  }
  refuses("rerank", [](auto& p) { p.rerank = Rerank::kBest; });
  refuses("similarity", [](auto& p) {
    p.mode = SearchMode::kSample;
    p.rerank = Rerank::kCallback;
  });
  refuses("HIDDEN_HISTORY", [](auto& p) { p.mode = SearchMode::kContrastive; });
  model_.set_similarity([](const Tokens&) { return 0.0f; });
  refuses("contrastive_k", [](auto& p) {
    p.mode = SearchMode::kContrastive;
    p.contrastive_k = 7;
  });
  refuses("return_count", [](auto& p) {
    p.mode = SearchMode::kContrastive;
    p.return_count = 2;
  });
  SamplerParams sampler = plain_sampler();
  sampler.dola = DolaLayers::kLow;
  bench_.set_sampler(sampler);
  refuses("dola", [](auto&) {});
  sampler = plain_sampler();
  sampler.temperature = 1;
  sampler.watermark.scheme = WatermarkScheme::kGumbel;
  bench_.set_sampler(sampler);
  for (const SearchMode mode : {SearchMode::kBeam, SearchMode::kBeamSample}) {
    refuses("watermark", [&](auto& p) { p.mode = mode; });
  }
}

TEST_F(SearchChecks, RejectsInvalidPhrases) {
  const std::vector<int32_t> good = {1, 2}, out = {3, 10}, negative = {-1}, end = {4, 0}, stop = {9}, long_one(9, 1);
  const auto with = [](const std::vector<int32_t>& tokens, SearchParams& p) {
    static TokenList list;
    list = {tokens.data(), tokens.size()};
    p.phrases = {&list, 1};
  };
  refuses("phrases", [&](auto& p) { with({}, p); });
  refuses("phrases[0].tokens[1] is 10; it must be a token id from 0 to 9", [&](auto& p) { with(out, p); });
  refuses("phrases[0].tokens[0] is -1", [&](auto& p) { with(negative, p); });
  refuses("ends the text", [&](auto& p) { with(end, p); });
  refuses("ends the text", [&](auto& p) { with(stop, p); });
  refuses("max_tokens", [&](auto& p) { with(long_one, p); });
  refuses("phrases", [&](auto& p) { with(good, p), p.mode = SearchMode::kSample; });
  refuses("phrases", [&](auto& p) { with(good, p), p.group_count = 2; });
  const std::vector<TokenList> many(33, {good.data(), good.size()});
  refuses("phrase_count", [&](auto& p) { p.phrases = many; });
}

TEST_F(SearchChecks, RejectsSessionsWithoutTokensOrSequences) {
  bench_.input().token_count = 0;
  EXPECT_NE(bench_.refusal(model_.view(), {}, Status::kInvalidState).find("no tokens"), std::string::npos);
  SearchFixture none(10, {0, 0});
  EXPECT_NE(none.refusal(model_.view(), {}, Status::kInvalidState).find("sequence_count"), std::string::npos);
}

}  // namespace
}  // namespace sotto
