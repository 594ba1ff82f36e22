// Tests a constraint on a session: tokens that it forbids never occur, and it follows every rewind.
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3};

// (ab | a bc)* c, then nothing. The end-of-text token may also follow each round.
Automaton rounds() {
  const int32_t a = token_of("a"), b = token_of("b"), c = token_of("c"), ab = token_of("ab"), bc = token_of("bc");
  return Automaton({{{ab, 0}, {a, 1}, {c, 2}}, {{b, 0}, {bc, 0}}, {}}, {0, 2});
}

TEST(Constraint, LimitsTokensAndEndsWhenComplete) {
  std::map<Status, int> ends;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Automaton automaton = rounds();
    OpenedSession session(text_model());
    session.sample(seed);
    session.prefill(kPrompt);
    ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
    const Generated some = session.generate(60);
    ++ends[some.end];
    EXPECT_EQ(automaton.accepted(), some.tokens.size());
    Automaton again = rounds();
    for (const int32_t token : some.tokens) {
      ASSERT_EQ(again.accept_token(0, token), Status::kOk);
    }
    EXPECT_EQ(again.state(), automaton.state());
    EXPECT_EQ(again.state(), some.end == Status::kStopGrammar ? 2 : 0);
  }
  EXPECT_GT(ends[Status::kStopGrammar], 20);
  EXPECT_GT(ends[Status::kStopEndOfText], 5);
  EXPECT_EQ(ends[Status::kStopGrammar] + ends[Status::kStopEndOfText], 200);
}

TEST(Constraint, FollowsEveryRewind) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Automaton automaton = rounds();
    OpenedSession session(text_model());
    session.sample(seed);
    session.prefill(kPrompt);
    ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
    const Generated all = session.generate(60);
    for (uint64_t kept = kPrompt.size() + all.tokens.size(); kept-- > kPrompt.size();) {
      ASSERT_EQ(session->rewind(kept, nullptr), Status::kOk);
      EXPECT_EQ(automaton.accepted(), kept - kPrompt.size());
      const Generated again = session.generate(60);
      EXPECT_EQ(kept - kPrompt.size() + again.tokens.size(), all.tokens.size());
      EXPECT_EQ(again.end, all.end);
    }
    ASSERT_EQ(session->rewind(1, nullptr), Status::kOk);  // into the prompt, where the constraint has its initial state
    EXPECT_EQ(automaton.accepted(), 0u);
    session.generate(3);
    session->reset();
    EXPECT_EQ(automaton.accepted(), 0u);
  }
}

// If one token is left, only its logit is computed. If another feature needs all logits, they are complete.
TEST(Constraint, RestrictedLogitsDoNotChangeTheText) {
  const int32_t a = token_of("a"), b = token_of("b"), c = token_of("c");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Automaton automaton({{{a, 1}}, {{b, 2}, {c, 2}}, {{c, 0}}}, {});
    Automaton same({{{a, 1}}, {{b, 2}, {c, 2}}, {{c, 0}}}, {});
    OpenedSession session(text_model()), asking(text_model());
    session.sample(seed);
    asking.sample(seed, [](SamplerParams& params) { params.log_probabilities = true; });
    session.prefill(kPrompt);
    asking.prefill(kPrompt);
    ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
    ASSERT_EQ(asking->set_constraint(same.get(), nullptr), Status::kOk);
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(session.generate(1).tokens, asking.generate(1).tokens);
      if (i % 4 == 0) {
        EXPECT_EQ(session.logits(), asking.logits());
      }
      if (i % 7 == 6) {
        ASSERT_EQ(session->rewind(session->token_count() - 2, nullptr), Status::kOk);
        ASSERT_EQ(asking->rewind(asking->token_count() - 2, nullptr), Status::kOk);
      }
    }
  }
}

TEST(Constraint, TokensItCannotRollBackStay) {
  const int32_t a = token_of("a"), b = token_of("b");
  Automaton automaton({{{a, 0}, {b, 0}}}, {});
  automaton.memory = 2;
  OpenedSession session(text_model());
  session.sample(11);
  session.prefill(kPrompt);
  ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
  ASSERT_EQ(session.generate(4).tokens.size(), 4u);
  EXPECT_EQ(session->rewind(kPrompt.size() + 1, nullptr), Status::kInvalidState);
  EXPECT_EQ(session->token_count(), kPrompt.size() + 4);
  EXPECT_EQ(automaton.accepted(), 4u);
  EXPECT_EQ(session->rewind(kPrompt.size() + 2, nullptr), Status::kOk);
  EXPECT_EQ(automaton.accepted(), 2u);
  session.generate(2);
  EXPECT_EQ(session->rewind(kPrompt.size(), nullptr), Status::kOk);  // all tokens, however many there are
  EXPECT_EQ(automaton.accepted(), 0u);
  session.generate(4);
  session->reset();
  EXPECT_EQ(automaton.accepted(), 0u);
  session.prefill(kPrompt);
  EXPECT_EQ(session->next(nullptr), Status::kOk);
}

TEST(Constraint, CanBeRemovedIfBufferedTokensStay) {
  const int32_t a = token_of("a"), b = token_of("b");
  Automaton automaton({{{a, 0}, {b, 0}}}, {});
  OpenedSession session(text_model());
  session.sample(11);
  session.ban({"aaaaab", "bbbbba"});
  session.prefill(kPrompt);
  ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
  const Generated some = session.generate(3);
  ASSERT_EQ(some.tokens.size(), 3u);
  ASSERT_GT(session->token_count(), kPrompt.size() + 3);  // further tokens are buffered
  automaton.memory = 0;
  EXPECT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kInvalidState);
  const uint64_t held = session->token_count();
  EXPECT_EQ(session->set_constraint({}, nullptr), Status::kOk);
  EXPECT_EQ(session->token_count(), held);
  EXPECT_EQ(session->next(nullptr), Status::kOk);
}

TEST(Constraint, PromptsThatDoNotFitKeepBufferedTokens) {
  constexpr uint32_t kContextTokens = 32;
  const int32_t a = token_of("a"), b = token_of("b");
  Automaton automaton({{{a, 0}, {b, 0}}}, {}), same({{{a, 0}, {b, 0}}}, {});
  const auto shape = [](SessionParams& params) { params.context_tokens = kContextTokens; };
  OpenedSession session(text_model(), shape), other(text_model(), shape);
  for (const auto& [opened, constraint] : {std::pair(&session, &automaton), std::pair(&other, &same)}) {
    opened->sample(11);
    opened->ban({"aaaaab", "bbbbba"});
    opened->prefill(kPrompt);
    ASSERT_EQ((*opened)->set_constraint(constraint->get(), nullptr), Status::kOk);
    ASSERT_EQ(opened->generate(3).tokens.size(), 3u);
    constraint->memory = 0;
  }
  const uint64_t emitted = kPrompt.size() + 3;
  ASSERT_GT(session->token_count(), emitted);  // further tokens are buffered
  const std::vector<int32_t> prompt(kContextTokens - emitted, a);
  ASSERT_EQ(session->prefill(prompt, nullptr), Status::kPromptTooLong);
  const Generated all = other.generate(60), rest = session.generate(60);
  EXPECT_GT(all.tokens.size(), 3u);
  EXPECT_EQ(rest.tokens, all.tokens);
  EXPECT_EQ(rest.text, all.text);
}

TEST(Constraint, WorksWithBannedStringsAndRings) {
  std::mt19937 random(4);
  const int32_t a = token_of("a"), b = token_of("b"), ab = token_of("ab"), bc = token_of("bc");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Automaton automaton({{{ab, 0}, {a, 1}, {bc, 0}}, {{b, 0}, {a, 1}}}, {});
    OpenedSession session(text_model(), [&](SessionParams& params) {
      params.context_tokens = 16;
      params.overflow = seed % 2 == 0 ? Overflow::kRing : Overflow::kShift;
    });
    if (seed % 3 == 0) automaton.memory = 1 + seed % 4;
    session.sample(seed);
    session.prefill(kPrompt);
    ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
    std::vector<std::string> bans;
    for (int i = 0; i < 2; ++i) {
      std::string ban;
      while (ban.size() < 2 + random() % 6) ban += "abc"[random() % 3];
      bans.push_back(ban);
    }
    session.ban(bans);
    const Generated some = session.generate(60);
    for (const std::string& ban : bans) ASSERT_EQ(some.text.find(ban), std::string::npos);
    Automaton again({{{ab, 0}, {a, 1}, {bc, 0}}, {{b, 0}, {a, 1}}}, {});
    for (const int32_t token : some.tokens) {
      ASSERT_EQ(again.accept_token(0, token), Status::kOk);
    }
    EXPECT_TRUE(some.end == Status::kOk || some.end == Status::kStopBanned);
  }
}

TEST(Constraint, WorksWithHealing) {
  const int32_t ab = token_of("ab"), abc = token_of("abc"), cb = token_of("cb");
  OpenedSession session(text_model());
  session.sample(1);
  session.prefill({3, 1});  // "c", "a"
  ASSERT_EQ(session->heal(nullptr), Status::kOk);
  const int32_t bc = token_of("bc");
  Automaton both({{{bc, 1}, {cb, 1}}, {{ab, 1}}}, {});  // of the text; the "a" belongs to the prompt
  ASSERT_EQ(session->set_constraint(both.get(), nullptr), Status::kOk);
  const Generated some = session.generate(3);
  EXPECT_EQ(some.tokens, (std::vector<int32_t>{abc, ab, ab}));
  EXPECT_EQ(some.text, "bcabab");
  EXPECT_EQ(both.accepted(), 3u);
  ASSERT_EQ(session->rewind(2, nullptr), Status::kOk);
  EXPECT_EQ(both.accepted(), 1u);
  ASSERT_EQ(session->rewind(1, nullptr), Status::kOk);
  EXPECT_EQ(both.accepted(), 0u);
  Automaton later({{{cb, 0}}}, {});  // no token has "acb", so "a" is a token of its own
  ASSERT_EQ(session->set_constraint(later.get(), nullptr), Status::kOk);
  EXPECT_EQ(session.generate(2).tokens, (std::vector<int32_t>{token_of("a"), cb}));
  EXPECT_EQ(later.accepted(), 1u);
}

}  // namespace
}  // namespace sotto
