// Tests GPT-2's own vocabulary with published vectors, and compares it with the `tokenizers` package.
// tests/tools/make_tokenizer_goldens.py stores the results of the package as hashes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "converters/tokenizers/reader.h"
#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

constexpr uint32_t kSeparator = 0xFFFFFFFF;

TokenizerData read_gpt2() { return *read_tokenizer_directory(shared_data() / kGpt2Vocabulary, 50257); }

// Reads GPT-2's vocabulary with added tokens for 2 ... 31 spaces and 2 ... 9 tabs.
TokenizerData read_whitespace_gpt2(bool add_prefix_space = false) {
  const auto file = shared_data() / kGpt2Vocabulary / "hf_tokenizer_gpt2_plus_38_whitespace_tokens.json";
  const TemporaryDirectory directory;
  std::filesystem::copy_file(file, directory.path() / "tokenizer.json");
  TokenizerData data = *read_tokenizer_directory(directory.path(), 50295);
  if (add_prefix_space) data.prefix_space = PrefixSpace::kIfMissing;
  return data;
}

std::istringstream golden(const std::string& name) {
  return std::istringstream(read_file(std::filesystem::path(SOTTO_SOURCE_DIR) / "tests/data/tokenizer" / name));
}

void append_utf8(uint32_t c, std::string* text) {
  const auto put = [text](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 63));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 63));
    put(0x80 | (c >> 6 & 63));
  }
  put(0x80 | (c & 63));
}

std::string repeat(std::string_view unit, size_t times) {
  std::string text;
  while (times-- > 0) text += unit;
  return text;
}

std::string random_letters(uint64_t seed, size_t count) {
  Random random(seed);
  std::string text;
  while (count-- > 0) text.push_back(static_cast<char>('a' + random.below(26)));
  return text;
}

void append_random_piece(Random* random, std::string* text) {
  static constexpr uint32_t kSpaces[] = {0x09, 0x0A,   0x0B,   0x0C,   0x0D,   0x85,
                                         0xA0, 0x1680, 0x2003, 0x2028, 0x202F, 0x3000};
  static constexpr std::string_view kSnippets[] = {"'s",  "'t",   "'re", "'ve",           "'m",  "'ll",    "'d",
                                                   "'S",  " the", "ing", "<|endoftext|>", "://", "\u200d", "\ufeff",
                                                   "...", "==="};
  switch (random->below(16)) {
    case 0:
    case 1:
    case 2:
      return append_utf8('a' + random->below(26), text);
    case 3:
      return append_utf8('A' + random->below(26), text);
    case 4:
      return append_utf8('0' + random->below(10), text);
    case 5:
      return append_utf8(33 + random->below(15), text);
    case 6:
      return text->push_back(' ');
    case 7:
      text->append(1 + random->below(40), ' ');
      return;
    case 8:
      return append_utf8(kSpaces[random->below(std::size(kSpaces))], text);
    case 9:
      text->append(kSnippets[random->below(std::size(kSnippets))]);
      return;
    case 10: {
      const uint32_t c = random->below(0x110000);
      return append_utf8(c >= 0xD800 && c < 0xE000 ? 0xFFFD : c, text);
    }
    case 11:
      return append_utf8(random->below(0x800), text);
    case 12:
      return append_utf8(0x4E00 + random->below(0x5000), text);
    case 13:
      return append_utf8(0x1F300 + random->below(0x700), text);
    case 14:
      return append_utf8(0x300 + random->below(0x70), text);
    default: {
      const auto character = static_cast<char>(33 + random->below(94));
      const size_t times = 1 + random->below(80);
      text->append(times * (random->below(50) == 0 ? 8 : 1), character);
    }
  }
}

std::string random_text(Random* random) {
  std::string text;
  for (uint32_t count = random->below(40); count > 0; --count) append_random_piece(random, &text);
  return text;
}

void expect_golden(std::istream& line, const TokenizerView& tokenizer, const std::string& text, bool parse_special,
                   const std::string& name) {
  size_t count = 0;
  uint64_t expected = 0;
  ASSERT_TRUE(line >> std::dec >> count >> std::hex >> expected) << name;
  const std::vector<int32_t> tokens = encode_all(tokenizer, text, parse_special);
  Hash hash;
  hash.add(tokens);
  EXPECT_EQ(tokens.size(), count) << name;
  EXPECT_EQ(hash.value(), expected) << name;
  EXPECT_TRUE(decode_all(tokenizer, tokens) == text) << name;
}

TEST(Gpt2Tokenizer, PublishedVectorsHold) {
  constexpr char kVectors[] = "tokenizer/gpt2_encode_vectors.json";
  SOTTO_REQUIRE_DATA(kVectors);
  const TokenizerData data = read_gpt2();
  const TokenizerView tokenizer = data.view();
  const auto cases = nlohmann::json::parse(read_file(shared_data() / kVectors)).at("cases");
  ASSERT_GE(cases.size(), 275u);
  for (const auto& vector : cases) {
    const auto text = vector.at("text").get<std::string>();
    const auto tokens = encode_all(tokenizer, text, vector.at("allow_special").get<bool>());
    EXPECT_EQ(tokens, vector.at("ids").get<std::vector<int32_t>>()) << text;
    EXPECT_EQ(decode_all(tokenizer, tokens), text);
  }
}

TEST(Gpt2Tokenizer, RandomStringsAgreeWithTokenizers) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const TokenizerData gpt2 = read_gpt2();
  const TokenizerData whitespace = read_whitespace_gpt2();
  const TokenizerData prefixing = read_whitespace_gpt2(true);
  const TokenizerView views[] = {gpt2.view(), whitespace.view(), prefixing.view()};
  auto lines = golden("random_strings.txt");
  Random random(1);
  for (int line = 0; line < 100; ++line) {
    Hash hashes[4];
    for (int i = 0; i < 100; ++i) {
      const std::string text = random_text(&random);
      hashes[0].add(text);
      for (size_t view = 0; view < 3; ++view) {
        hashes[1 + view].add(encode_all(views[view], text, view > 0));
        hashes[1 + view].add(kSeparator);
      }
    }
    for (const Hash& hash : hashes) {
      uint64_t expected = 0;
      ASSERT_TRUE(lines >> std::hex >> expected);
      EXPECT_EQ(hash.value(), expected) << "line " << line << " column " << &hash - hashes;
    }
  }
}

TEST(Gpt2Tokenizer, CorporaAgreeWithTokenizersAndComeBack) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const TokenizerData gpt2 = read_gpt2();
  const TokenizerData whitespace = read_whitespace_gpt2();
  const TokenizerView tokenizer = gpt2.view(), whitespace_tokenizer = whitespace.view();
  auto lines = golden("corpora.txt");
  size_t file_count = 0;
  for (std::string name; lines >> name; ++file_count) {
    SOTTO_REQUIRE_DATA(name);
    const std::string text = read_file(shared_data() / name);
    expect_golden(lines, tokenizer, text, false, name);
    expect_golden(lines, whitespace_tokenizer, text, true, name);
  }
  EXPECT_GE(file_count, 5u);
}

TEST(Gpt2Tokenizer, MegabyteWordsAgreeWithTokenizers) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const TokenizerData gpt2 = read_gpt2();
  const TokenizerView tokenizer = gpt2.view();
  auto lines = golden("long_words.txt");
  const std::string words[] = {repeat("a", 1000000),         repeat(" ", 1000000),
                               repeat("-", 1000000),         repeat("\u00c3\u00c2", 250000),
                               repeat("ab", 500000),         repeat("\u4f60\u597d", 100000),
                               repeat("0123456789", 100000), random_letters(7, 1000000)};
  for (const std::string& word : words) {
    expect_golden(lines, tokenizer, word, false, word.substr(0, 12));
  }
}

TEST(Gpt2Tokenizer, MegabyteOfTextThatAlmostMatchesAddedTokens) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const TokenizerData whitespace = read_whitespace_gpt2();
  const TokenizerView tokenizer = whitespace.view();
  for (const std::string& text : {repeat(" a", 500000), repeat("  a", 300000), repeat("<|endoftext|", 80000),
                                  repeat("\t\t\t\t\t\t\t\t\t\t x", 80000), repeat("<", 1000000)}) {
    const auto tokens = encode_all(tokenizer, text, true);
    EXPECT_TRUE(decode_all(tokenizer, tokens) == text);
  }
}

TEST(Gpt2Tokenizer, BothVocabularyFilesGiveTheSameTokenizer) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const TokenizerData gpt2 = read_gpt2();
  const std::filesystem::path root = shared_data() / kGpt2Vocabulary;
  const TemporaryDirectory directory;
  std::filesystem::copy_file(root / "hf_vocab.json", directory.path() / "vocab.json");
  std::filesystem::copy_file(root / "vocab.bpe", directory.path() / "merges.txt");
  const auto other = read_tokenizer_directory(directory.path(), 50257);
  EXPECT_EQ(other->token_bytes, gpt2.token_bytes);
  EXPECT_EQ(other->token_kinds, gpt2.token_kinds);
  EXPECT_EQ(other->merge_index, gpt2.merge_index);
  EXPECT_EQ(other->sorted_tokens, gpt2.sorted_tokens);
}

TEST(Gpt2Tokenizer, ArraysAreWhatTheVocabularyImplies) {
  SOTTO_REQUIRE_DATA(kGpt2Vocabulary);
  const TokenizerData gpt2 = read_gpt2();
  const TokenizerView tokenizer = gpt2.view();
  EXPECT_EQ(tokenizer.merges.size(), 50000u);
  EXPECT_EQ(tokenizer.sorted_tokens.size(), 50256u);
  EXPECT_EQ(gpt2.added_tokens, std::vector<uint32_t>{50256});
  EXPECT_EQ(tokenizer.token_kinds[50256], TokenKind::kSpecial);
  EXPECT_EQ(tokenizer.max_token_bytes, 128u);
  EXPECT_TRUE(tokenizer.merges_ascend);
}

}  // namespace
}  // namespace sotto::test
