// Compares both implementations of BPE with its definition.
#include "runtime/text/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "converters/tokenizers/reader.h"
#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

using Tokens = std::vector<int32_t>;

Tokens merge(const TokenizerView& tokenizer, Word word) {
  std::vector<uint32_t> tokens(word.size());
  tokens.resize(merge_tokens(tokenizer, tokens.data(), unit_tokens(tokenizer, word, tokens.data())));
  return {tokens.begin(), tokens.end()};
}

Tokens search(const TokenizerView& tokenizer, Word word) {
  Tokens tokens(word.size());
  size_t count = 0;
  EXPECT_EQ(search_word(tokenizer, word, tokens, &count), SearchResult::kFound);
  tokens.resize(count);
  return tokens;
}

std::string random_word(Random* random, std::string_view alphabet, size_t size) {
  std::string word;
  while (word.size() < size) {
    const char letter = alphabet[random->below(static_cast<uint32_t>(alphabet.size()))];
    word.append(1 + (random->below(4) == 0 ? random->below(6) : 0), letter);
  }
  return word.substr(0, size);
}

// Creates merges of existing tokens. Several pairs give the same text.
TokenizerDescription random_description(Random* random, std::string_view alphabet, size_t merge_count, size_t longest,
                                        bool shuffle) {
  std::vector<std::string> names;
  Pairs pairs;
  for (const char letter : alphabet) names.emplace_back(1, letter);
  while (pairs.size() < merge_count) {
    const std::string left = names[random->below(static_cast<uint32_t>(names.size()))];
    const std::string right = names[random->below(static_cast<uint32_t>(names.size()))];
    if (left.size() + right.size() > longest) continue;
    pairs.emplace_back(left, right);
    names.push_back(left + right);
  }
  if (shuffle) {
    for (size_t i = pairs.size(); i > 1; --i) {
      std::swap(pairs[i - 1], pairs[random->below(static_cast<uint32_t>(i))]);
    }
  }
  return describe(alphabet, pairs);
}

TEST(Bpe, RandomMergesFollowTheDefinition) {
  Random random(11);
  size_t ascending_count = 0, dropped_count = 0;
  constexpr size_t kTables = 600;
  for (size_t table = 0; table < kTables; ++table) {
    const std::string_view alphabet = std::string_view("abcd").substr(0, 1 + random.below(4));
    const size_t merge_count = 1 + random.below(40);
    const auto description =
        random_description(&random, alphabet, merge_count, 2 + random.below(20), random.below(2) == 0);
    const TokenizerData data = build_tokenizer(description);
    const TokenizerView tokenizer = data.view();
    ascending_count += tokenizer.merges_ascend;
    dropped_count += data.merges.size() < description.merges.size();
    for (int i = 0; i < 40; ++i) {
      const std::string word = random_word(&random, alphabet, 1 + random.below(60));
      const Tokens expected = naive_bpe(description, word);
      ASSERT_EQ(merge(tokenizer, {word}), expected) << "table " << table << " " << word;
      ASSERT_EQ(search(tokenizer, {word}), expected) << "table " << table << " " << word;
    }
  }
  EXPECT_GT(ascending_count, kTables / 10);
  EXPECT_LT(ascending_count, kTables - kTables / 10);
  EXPECT_GT(dropped_count, kTables / 10);
}

TEST(Bpe, MergesEveryShortWordOfTwoLettersCorrectly) {
  Random random(12);
  for (int table = 0; table < 60; ++table) {
    const auto description = random_description(&random, "ab", 1 + random.below(12), 8, table % 2 == 0);
    const TokenizerData data = build_tokenizer(description);
    const TokenizerView tokenizer = data.view();
    for (uint32_t bits = 2; bits < 2048; ++bits) {  // one bit per letter, below the leading 1
      std::string word;
      for (uint32_t rest = bits; rest > 1; rest >>= 1) word.push_back(rest & 1 ? 'a' : 'b');
      const Tokens expected = naive_bpe(description, word);
      ASSERT_EQ(merge(tokenizer, {word}), expected) << "table " << table << " " << word;
      ASSERT_EQ(search(tokenizer, {word}), expected) << "table " << table << " " << word;
    }
  }
}

TEST(Bpe, EqualRanksMergeLeftmostFirst) {
  const auto description = describe("ab", {{"a", "a"}, {"aa", "a"}, {"aa", "aa"}, {"a", "b"}});
  const TokenizerData data = build_tokenizer(description);
  const TokenizerView tokenizer = data.view();
  for (size_t size = 1; size <= 40; ++size) {
    for (const std::string& word : {std::string(size, 'a'), std::string(size, 'a') + "b"}) {
      const Tokens expected = naive_bpe(description, word);
      EXPECT_EQ(merge(tokenizer, {word}), expected) << word;
      EXPECT_EQ(search(tokenizer, {word}), expected) << word;
    }
  }
}

TEST(Bpe, LongWordsFollowTheDefinition) {
  Random random(13);
  for (int table = 0; table < 30; ++table) {
    const auto description = random_description(&random, "abc", 60, 30, table % 3 == 0);
    const TokenizerData data = build_tokenizer(description);
    for (const size_t size : {256, 257, 700}) {
      const std::string word = random_word(&random, "abc", size);
      EXPECT_EQ(search(data.view(), {word}), naive_bpe(description, word)) << table;
    }
  }
}

TEST(Bpe, ASpaceBeforeTheWordEqualsOneInIt) {
  Random random(14);
  for (int table = 0; table < 100; ++table) {
    const auto description = random_description(&random, " ab", 30, 12, table % 2 == 0);
    const TokenizerData data = build_tokenizer(description);
    const TokenizerView tokenizer = data.view();
    for (size_t size = 0; size < 40; ++size) {
      const std::string word = random_word(&random, " ab", size);
      const Tokens expected = naive_bpe(description, " " + word);
      ASSERT_EQ(merge(tokenizer, {word, true}), expected) << table;
      ASSERT_EQ(search(tokenizer, {word, true}), expected) << table;
    }
  }
}

TEST(Bpe, MergingAndSearchingAgreeOnGpt2) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const auto data = read_tokenizer_directory(shared_data() / kGpt2Vocabulary, 50257);
  const TokenizerView tokenizer = data->view();
  for (const uint32_t token : tokenizer.sorted_tokens) {
    const Tokens expected{static_cast<int32_t>(token)};
    ASSERT_EQ(search(tokenizer, {tokenizer.bytes_of(token)}), expected);
    ASSERT_EQ(merge(tokenizer, {tokenizer.bytes_of(token)}), expected);
  }
  Random random(15);
  for (int i = 0; i < 50000; ++i) {  // words composed of parts of words
    std::string word;
    while (word.size() < 20) {
      const auto bytes = tokenizer.bytes_of(random.below(50256));
      const size_t start = random.below(static_cast<uint32_t>(bytes.size()));
      word.append(bytes.begin() + static_cast<ptrdiff_t>(start), bytes.end());
    }
    word.resize(std::min<size_t>(word.size(), kShortWordUnits));
    ASSERT_EQ(search(tokenizer, {word}), merge(tokenizer, {word})) << word;
  }
}

TEST(Bpe, SearchReportsSmallBuffersAndWrongTables) {
  const auto description = describe("ab", {{"a", "b"}});
  TokenizerData data = build_tokenizer(description);
  const std::string word = "abab";
  Tokens tokens(1);
  size_t count = 0;
  EXPECT_EQ(search_word(data.view(), {word}, tokens, &count), SearchResult::kNoSpace);
  tokens.resize(2);
  EXPECT_EQ(search_word(data.view(), {word}, tokens, &count), SearchResult::kFound);
  EXPECT_EQ(count, 2u);
  data.sorted_tokens = {0};
  tokens.resize(4);
  EXPECT_EQ(search_word(data.view(), {word}, tokens, &count), SearchResult::kInconsistent);
}

TEST(Bpe, LongestTokenIsTheLongestPrefix) {
  Random random(16);
  for (int table = 0; table < 200; ++table) {
    const auto description = random_description(&random, "ab", 20, 10, false);
    const TokenizerData data = build_tokenizer(description);
    const TokenizerView tokenizer = data.view();
    const std::string word = random_word(&random, "abc", 12);
    for (size_t limit = 0; limit <= 14; ++limit) {
      size_t longest = 0;
      for (const uint32_t token : tokenizer.sorted_tokens) {
        const auto bytes = tokenizer.bytes_of(token);
        const std::string_view text(bytes.data(), bytes.size());
        if (text.size() <= limit && word.starts_with(text)) longest = std::max(longest, text.size());
      }
      const uint32_t token = longest_token(tokenizer, tokenizer.sorted_tokens, {word}, limit);
      EXPECT_EQ(token == kNoToken ? 0 : tokenizer.bytes_of(token).size(), longest);
    }
  }
}

}  // namespace
}  // namespace sotto::test
