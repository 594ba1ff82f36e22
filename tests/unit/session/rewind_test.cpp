// Rewinds streams to random lengths and tests that they continue as if nothing had happened, for every selection and
// every kind of overflow.
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

struct Way {
  Selection selection;
  Overflow overflow;
};

void choose(SamplerParams& params, Selection selection) {
  params.selection = selection;
  params.ignore_end = true;
  if (selection == Selection::kAdaptiveP) params.adaptive_target = 0.2f;
  params.mirostat_tau = 2;
  params.frequency_penalty = 0.5f;
  params.repetition_penalty = 1.2f;
  params.repetition_window = 16;
  params.top_p = 0.98f;
  params.top_p_decay = 0.97f;
  params.top_p_min = 0.3f;
}

class Rewinding : public testing::TestWithParam<std::tuple<Selection, Overflow>> {};

TEST_P(Rewinding, ReplaysTheSameTokensAndText) {
  const auto [selection, overflow] = GetParam();
  std::mt19937 random(7);
  size_t refused = 0, done = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    OpenedSession session(text_model(), [&, way = overflow](SessionParams& params) {
      params.overflow = way;
      params.context_tokens = way == Overflow::kStop ? 64 : 16 + seed % 3;
    });
    session.sample(seed, [&, how = selection](SamplerParams& params) { choose(params, how); });
    session.stop_at({"abcabcabca!", "ab!", "\xC3\xA9!"});
    const std::vector<int32_t> prompt = {1, 2, 3, 6};
    session.prefill(prompt);
    std::vector<int32_t> tokens;
    std::vector<std::string> texts;
    const size_t length = overflow == Overflow::kStop ? 55 : 150;
    const auto go_on = [&](size_t at) {
      ASSERT_EQ(session->next(nullptr), Status::kOk);
      const Piece& piece = session->piece();
      const std::string text(piece.text, piece.text_size);
      if (at == tokens.size()) {
        tokens.push_back(piece.token);
        texts.push_back(text);
      } else {
        ASSERT_EQ(piece.token, tokens[at]) << at;
        ASSERT_EQ(text, texts[at]) << at;
      }
    };
    for (size_t at = 0; at < length;) {
      const size_t steps = 1 + random() % 12;
      for (size_t i = 0; i < steps && at < length; ++i) go_on(at++);
      const size_t back = random() % std::min<size_t>(at + 1, 9);
      const uint64_t count = prompt.size() + at - back;
      const Status status = session->rewind(count, nullptr);
      if (status == Status::kOk) {
        at -= back;
        ++done;
      } else {
        ASSERT_EQ(status, Status::kInvalidState);
        ++refused;
      }
      ASSERT_EQ(session->token_count(), prompt.size() + at);
      if (random() % 8 == 0) break;  // some streams end early
    }
  }
  EXPECT_GT(done, 20u);
  EXPECT_EQ(refused == 0, overflow == Overflow::kStop);
}

INSTANTIATE_TEST_SUITE_P(Ways, Rewinding,
                         testing::Combine(testing::Values(Selection::kMultinomial, Selection::kGreedy,
                                                          Selection::kGumbel, Selection::kMirostat,
                                                          Selection::kMirostatV2, Selection::kAdaptiveP),
                                          testing::Values(Overflow::kStop, Overflow::kRing, Overflow::kShift)));

TEST(Rewinding, IntoACharacterWithholdsItsFirstBytes) {
  OpenedSession session(text_model());
  const int32_t order[] = {token_of("\xE2"), token_of("\x82"), token_of("\xAC")};
  session.sample(1, [&](SamplerParams& params) { params.forced_prefix = order; });
  session.prefill({1});
  const Generated euro = session.generate(3);
  EXPECT_EQ(euro.text, "\xE2\x82\xAC");
  for (uint64_t count = 3; count >= 1; --count) {
    ASSERT_EQ(session->rewind(count, nullptr), Status::kOk);
    EXPECT_EQ(session.generate(4 - count).text, "\xE2\x82\xAC");
  }
}

TEST(Rewinding, AcrossAnswersFindsTheEarlierAnswer) {
  OpenedSession session(text_model());
  StopParams limit;
  limit.max_tokens = 6;
  ASSERT_EQ(session->set_stops(limit, nullptr), Status::kOk);
  session.sample(1, [](SamplerParams& params) { params.ignore_end = true; });
  session.prefill({1, 2});
  const Generated first = session.generate(10);
  session.prefill({3, 3});
  const Generated second = session.generate(10);
  EXPECT_EQ(second.tokens.size(), 6u);
  ASSERT_EQ(session->rewind(5, nullptr), Status::kOk);
  const Generated rest = session.generate(10);
  EXPECT_EQ(rest.tokens, std::vector<int32_t>(first.tokens.begin() + 3, first.tokens.end()));
  EXPECT_EQ(rest.end, Status::kStopMaxTokens);
}

}  // namespace
}  // namespace sotto
