// Tests that banned strings never occur, in combination with all other features. Tests also that they change nothing if
// they would not have occurred.
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 1, 2};

void endless(SamplerParams& params) { params.ignore_end = true; }

TEST(BannedStrings, NeverAppear) {
  std::mt19937 random(3);
  size_t differing = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto overflow = static_cast<Overflow>(seed % 3);
    const auto adjust = [&](SessionParams& params) {
      params.overflow = overflow;
      if (overflow != Overflow::kStop) params.context_tokens = 16;
    };
    OpenedSession session(text_model(), adjust), free(text_model(), adjust);
    const float temperature = seed % 2 == 0 ? 1.0f : 3.0f;
    for (OpenedSession* each : {&session, &free}) {
      each->sample(seed, [&](SamplerParams& params) {
        endless(params);
        params.temperature = temperature;
      });
      each->prefill(kPrompt);
    }
    const auto strings = random_strings(random, 1 + random() % 4, 1 + random() % 12);
    session.ban(strings);
    const Generated with = session.generate(45), without = free.generate(45);
    EXPECT_TRUE(with.end == Status::kOk || with.end == Status::kStopBanned);
    const std::string further = without.text + free.generate(40).text;  // text that was buffered
    bool came = false;
    for (const std::string& string : strings) {
      ASSERT_EQ(with.text.find(string), std::string::npos) << string << " in " << with.text;
      came |= further.find(string) != std::string::npos;
    }
    differing += came ? 1 : 0;
    EXPECT_TRUE(came || with.tokens == without.tokens);
  }
  EXPECT_GT(differing, 100u);
  EXPECT_LT(differing, 390u);
}

// At the beginning of the banned string, the other tokens are drawn in proportion to their probabilities.
TEST(BannedStrings, KeepOtherTextsInProportion) {
  OpenedSession session(text_model());
  session.ban({"abc"});
  session.sample(0, endless);
  session.prefill(kPrompt);
  const std::vector<float> logits = session.logits();
  std::vector<double> counts(logits.size());
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    session.sample(seed, endless);
    ASSERT_EQ(session->rewind(kPrompt.size(), nullptr), Status::kOk);
    ASSERT_EQ(session->next(nullptr), Status::kOk);
    ++counts[static_cast<size_t>(session->piece().token)];
  }
  EXPECT_EQ(counts[static_cast<size_t>(token_of("abc"))], 0);
  // Tokens that may begin the banned string are sometimes rejected because of later tokens. All others gain equally.
  std::vector<size_t> others;
  double sum = 0, drawn = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    const std::string& bytes = vocabulary()[i];
    if (bytes.back() == 'a' || bytes == "ab" || bytes == "abc") continue;
    others.push_back(i);
    sum += std::exp(static_cast<double>(logits[i]));
    drawn += counts[i];
  }
  double chi = 0;
  for (const size_t i : others) {
    const double expected = std::exp(static_cast<double>(logits[i])) / sum * drawn;
    chi += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_EQ(others.size(), 11u);
  EXPECT_LT(chi, 36);  // with 10 degrees of freedom, p = 1e-4
}

TEST(BannedStrings, RejectTheTokenInWhichTheyBegin) {
  size_t tried = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    OpenedSession session(text_model());
    session.sample(seed, endless);
    session.prefill(kPrompt);
    const Generated free = session.generate(12);
    const size_t begin = vocabulary()[static_cast<size_t>(free.tokens[0])].size();
    const std::string whole = bytes_of(free.tokens);
    const std::string banned = whole.substr(begin, 6);  // the string begins with the second token
    if (whole != free.text || whole.find(banned) != begin || find_invalid_utf8(banned) != 6) continue;
    ++tried;
    ASSERT_EQ(session->rewind(kPrompt.size(), nullptr), Status::kOk);
    session.ban({banned});
    const Generated with = session.generate(12);
    EXPECT_EQ(with.tokens[0], free.tokens[0]);
    EXPECT_NE(with.tokens[1], free.tokens[1]);
    EXPECT_EQ(with.text.find(banned), std::string::npos);
  }
  EXPECT_GE(tried, 5u);
}

TEST(BannedStrings, EndTheTextIfNothingIsLeft) {
  const int32_t a = token_of("a"), b = token_of("b");
  Automaton endless_ab({{{a, 0}, {b, 0}}}, {});
  OpenedSession session(text_model());
  session.sample(0);
  session.prefill(kPrompt);
  ASSERT_EQ(session->set_constraint(endless_ab.get(), nullptr), Status::kOk);
  session.ban({"a", "b"});
  const Generated none = session.generate(30);
  EXPECT_EQ(none.end, Status::kStopBanned);
  EXPECT_EQ(none.text, "");
  EXPECT_EQ(session->token_count(), kPrompt.size());
  session.ban({"aa", "ab", "ba", "bb"});
  const Generated one = session.generate(30);
  EXPECT_EQ(one.end, Status::kStopBanned);
  EXPECT_LE(one.text.size(), 1u);
  session->reset();
  session.prefill(kPrompt);
  session.ban({"aa", "bb"});
  const Generated alternating = session.generate(30);
  EXPECT_EQ(alternating.end, Status::kOk);
  EXPECT_EQ(alternating.tokens.size(), 30u);
  EXPECT_EQ(alternating.text.find("aa"), std::string::npos);
  EXPECT_EQ(alternating.text.find("bb"), std::string::npos);
}

TEST(HardBans, EndTheTextIfTheyLeaveNothing) {
  const std::vector<int32_t> allowed = {token_of("a"), token_of("b")};
  const std::vector<int32_t> word = {token_of("a"), token_of("a")}, other_word = {token_of("a"), token_of("b")};
  const TokenList words[] = {{word.data(), 2}, {other_word.data(), 2}};
  OpenedSession session(text_model());
  session.prefill(kPrompt);
  session.sample(0, [&](SamplerParams& params) {
    params.allowed_tokens = allowed;
    params.suppressed_tokens = allowed;
  });
  const Generated none = session.generate(30);
  EXPECT_EQ(none.end, Status::kStopBanned);
  EXPECT_TRUE(none.tokens.empty());
  session->reset();
  session.prefill(kPrompt);
  session.sample(0, [&](SamplerParams& params) {
    params.allowed_tokens = allowed;
    params.no_repeat_ngram = 1;  // a soft ban
    params.bad_words = words;
  });
  const Generated some = session.generate(300);
  EXPECT_EQ(some.end, Status::kStopBanned);
  ASSERT_FALSE(some.tokens.empty());
  EXPECT_EQ(some.tokens.back(), allowed[0]);
  for (size_t i = 0; i + 1 < some.tokens.size(); ++i) EXPECT_EQ(some.tokens[i], allowed[1]);
}

TEST(BannedStrings, ATextIsTheSameAfterRewindingAndResetting) {
  std::mt19937 random(8);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    OpenedSession session(text_model());
    session.sample(seed, endless);
    session.ban(random_strings(random, 2, 6));
    session.prefill(kPrompt);
    const Generated all = session.generate(40);
    for (size_t kept = 0; kept <= all.tokens.size(); kept += 1 + random() % 5) {
      const uint64_t count = kPrompt.size() + kept;
      if (count > session->token_count()) continue;
      ASSERT_EQ(session->rewind(count, nullptr), Status::kOk);
      const Generated again = session.generate(all.tokens.size() - kept);
      const std::vector<int32_t> rest(all.tokens.begin() + static_cast<ptrdiff_t>(kept), all.tokens.end());
      ASSERT_EQ(again.tokens, rest) << seed << " " << kept;
    }
  }
}

TEST(BannedStrings, WorkWithStopStrings) {
  std::mt19937 random(9);
  size_t stopped = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    OpenedSession session(text_model());
    session.sample(seed, endless);
    const auto stops = random_strings(random, 2, 5);
    const auto bans = random_strings(random, 2, 5);
    const auto stop_views = views(stops);
    const auto ban_views = views(bans);
    StopParams params;
    params.stop_strings = stop_views;
    params.banned_strings = ban_views;
    params.include_stop_text = seed % 2 == 0;
    ASSERT_EQ(session->set_stops(params, nullptr), Status::kOk);
    session.prefill(kPrompt);
    const Generated some = session.generate(40);
    stopped += some.end == Status::kStopString;
    for (const std::string& ban : bans) EXPECT_EQ(some.text.find(ban), std::string::npos);
    for (const std::string& stop : stops) {
      const size_t at = some.text.find(stop);
      if (at == std::string::npos) continue;
      EXPECT_TRUE(params.include_stop_text);
      EXPECT_EQ(at + stop.size(), some.text.size());
    }
  }
  EXPECT_GT(stopped, 40u);
}

TEST(BannedStrings, PrefillRollsBackBufferedTokens) {
  OpenedSession session(text_model()), fresh(text_model());
  session.sample(4, endless);
  fresh.sample(4, endless);
  session.ban({"aaaaaaaaaaaaaaaaaaab", "bcbcbcbcbcbcbcbcbcbc", "cacacacacacacacacaca"});
  session.prefill(kPrompt);
  const Generated some = session.generate(5);
  std::vector<int32_t> stream = kPrompt;
  stream.insert(stream.end(), some.tokens.begin(), some.tokens.end());
  session.prefill({4});
  EXPECT_EQ(session->token_count(), stream.size() + 1);
  stream.push_back(4);
  fresh.prefill(stream);
  EXPECT_EQ(session.logits(), fresh.logits());
}

}  // namespace
}  // namespace sotto
