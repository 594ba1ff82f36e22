// Cancels calls at every point, and tests that the session then continues as if nothing had been cancelled.
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 6};

// Allows every token, and cancels the session at its `when`-th mask.
class Canceller : public AnyToken {
 public:
  Canceller(Session* session, int when) : session_(session), when_(when) {}

  Status mask(uint32_t sequence, TokenMask* mask) {
    if (calls_++ == when_) session_->cancel();
    return AnyToken::mask(sequence, mask);
  }

 private:
  Session* session_;
  int when_;
  int calls_ = 0;
};

TEST(Cancelling, InTheMiddleOfADraw) {
  for (const Overflow overflow : {Overflow::kStop, Overflow::kRing, Overflow::kShift}) {
    const auto shape = [&](SessionParams& params) {
      params.features = kFeatureGuide;
      params.overflow = overflow;
      if (overflow != Overflow::kStop) params.context_tokens = 16;
    };
    const auto prepare = [&](OpenedSession& session, OpenedSession& guide) {
      session.sample(4, [](SamplerParams& params) { params.ignore_end = true; });
      session.ban({"abca", "bcbcb", "aaa"});
      session.prefill(kPrompt);
      guide.prefill({4, 4});
      ASSERT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kOk);
    };
    OpenedSession plain(text_model(), shape), plain_guide(text_model(), shape);
    prepare(plain, plain_guide);
    const Generated expected = plain.generate(40);
    for (int when = 0; when < 45; ++when) {
      OpenedSession session(text_model(), shape), guide(text_model(), shape);
      prepare(session, guide);
      Canceller canceller(session.get(), when);
      ASSERT_EQ(session->set_constraint(TokenConstraint(&canceller), nullptr), Status::kOk);
      Generated got = session.generate(40);
      if (got.tokens.size() < 40) {
        ASSERT_EQ(got.end, Status::kStopCancelled);
        const Generated rest = session.generate(40 - got.tokens.size());
        got.tokens.insert(got.tokens.end(), rest.tokens.begin(), rest.tokens.end());
        got.text += rest.text;
      }
      ASSERT_EQ(got.tokens, expected.tokens) << when;
      ASSERT_EQ(got.text, expected.text) << when;
    }
  }
}

TEST(Cancelling, StopsBetweenAnyTwoTokens) {
  for (const Overflow overflow : {Overflow::kStop, Overflow::kRing, Overflow::kShift}) {
    const auto shape = [&](SessionParams& params) {
      params.overflow = overflow;
      if (overflow != Overflow::kStop) params.context_tokens = 16;
    };
    OpenedSession plain(text_model(), shape), session(text_model(), shape);
    for (OpenedSession* each : {&plain, &session}) {
      each->sample(6, [](SamplerParams& params) { params.ignore_end = true; });
      each->ban({"abca", "bcbcb", "aaa"});
      each->prefill(kPrompt);
    }
    const Generated expected = plain.generate(45);
    std::vector<int32_t> tokens;
    std::string text;
    while (tokens.size() < 45) {
      session->cancel();
      ASSERT_EQ(session->next(nullptr), Status::kStopCancelled);
      EXPECT_EQ(session->piece().token, -1);
      text.append(session->piece().text, session->piece().text_size);
      const Generated one = session.generate(1);
      ASSERT_EQ(one.tokens.size(), 1u);
      tokens.push_back(one.tokens[0]);
      text += one.text;
    }
    EXPECT_EQ(tokens, expected.tokens);
    EXPECT_EQ(text, expected.text);
  }
}

}  // namespace
}  // namespace sotto
