#include "converters/tokenizers/builder.h"

#include <gtest/gtest.h>

#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

TEST(TokenizerBuilder, DropsMergesThatNoTextTriggers) {
  // bc merges first, so that ab c never occurs; abc arises from a bc.
  const auto description = describe("abc", {{"b", "c"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}});
  const TokenizerData data = build_tokenizer(description);
  ASSERT_EQ(data.merges.size(), 3u);
  EXPECT_EQ(data.merges[2].result, description.merges[3].result);
  EXPECT_EQ(data.merges[2].left, 0u);
  EXPECT_EQ(data.token_merges[description.merges[3].result], 2u);
  EXPECT_EQ(data.sorted_tokens.size(), 6u);  // a ab abc b bc c
}

TEST(TokenizerBuilder, LeavesOutTokensThatBpeCannotMake) {
  auto description = describe("abc", {{"b", "c"}, {"ab", "c"}});
  add_token(&description, "cab", TokenKind::kNormal);
  const TokenizerData data = build_tokenizer(description);
  EXPECT_EQ(data.merges.size(), 1u);
  EXPECT_EQ(data.sorted_tokens.size(), 4u);  // a b bc c
  EXPECT_EQ(data.token_kinds.size(), description.tokens.size());
}

TEST(TokenizerBuilder, OfEqualPairsTheLastCounts) {
  const auto description = describe("abc", {{"a", "b"}, {"b", "c"}, {"a", "b"}});
  const TokenizerData data = build_tokenizer(description);
  ASSERT_EQ(data.merges.size(), 2u);
  EXPECT_EQ(encode_all(data.view(), "abc"), naive_bpe(description, "abc"));
  EXPECT_EQ(encode_all(data.view(), "abc").front(), 0);  // a bc
}

TEST(TokenizerBuilder, ATokenMayBeBothAddedAndMade) {
  auto description = describe("ab", {{"a", "b"}});
  description.tokens[2].kind = TokenKind::kSpecial;
  const TokenizerData data = build_tokenizer(description);
  EXPECT_EQ(encode_all(data.view(), "aab", true), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(encode_all(data.view(), "aab", false), (std::vector<int32_t>{0, 2}));
}

TEST(TokenizerBuilder, RejectsContradictions) {
  auto wrong_merge = describe("ab", {{"a", "b"}});
  wrong_merge.merges[0].right = 0;
  EXPECT_THROW((void)build_tokenizer(wrong_merge), std::runtime_error);
  wrong_merge.merges[0].right = 77;
  EXPECT_THROW((void)build_tokenizer(wrong_merge), std::runtime_error);

  auto same_text = describe("ab", {});
  add_token(&same_text, "x", TokenKind::kAdded);
  add_token(&same_text, "x", TokenKind::kSpecial);
  EXPECT_THROW((void)build_tokenizer(same_text), std::runtime_error);

  auto empty = describe("ab", {});
  add_token(&empty, "", TokenKind::kAdded);
  EXPECT_THROW((void)build_tokenizer(empty), std::runtime_error);

  auto wrong_byte = describe("ab", {});
  wrong_byte.byte_tokens['a'] = 1;
  EXPECT_THROW((void)build_tokenizer(wrong_byte), std::runtime_error);
}

TEST(TokenizerBuilder, AnEmptyVocabularyIsATokenizer) {
  const TokenizerData data = build_tokenizer({});
  EXPECT_TRUE(encode_all(data.view(), "").empty());
}

}  // namespace
}  // namespace sotto::test
