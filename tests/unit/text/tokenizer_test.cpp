// Tests the contract of encode(): capacity, errors, added tokens, and the prefix space.
#include "runtime/text/tokenizer.h"

#include <gtest/gtest.h>

#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

using Tokens = std::vector<int32_t>;

struct Call {
  Status status;
  size_t count = SIZE_MAX;  // the value before the call
  Tokens tokens;
  Error error;
};

Call call(const TokenizerView& tokenizer, std::string_view text, size_t capacity, EncodeOptions options = {}) {
  Call result{Status::kInternal, SIZE_MAX, Tokens(capacity, -7), {}};
  result.status = encode(tokenizer, text, options, result.tokens, &result.count, &result.error);
  return result;
}

std::string all_bytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

// The token ids of bytes are the bytes; ab is 256, and " a" is 257.
TokenizerDescription small_description() { return describe(all_bytes(), {{"a", "b"}, {" ", "a"}}); }

TEST(Encode, EmptyTextHasNoTokens) {
  const TokenizerData data = build_tokenizer(small_description());
  const Call result = call(data.view(), "", 0);
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.count, 0u);
}

TEST(Encode, SmallBufferReportsTheExactCountForShortWords) {
  const TokenizerData data = build_tokenizer(small_description());
  const std::string text = "ab a abab 'cc";
  const Tokens expected = encode_all(data.view(), text);
  for (size_t capacity = 0; capacity < expected.size(); ++capacity) {
    const Call result = call(data.view(), text, capacity);
    EXPECT_EQ(result.status, Status::kBufferTooSmall);
    EXPECT_EQ(result.count, expected.size());
  }
  const Call result = call(data.view(), text, expected.size());
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.tokens, expected);
}

TEST(Encode, SmallBufferReportsASufficientCapacityForLongWords) {
  auto description = small_description();
  add_token(&description, "<x>", TokenKind::kAdded);
  description.prefix_space = PrefixSpace::kIfMissing;
  const TokenizerData data = build_tokenizer(description);
  std::string text = "ab <x>";
  for (int i = 0; i < 300; ++i) text += "ab";
  text += " a 1<x>" + std::string(400, 'b') + std::string(260, ' ');
  const Tokens expected = encode_all(data.view(), text);
  for (size_t capacity = 0; capacity < expected.size(); capacity += 7) {
    const Call result = call(data.view(), text, capacity);
    ASSERT_EQ(result.status, Status::kBufferTooSmall) << capacity;
    ASSERT_GE(result.count, expected.size());
    ASSERT_LE(result.count, text.size() + 3);  // three prefix spaces
    const Call second = call(data.view(), text, result.count);
    ASSERT_EQ(second.status, Status::kOk);
    ASSERT_EQ(Tokens(second.tokens.begin(), second.tokens.begin() + static_cast<ptrdiff_t>(second.count)), expected);
  }
}

TEST(Encode, WritesAtMostOneTokenPerByteOrTwoWithPrefixSpaces) {
  auto description = small_description();
  add_token(&description, "|", TokenKind::kAdded);
  description.prefix_space = PrefixSpace::kIfMissing;
  const TokenizerData data = build_tokenizer(description);
  for (const std::string_view text : {"b", "b|b|b|b", "|", "||||", "\n|\n|\n"}) {
    const Call result = call(data.view(), text, 2 * text.size());
    EXPECT_EQ(result.status, Status::kOk) << text;
    EXPECT_LE(call(data.view(), text, 0).count, 2 * text.size());
  }
}

TEST(Encode, InvalidUtf8IsRejectedWithItsOffset) {
  const TokenizerData data = build_tokenizer(small_description());
  const Call result = call(data.view(), "abc \xC3\xA9\xC3(", 20);
  EXPECT_EQ(result.status, Status::kTextInvalid);
  EXPECT_EQ(result.error.offset, 6u);
  EXPECT_EQ(result.count, SIZE_MAX);
  EXPECT_EQ(call(data.view(), "a\xE2\x82", 20).error.offset, 1u);
}

TEST(Encode, ByteWithoutATokenIsRejectedWithItsOffset) {
  const TokenizerData data = build_tokenizer(describe("abc", {{"a", "b"}}));
  const Call result = call(data.view(), "abcab!ab", 20);
  EXPECT_EQ(result.status, Status::kInvalidArgument);
  EXPECT_EQ(result.error.offset, 5u);
  EXPECT_STREQ(result.error.message, "the vocabulary has no token for byte 33");
  const std::string long_word = std::string(1000, 'a') + "d";
  EXPECT_EQ(call(data.view(), long_word, 2000).error.offset, 1000u);
  EXPECT_EQ(call(data.view(), "abc", 3).status, Status::kOk);
}

TEST(Encode, PrefixSpaceWithoutATokenIsRejected) {
  auto description = describe("ab", {});
  description.prefix_space = PrefixSpace::kIfMissing;
  const TokenizerData data = build_tokenizer(description);
  const Call result = call(data.view(), "ab", 4);
  EXPECT_EQ(result.status, Status::kInvalidArgument);
  EXPECT_EQ(result.error.offset, 0u);
  EXPECT_STREQ(result.error.message, "the vocabulary has no token for byte 32");
}

TEST(Encode, ParsesSpecialTokensOnlyOnRequest) {
  auto description = small_description();
  const auto end = static_cast<int32_t>(add_token(&description, "<|end|>", TokenKind::kSpecial));
  const TokenizerData data = build_tokenizer(description);
  EXPECT_EQ(encode_all(data.view(), "ab<|end|>ab", true), (Tokens{256, end, 256}));
  EXPECT_EQ(encode_all(data.view(), "ab<|end|>ab", false), (Tokens{256, '<', '|', 'e', 'n', 'd', '|', '>', 256}));
  EXPECT_EQ(encode_all(data.view(), "<|end|><|end|", true), (Tokens{end, '<', '|', 'e', 'n', 'd', '|'}));
}

TEST(Encode, FindsTheLeftmostAndLongestAddedToken) {
  auto description = small_description();
  const auto add = [&](const char* text, TokenKind kind) {
    return static_cast<int32_t>(add_token(&description, text, kind));
  };
  const int32_t x = add("x", TokenKind::kAdded), xyz = add("xyz", TokenKind::kAdded);
  const int32_t xyzzy = add("xyzzy", TokenKind::kSpecial), yy = add("yy", TokenKind::kAdded);
  const int32_t accent = add("\u00E9\u00E9", TokenKind::kAdded);
  const TokenizerData data = build_tokenizer(description);
  const TokenizerView tokenizer = data.view();
  EXPECT_EQ(encode_all(tokenizer, "xyzzy"), (Tokens{xyz, 'z', 'y'}));
  EXPECT_EQ(encode_all(tokenizer, "xyzzy", true), (Tokens{xyzzy}));
  EXPECT_EQ(encode_all(tokenizer, "xyyx"), (Tokens{x, yy, x}));
  EXPECT_EQ(encode_all(tokenizer, "axyab"), (Tokens{'a', x, 'y', 256}));
  EXPECT_EQ(encode_all(tokenizer, "\u00E9\u00E9\u00E9"), (Tokens{accent, 0xC3, 0xA9}));
  EXPECT_EQ(encode_all(tokenizer, "y"), (Tokens{'y'}));
}

TEST(Encode, AnAddedTokenEndsTheTextBeforeIt) {
  auto description = small_description();
  const auto bar = static_cast<int32_t>(add_token(&description, "|", TokenKind::kAdded));
  const TokenizerData data = build_tokenizer(description);
  // At the end of text all spaces are one word. Before a word the last space belongs to it.
  EXPECT_EQ(encode_all(data.view(), "b  |a"), (Tokens{'b', ' ', ' ', bar, 'a'}));
  EXPECT_EQ(encode_all(data.view(), "b  a"), (Tokens{'b', ' ', 257}));
}

TEST(Encode, APrefixSpaceComesBeforeEveryPieceThatLacksOne) {
  auto description = small_description();
  const auto bar = static_cast<int32_t>(add_token(&description, "|", TokenKind::kAdded));
  description.prefix_space = PrefixSpace::kIfMissing;
  const TokenizerData data = build_tokenizer(description);
  EXPECT_EQ(encode_all(data.view(), "a|a| a|"), (Tokens{257, bar, 257, bar, 257, bar}));
  EXPECT_EQ(encode_all(data.view(), "\n"), (Tokens{' ', '\n'}));
  EXPECT_EQ(encode_all(data.view(), ""), Tokens{});
  std::string word(300, 'a');
  Tokens expected(300, 'a');
  expected[0] = 257;
  EXPECT_EQ(encode_all(data.view(), word), expected);
}

TEST(Encode, ZeroBytesAreText) {
  const TokenizerData data = build_tokenizer(small_description());
  EXPECT_EQ(encode_all(data.view(), std::string_view("a\0b", 3)), (Tokens{'a', 0, 'b'}));
}

}  // namespace
}  // namespace sotto::test
