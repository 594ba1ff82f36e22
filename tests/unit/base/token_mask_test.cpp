// Tests TokenMask: one bit per token, and no words if all tokens are allowed.
#include "runtime/base/token_mask.h"

#include <gtest/gtest.h>

namespace sotto {
namespace {

TEST(TokenMask, NullAllowsAll) {
  const TokenMask mask;
  EXPECT_TRUE(mask.allows_all());
  EXPECT_TRUE(mask.allows(0));
  EXPECT_TRUE(mask.allows(1000000));
}

TEST(TokenMask, ReadsItsBits) {
  const uint64_t words[] = {uint64_t{1} | uint64_t{1} << 63, uint64_t{1} << 1};
  const TokenMask mask{words, 70};
  EXPECT_FALSE(mask.allows_all());
  for (size_t token = 0; token < 70; ++token) {
    EXPECT_EQ(mask.allows(token), token == 0 || token == 63 || token == 65) << token;
  }
}

TEST(TokenMask, IgnoresBitsBeyondTheLastToken) {
  const uint64_t words[] = {5, ~uint64_t{0} << 2};
  const TokenMask mask = {words, 66};
  EXPECT_EQ(mask.word(0), 5u);
  EXPECT_EQ(mask.word(1), 0u);
  EXPECT_TRUE(mask.allows_any());
  EXPECT_FALSE((TokenMask{words + 1, 2}.allows_any()));
}

TEST(TokenMask, CountsWords) {
  EXPECT_EQ(TokenMask::word_count(0), 0u);
  EXPECT_EQ(TokenMask::word_count(1), 1u);
  EXPECT_EQ(TokenMask::word_count(64), 1u);
  EXPECT_EQ(TokenMask::word_count(65), 2u);
  EXPECT_EQ(TokenMask::word_count(50257), 786u);
}

}  // namespace
}  // namespace sotto
