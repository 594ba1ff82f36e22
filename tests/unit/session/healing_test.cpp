// Compares token healing with a search over the whole vocabulary.
#include <set>

#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

bool begins_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

std::set<int32_t> allowed_by_definition(const std::string& due) {
  std::set<int32_t> allowed;
  for (size_t i = 0; i < vocabulary().size(); ++i) {
    const std::string& bytes = vocabulary()[i];
    if (bytes.empty()) continue;
    if (begins_with(bytes, due) || begins_with(due, bytes)) allowed.insert(static_cast<int32_t>(i));
  }
  return allowed;
}

TEST(Healing, AllowsTokensThatContinueTheBytes) {
  const TokenizerView& tokenizer = *text_model().tokenizer();
  for (size_t first = 1; first < vocabulary().size(); ++first) {
    for (size_t second = 1; second < vocabulary().size(); ++second) {
      Healing healing;
      const int32_t tokens[] = {static_cast<int32_t>(first), static_cast<int32_t>(second)};
      healing.begin(tokenizer, tokens, 3);
      const std::string removed = bytes_of({tokens[0], tokens[1]});
      ASSERT_EQ(std::string(healing.bytes().begin(), healing.bytes().end()), removed);
      for (size_t left = removed.size(); left > 0; --left) {
        const std::string due = removed.substr(removed.size() - left);
        uint64_t words[1] = {};
        healing.allow(tokenizer, left, words);
        std::set<int32_t> allowed;
        for (int32_t i = 0; i < 64; ++i) {
          if ((words[0] >> i & 1) != 0) allowed.insert(i);
        }
        ASSERT_EQ(allowed, allowed_by_definition(due)) << due;
      }
    }
  }
}

TEST(Healing, RemovesTokensThatOneTokenContinues) {
  const TokenizerView& tokenizer = *text_model().tokenizer();
  const auto count = [&](std::vector<std::string> texts) {
    std::vector<int32_t> tokens;
    for (const std::string& text : texts) tokens.push_back(token_of(text));
    return Healing::count_unfinished(tokenizer, tokens);
  };
  EXPECT_EQ(count({"c", "a"}), 1u);     // ab
  EXPECT_EQ(count({"a", "b"}), 2u);     // abc
  EXPECT_EQ(count({"b", "c"}), 2u);     // bca
  EXPECT_EQ(count({"a", "\xC3"}), 2u);  // a\xC3\xA9
  EXPECT_EQ(count({"abc"}), 0u);
  EXPECT_EQ(count({"cb"}), 0u);
  EXPECT_EQ(count({}), 0u);
  EXPECT_EQ(Healing::count_unfinished(tokenizer, std::vector<int32_t>{kEndToken}), 0u);
}

TEST(Healing, TextContinuesFromThePrompt) {
  std::mt19937 random(2);
  size_t healed = 0, rewritten = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    OpenedSession session(text_model());
    session.sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
    std::vector<int32_t> prompt(3 + random() % 5);
    for (int32_t& token : prompt) token = 1 + static_cast<int32_t>(random() % 3);  // a, b, c
    session.prefill(prompt);
    ASSERT_EQ(session->heal(nullptr), Status::kOk);
    const uint64_t kept = session->token_count();
    healed += kept < prompt.size();
    ASSERT_EQ(session->heal(nullptr), Status::kOk);  // a second call changes nothing
    ASSERT_EQ(session->token_count(), kept);
    const Generated generated = session.generate(12);
    std::vector<int32_t> stream(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(kept));
    stream.insert(stream.end(), generated.tokens.begin(), generated.tokens.end());
    const std::string before = bytes_of(prompt), after = bytes_of(stream);
    ASSERT_TRUE(begins_with(after, before));
    rewritten += generated.tokens[0] != prompt[kept];
    // The expected text is the whole characters of the new text.
    std::string expected(Utf8Stream::output_bound(after.size()), '\0');
    Utf8Stream characters;
    const std::string fresh = after.substr(before.size());
    expected.resize(characters.append(fresh, expected.data()));
    EXPECT_EQ(generated.text, expected);
    // Rewinding starts healing again.
    for (uint64_t count = kept; count < session->token_count(); count += 2) {
      ASSERT_EQ(session->rewind(count, nullptr), Status::kOk);
      const Generated again = session.generate(12 - (count - kept));
      EXPECT_TRUE(std::equal(again.tokens.begin(), again.tokens.end(),
                             generated.tokens.begin() + static_cast<ptrdiff_t>(count - kept)));
      EXPECT_EQ(again.text, generated.text.substr(generated.text.size() - again.text.size()));
    }
  }
  EXPECT_GT(healed, 250u);
  EXPECT_GT(rewritten, 100u);
}

TEST(Healing, RequiresPromptAndTokenizer) {
  OpenedSession session(text_model());
  EXPECT_EQ(session->heal(nullptr), Status::kInvalidState);
  session.prefill({1, 2});
  session.generate(1);
  EXPECT_EQ(session->heal(nullptr), Status::kInvalidState);
  session.prefill({});
  EXPECT_EQ(session->heal(nullptr), Status::kInvalidState);
  session.prefill({1});
  EXPECT_EQ(session->heal(nullptr), Status::kOk);
  session->reset();
  session.prefill({1});  // no token would be left to continue from
  EXPECT_EQ(session->heal(nullptr), Status::kOk);
  EXPECT_EQ(session->token_count(), 1u);
  OpenedSession mute(model_without_text());
  mute.prefill({1, 2});
  EXPECT_EQ(mute->heal(nullptr), Status::kTokenizerMissing);
}

}  // namespace
}  // namespace sotto
