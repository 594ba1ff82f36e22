// Tests that damaged arrays are rejected, and that encoding with accepted arrays is safe. A fuzzer tests the same.
#include "runtime/model/tokenizer_view.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

TokenizerData valid_data() {
  auto description = describe("abc", {{"a", "b"}, {"ab", "c"}, {"ab", "ab"}});
  add_token(&description, "<x>", TokenKind::kAdded);
  add_token(&description, "<y>", TokenKind::kSpecial);
  add_token(&description, "", TokenKind::kUnused);
  return build_tokenizer(description);
}

struct Damage {
  const char* message;
  std::function<void(TokenizerData&)> apply;
};

// The tokens are 0 a, 1 b, 2 c, 3 ab, 4 abc, 5 abab, 6 <x>, 7 <y>, 8 unused.
const Damage kDamages[] = {
    {"token_kinds and vocabulary_size differ", [](auto& d) { d.token_kinds.pop_back(); }},
    {"token_offsets and vocabulary_size differ", [](auto& d) { d.token_offsets.pop_back(); }},
    {"token_offsets and vocabulary_size differ", [](auto& d) { d.token_offsets.clear(); }},
    {"token_merges and vocabulary_size differ", [](auto& d) { d.token_merges.pop_back(); }},
    {"byte_tokens are not 256", [](auto& d) { d.byte_tokens.pop_back(); }},
    {"token_offsets do not span token_bytes", [](auto& d) { d.token_offsets[0] = 1; }},
    {"token_offsets do not span token_bytes", [](auto& d) { d.token_bytes.pop_back(); }},
    {"token_offsets decrease at 4", [](auto& d) { d.token_offsets[4] = 1000; }},
    {"more than 1024 bytes in token 3", [](auto& d) { d.token_offsets[4] = 4000; }},
    {"invalid kind of token 2", [](auto& d) { d.token_kinds[2] = static_cast<TokenKind>(4); }},
    {"text of unused token 3", [](auto& d) { d.token_kinds[3] = TokenKind::kUnused; }},
    {"invalid token of byte 7", [](auto& d) { d.byte_tokens[7] = 9; }},
    {"wrong token of byte 97", [](auto& d) { d.byte_tokens['a'] = 1; }},
    {"wrong token of byte 97", [](auto& d) { d.byte_tokens['a'] = 3; }},
    {"token out of range in merge 1", [](auto& d) { d.merges[1].left = 9; }},
    {"token out of range in merge 1", [](auto& d) { d.merges[1].right = 0xFFFFFFFF; }},
    {"token out of range in merge 1", [](auto& d) { d.merges[1].result = 9; }},
    {"wrong result of merge 0", [](auto& d) { d.merges[0].result = 5; }},
    {"wrong result of merge 2", [](auto& d) { d.merges[2].right = 8; }},
    {"wrong result of merge 0",
     [](auto& d) {
       d.merges[0] = {3, 8, 3};
     }},
    {"wrong merge of token 4", [](auto& d) { d.token_merges[4] = 0; }},
    {"wrong merge of token 0", [](auto& d) { d.token_merges[0] = 3; }},
    {"merge_index is not a power of two", [](auto& d) { d.merge_index.clear(); }},
    {"merge_index is not a power of two", [](auto& d) { d.merge_index.pop_back(); }},
    {"merge_index is full", [](auto& d) { d.merge_index.assign(8, 1); }},
    {"invalid merge_index slot 0", [](auto& d) { d.merge_index[0] = 4; }},
    {"merge_index is too dense at 255",
     [](auto& d) {
       d.merge_index.assign(1024, 1);
       d.merge_index[1022] = 0;
     }},
    {"sorted_tokens is out of order at 2", [](auto& d) { d.sorted_tokens[2] = 9; }},
    {"sorted_tokens is out of order at 1", [](auto& d) { std::swap(d.sorted_tokens[0], d.sorted_tokens[1]); }},
    {"sorted_tokens is out of order at 1", [](auto& d) { d.sorted_tokens[1] = d.sorted_tokens[0]; }},
    {"sorted_tokens is out of order at 0", [](auto& d) { d.sorted_tokens[0] = 8; }},
    {"added_tokens is out of order at 1", [](auto& d) { d.added_tokens[1] = 6; }},
    {"not an added token: 0", [](auto& d) { d.added_tokens[1] = 0; }},
    {"added_tokens lacks some", [](auto& d) { d.added_tokens.pop_back(); }},
    {"added_tokens lacks some", [](auto& d) { d.token_kinds[0] = TokenKind::kSpecial; }},
    {"not UTF-8: added token 6",
     [](auto& d) {
       d.token_bytes[d.token_offsets[6]] = '\x80';
       std::swap(d.added_tokens[0], d.added_tokens[1]);
     }},
};

TEST(VerifyTokenizer, DetectsEveryDamage) {
  for (const Damage& damage : kDamages) {
    TokenizerData data = valid_data();
    damage.apply(data);
    TokenizerView view = data.unverified_view();
    Error error;
    EXPECT_EQ(verify_tokenizer(&view, 9, &error), Status::kModelCorrupt) << damage.message;
    EXPECT_EQ(std::string(error.message), std::string("tokenizer: ") + damage.message);
  }
}

TEST(VerifyTokenizer, FillsInWhatTheFileLacks) {
  const TokenizerData data = valid_data();
  TokenizerView view = data.unverified_view();
  Error error;
  ASSERT_EQ(verify_tokenizer(&view, 9, &error), Status::kOk) << error.message;
  EXPECT_EQ(view.max_token_bytes, 4u);
  EXPECT_TRUE(view.merges_ascend);
  EXPECT_EQ(verify_tokenizer(&view, 10, &error), Status::kModelCorrupt);
}

TEST(VerifyTokenizer, LongTokensNeedMergesInOrder) {
  // Merges x x, xx xx, ... up to 256 bytes. In one case, the first merge comes last.
  for (const bool in_order : {true, false}) {
    Pairs pairs;
    for (size_t size = 1; size <= 128; size *= 2) {
      pairs.emplace_back(std::string(size, 'x'), std::string(size, 'x'));
    }
    auto description = describe("x", pairs);
    if (!in_order) std::swap(description.merges[0], description.merges[1]);
    if (in_order) {
      EXPECT_TRUE(build_tokenizer(description).view().merges_ascend);
    } else {
      EXPECT_THROW((void)build_tokenizer(description), std::runtime_error);
    }
  }
}

}  // namespace
}  // namespace sotto::test
