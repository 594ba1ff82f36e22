// Tests the values that are reported with each token.
#include <cmath>

#include "runtime/text/token_history.h"
#include "tests/unit/session/speculation_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3};

TEST(Pieces, ReportBytesProbabilitiesAndAlternatives) {
  for (const bool held : {false, true}) {
    OpenedSession session(text_model()), watched(text_model());
    const auto warm = [](SamplerParams& params) {
      params.temperature = 1.7f;
      params.ignore_end = true;
    };
    session.sample(5, [&](SamplerParams& params) {
      warm(params);
      params.log_probabilities = true;
      params.alternative_count = 5;
    });
    watched.sample(5, warm);
    if (held) session.ban({"aaaaaaaaaaaaaab", "bbbbbbbbbbbbbbba", "cacacacacacaca"});
    session.prefill(kPrompt);
    watched.prefill(kPrompt);
    for (int i = 0; i < 25; ++i) {
      const std::vector<float> logits = watched.logits();
      ASSERT_EQ(watched->next(nullptr), Status::kOk);
      EXPECT_TRUE(std::isnan(watched->piece().log_probability));
      EXPECT_TRUE(std::isnan(watched->piece().sampled_log_probability));
      EXPECT_EQ(watched->piece().alternative_count, 0u);
      ASSERT_EQ(session->next(nullptr), Status::kOk);
      const Piece& piece = session->piece();
      ASSERT_EQ(piece.token, watched->piece().token);
      EXPECT_EQ(std::string(piece.bytes, piece.byte_count), vocabulary()[static_cast<size_t>(piece.token)]);
      double sum = 0, warm_sum = 0;
      for (const float logit : logits) sum += std::exp(double{logit});
      for (size_t id = 1; id < logits.size(); ++id) warm_sum += std::exp(double{logits[id]} / 1.7);
      const auto ln_p = [&](int32_t token) { return double{logits[static_cast<size_t>(token)]} - std::log(sum); };
      EXPECT_NEAR(double{piece.log_probability}, ln_p(piece.token), 1e-6);
      EXPECT_NEAR(double{piece.sampled_log_probability},
                  double{logits[static_cast<size_t>(piece.token)]} / 1.7 - std::log(warm_sum), 1e-5);
      ASSERT_EQ(piece.alternative_count, 5u);
      std::vector<int32_t> order(logits.size());
      for (size_t id = 0; id < order.size(); ++id) order[id] = static_cast<int32_t>(id);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
      });
      for (size_t k = 0; k < 5; ++k) {
        EXPECT_EQ(piece.alternatives[k].token, order[k]);
        EXPECT_NEAR(double{piece.alternatives[k].log_probability}, ln_p(order[k]), 1e-6);
      }
      EXPECT_GT(piece.elapsed_ns, 0u);
    }
  }
}

TEST(Pieces, ReportStatistics) {
  OpenedSession session(text_model()), watched(text_model());
  const auto adjust = [](SamplerParams& params) {
    params.top_k = 4;
    params.ignore_end = true;
  };
  session.sample(5, [&](SamplerParams& params) {
    adjust(params);
    params.statistics = true;
  });
  watched.sample(5, adjust);
  session.prefill(kPrompt);
  watched.prefill(kPrompt);
  std::vector<int32_t> tokens = kPrompt;
  for (int i = 0; i < 25; ++i) {
    const std::vector<float> logits = watched.logits();
    ASSERT_EQ(watched->next(nullptr), Status::kOk);
    EXPECT_TRUE(std::isnan(watched->piece().entropy));
    EXPECT_TRUE(std::isnan(watched->piece().effective_vocabulary));
    EXPECT_TRUE(std::isnan(watched->piece().repetitiveness));
    EXPECT_EQ(watched->piece().kept_count, 0u);
    ASSERT_EQ(session->next(nullptr), Status::kOk);
    const Piece& piece = session->piece();
    ASSERT_EQ(piece.token, watched->piece().token);
    double sum = 0, entropy = 0;
    for (const float logit : logits) sum += std::exp(double{logit});
    for (const float logit : logits) entropy -= std::exp(double{logit}) / sum * (double{logit} - std::log(sum));
    EXPECT_NEAR(double{piece.entropy}, entropy, 1e-5);
    EXPECT_NEAR(double{piece.effective_vocabulary}, std::exp(entropy), 1e-4);
    EXPECT_EQ(piece.kept_count, 4u);
    tokens.push_back(piece.token);
    EXPECT_EQ(piece.repetitiveness, repetitiveness(TokenHistory(tokens, {}), 64));
  }
  EXPECT_TRUE(std::isnan(session->piece().log_probability));
}

// Counting the kept tokens needs the full set of tokens of a draw, but must not change the token that is drawn.
TEST(Pieces, StatisticsDoNotChangeTheTokens) {
  for (const NamedSampler& sampler : every_sampler()) {
    const auto adjust = [](SessionParams& params) { params.features = kFeatureDola; };
    OpenedSession session(text_model(), adjust), plain(text_model(), adjust);
    session.sample(9, [&](SamplerParams& params) {
      sampler.adjust(params);
      params.statistics = true;
    });
    plain.sample(9, sampler.adjust);
    session.prefill(kPrompt);
    plain.prefill(kPrompt);
    for (int i = 0; i < 20; ++i) {
      const Status status = plain->next(nullptr);
      ASSERT_EQ(session->next(nullptr), status) << sampler.name;
      if (status != Status::kOk) break;
      ASSERT_EQ(session->piece().token, plain->piece().token) << sampler.name;
      ASSERT_GE(session->piece().kept_count, 1u) << sampler.name;
      ASSERT_LE(session->piece().kept_count, vocabulary().size()) << sampler.name;
    }
  }
}

TEST(SessionSize, UnusedFeaturesTakeNoMemory) {
  const auto size_with = [](auto change) {
    SessionParams params;
    change(params);
    size_t size = 0;
    EXPECT_EQ(Session::memory_size(text_model(), params, &size, nullptr), Status::kOk);
    return size;
  };
  const size_t plain = size_with([](SessionParams&) {});
  const size_t row = align_up(vocabulary().size() * sizeof(float), kMemoryAlignment);
  EXPECT_EQ(size_with([](SessionParams& p) { p.features = kFeatureGuide; }), plain + row);
  EXPECT_EQ(size_with([](SessionParams& p) { p.list_bytes = 0; }), plain - 3 * 16384);
  EXPECT_GT(size_with([](SessionParams& p) { p.features = kFeatureDola; }), plain + row);
}

}  // namespace
}  // namespace sotto
