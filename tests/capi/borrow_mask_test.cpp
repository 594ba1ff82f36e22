// Tests that a borrowed mask equals the copied mask after every token of a text.
#include <random>

#include "tests/capi/open_grammar.h"

namespace sotto {
namespace {

constexpr size_t kTokens = 400;
constexpr sotto_token kEndToken = kTokens - 1;
constexpr uint32_t kSequences = 3;

std::vector<std::string> tokens() {
  const std::string letters = "ab1,:{}[]\" \\n-.e\x80\xC3\xA9";
  std::vector<std::string> tokens;
  std::mt19937 random(1);
  for (const char letter : letters) tokens.emplace_back(1, letter);
  while (tokens.size() < kTokens) {
    std::string token;
    for (uint32_t i = 0; i < 2 + random() % 4; ++i) token += letters[random() % letters.size()];
    tokens.push_back(token);
  }
  tokens[kEndToken].clear();
  return tokens;
}

// Two matchers that follow the same text. One borrows masks, and the other copies them.
class Pair {
 public:
  Pair(const OpenGrammar& grammar, const OpenVocabulary& vocabulary, uint32_t mask_bytes)
      : shown_(grammar, &vocabulary, [=](auto& p) { limit(p, mask_bytes); }),
        copied_(grammar, &vocabulary, [](auto& p) { limit(p, 0); }) {}

  // Returns the allowed tokens, or none at a dead end.
  std::vector<sotto_token> compare(uint32_t sequence) {
    const uint64_t* words = nullptr;
    std::vector<uint64_t> copy((kTokens + 63) / 64);
    const sotto_status status = sotto_matcher_borrow_mask(shown_.get(), sequence, &words);
    EXPECT_EQ(status, sotto_matcher_mask(copied_.get(), sequence, copy.data(), copy.size()));
    std::vector<sotto_token> allowed;
    if (status != SOTTO_OK) {
      EXPECT_EQ(words, nullptr);
      return allowed;
    }
    EXPECT_EQ(std::vector<uint64_t>(words, words + copy.size()), copy);
    for (size_t t = 0; t < kTokens; ++t) {
      if ((copy[t / 64] >> t % 64 & 1) != 0) allowed.push_back(static_cast<sotto_token>(t));
    }
    std::vector<uint64_t> own(copy.size());
    EXPECT_EQ(sotto_matcher_mask(shown_.get(), sequence, own.data(), own.size()), SOTTO_OK);
    EXPECT_EQ(own, copy);
    return allowed;
  }

  template <typename Call>
  void both(Call call) {
    EXPECT_EQ(call(shown_.get()), call(copied_.get()));
  }

 private:
  static void limit(sotto_matcher_params& params, uint32_t mask_bytes) {
    params.sequence_count = kSequences;
    params.rollback_count = 8;
    params.mask_bytes = mask_bytes;
  }

  OpenMatcher shown_;
  OpenMatcher copied_;
};

void walk(Pair& pair, uint32_t seed) {
  std::mt19937 random(seed);
  for (int step = 0; step < 1500; ++step) {
    const auto sequence = static_cast<uint32_t>(random() % kSequences);
    const auto other = static_cast<uint32_t>(random() % kSequences);
    const auto allowed = pair.compare(sequence);
    if (allowed.empty() || random() % 40 == 0) {
      pair.both([&](sotto_matcher* m) { return sotto_matcher_reset(m, sequence); });
    } else if (const uint32_t kind = random() % 10; kind == 0) {
      pair.both([&](sotto_matcher* m) { return sotto_matcher_fork(m, sequence, other); });
    } else if (kind == 1) {
      const auto count = random() % 4;
      pair.both([&](sotto_matcher* m) { return sotto_matcher_rewind(m, count); });
    } else {
      const sotto_token token = allowed[random() % allowed.size()];
      pair.both([&](sotto_matcher* m) { return sotto_matcher_accept_token(m, sequence, token); });
    }
  }
}

TEST(BorrowMask, IsTheMaskThatIsCopied) {
  const OpenVocabulary vocabulary(tokens(), {}, {kEndToken});
  const OpenGrammar grammars[] = {OpenGrammar("", SOTTO_GRAMMAR_JSON),
                                  OpenGrammar("root ::= root \",\" root | \"{\" root \"}\" | [a-b1]{1,40} | <[7]>",
                                              [&](auto& params) { params.vocabulary = vocabulary.get(); }),
                                  OpenGrammar("[^\"]*\"(a|b1?){2,9}", SOTTO_GRAMMAR_REGEX)};
  constexpr uint32_t kMinMaskBytes = (kTokens + 63) / 64 * sizeof(uint64_t);
  for (const OpenGrammar& grammar : grammars) {
    for (const uint32_t mask_bytes : {0u, 4 * kMinMaskBytes, kMinMaskBytes}) {
      Pair pair(grammar, vocabulary, mask_bytes);
      walk(pair, 2 + mask_bytes);
    }
  }
}

TEST(BorrowMask, StaysAsItIsUntilTheNextCall) {
  const OpenVocabulary vocabulary(tokens(), {}, {kEndToken});
  const OpenGrammar grammar("", SOTTO_GRAMMAR_JSON);
  OpenMatcher matcher(grammar, &vocabulary);
  const uint64_t* words = nullptr;
  ASSERT_EQ(sotto_matcher_borrow_mask(matcher.get(), 0, &words), SOTTO_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(words) % sizeof *words, 0u);
  const std::vector<uint64_t> seen(words, words + (kTokens + 63) / 64);
  EXPECT_EQ(matcher.info().may_end, 0u);
  EXPECT_EQ(std::vector<uint64_t>(words, words + seen.size()), seen);
  const uint64_t* again = nullptr;
  ASSERT_EQ(sotto_matcher_borrow_mask(matcher.get(), 0, &again), SOTTO_OK);
  EXPECT_EQ(again, words);
}

}  // namespace
}  // namespace sotto
