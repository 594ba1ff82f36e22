// Tests every type of tokenizer against ids from the Python package `tokenizers` (tests/tools/compare_tokenizers.py
// --goldens). Tests also the properties that all types share.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converters/tokenizers/reader.h"
#include "converters/tokenizers/tokenizer_json.h"
#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;
using Tokens = std::vector<int32_t>;

const json& goldens() {
  static const json parsed =
      json::parse(read_file(std::filesystem::path(SOTTO_SOURCE_DIR) / "tests/data/tokenizer/types.json"));
  return parsed;
}

std::string bytes_of_digits(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TokenizerData read_spiece(const std::string& model, uint32_t size) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "spiece.model", model);
  return read_tokenizer_directory(directory.path(), size).value();
}

TokenizerData read(const json& type) {
  const auto size = type["size"].get<uint32_t>();
  return type.contains("spiece") ? read_spiece(bytes_of_digits(type["spiece"].get<std::string>()), size)
                                 : read_tokenizer_json(type["tokenizer"], size);
}

const json& tokenizer_named(const std::string& name) {
  for (const json& type : goldens()["types"]) {
    if (type["name"] == name) return type;
  }
  throw std::runtime_error("no golden tokenizer " + name);
}

struct Call {
  Status status;
  Tokens tokens;
  size_t count = 0;
};

Call call(const TokenizerView& tokenizer, std::string_view text, size_t capacity) {
  Call result{Status::kOk, Tokens(capacity), 0};
  Error error;
  result.status = encode(tokenizer, text, {true}, result.tokens, &result.count, &error);
  if (result.status == Status::kOk) result.tokens.resize(result.count);
  return result;
}

TEST(TokenizerTypes, IdsEqualThoseOfTheReference) {
  for (const json& type : goldens()["types"]) {
    const TokenizerData data = read(type);
    const TokenizerView tokenizer = data.view();
    for (size_t i = 0; i < goldens()["texts"].size(); ++i) {
      const auto text = goldens()["texts"][i].get<std::string>();
      const Call small = call(tokenizer, text, 0);
      const Call result = call(tokenizer, text, small.count);
      EXPECT_EQ(result.status, Status::kOk) << type["name"] << text;
      EXPECT_EQ(result.tokens, type["ids"][i].get<Tokens>()) << type["name"] << text;
    }
  }
}

TEST(TokenizerTypes, ASmallBufferReportsASufficientCapacity) {
  std::string text = "  Hello \u2581w\u00D6rld, don't 12345 ";
  for (int i = 0; i < 7; ++i) text += text;
  for (const std::string& word : {std::string(700, 'a'), std::string(700, 'Q'), std::string("\u00C9\u4F60")})
    text += word;
  for (const json& type : goldens()["types"]) {
    const TokenizerData data = read(type);
    const TokenizerView tokenizer = data.view();
    const size_t bound = call(tokenizer, text, 0).count;
    const Call whole = call(tokenizer, text, 4 * text.size());
    ASSERT_EQ(whole.status, Status::kOk) << type["name"];
    for (size_t capacity = 0; capacity <= bound; capacity += 97) {
      const Call result = call(tokenizer, text, capacity);
      if (result.status == Status::kOk) {
        ASSERT_EQ(result.tokens, whole.tokens) << type["name"] << capacity;
        continue;
      }
      ASSERT_EQ(result.status, Status::kBufferTooSmall) << type["name"] << capacity;
      ASSERT_GT(result.count, capacity);
      ASSERT_EQ(call(tokenizer, text, result.count).tokens, whole.tokens) << type["name"] << capacity;
    }
  }
}

std::string decoded(const char* name, std::string_view text) {
  const TokenizerData data = read(tokenizer_named(name));
  return decode_all(data.view(), call(data.view(), text, 1000).tokens);
}

TEST(TokenizerTypes, TokensSpellTheTextWithTheSpacesOfTheirWords) {
  EXPECT_EQ(decoded("cl100k", "don't  stop\n\u4F60"), "don't  stop\n\u4F60");
  EXPECT_EQ(decoded("characters", "a  b,"), "a  b,");
  EXPECT_EQ(decoded("bpe-metaspace", "to  be"), " to  be");
  EXPECT_EQ(decoded("llama", "to \u4F60\n"), " to \u4F60\n");
  EXPECT_EQ(decoded("unigram-bytes", "to \u4F60\n"), " to \u4F60\n");
  EXPECT_EQ(decoded("bpe-suffix", "To  b\u00E9."), "to be . ");
  EXPECT_EQ(decoded("bpe-prefix", "to  be."), " to be .");
  EXPECT_EQ(decoded("bert-uncased", "To  B\u00E9, (or)."), " to be, ( or ).");
}

TEST(TokenizerTypes, TextWithoutATokenIsRejectedIfThereIsNoUnknownToken) {
  json tokenizer = tokenizer_named("characters")["tokenizer"];
  tokenizer["model"]["unk_token"] = "absent";
  const TokenizerData data = read_tokenizer_json(tokenizer, 150);
  Error error;
  size_t count = 0;
  EXPECT_EQ(encode(data.view(), "ab\u4F60", {}, {}, &count, &error), Status::kInvalidArgument);
  EXPECT_EQ(error.offset, 2u);
}

TEST(TokenizerTypes, ALargeLimitOfCharactersPerWordDoesNotWrap) {
  json tokenizer = tokenizer_named("bert-uncased")["tokenizer"];
  const std::string text = "to be";
  const Tokens expected = call(read_tokenizer_json(tokenizer, 600).view(), text, 10).tokens;
  tokenizer["model"]["max_input_chars_per_word"] = uint64_t{1} << 32;
  EXPECT_EQ(call(read_tokenizer_json(tokenizer, 600).view(), text, 10).tokens, expected);
}

TEST(TokenizerTypes, ThePatternSearchIsLinear) {
  json tokenizer = tokenizer_named("characters")["tokenizer"];
  tokenizer["pre_tokenizer"]["pattern"]["Regex"] = "a*b|a";
  const TokenizerData data = read_tokenizer_json(tokenizer, 150);
  // A quadratic search would take minutes.
  const std::string text(1000000, 'a');
  EXPECT_EQ(call(data.view(), text, text.size()).tokens, Tokens(text.size(), call(data.view(), "a", 1).tokens.at(0)));
}

// Returns the message that rejects tokenizer.json.
std::string rejection(const char* name, const char* place, const json& value) {
  json tokenizer = tokenizer_named(name)["tokenizer"];
  tokenizer[json::json_pointer(place)] = value;
  try {
    (void)read_tokenizer_json(tokenizer, 600);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

json split(const char* pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

TEST(TokenizerTypes, RejectsPatternsThatTheRuntimeCannotFindExactly) {
  const auto message = [](const char* pattern) { return rejection("characters", "/pre_tokenizer", split(pattern)); };
  EXPECT_EQ(message("a|bc{1,3}(?!d)"), "");
  EXPECT_EQ(message("(?:){1000}{1000}{1000}{1000}a"), "");
  for (const auto& [pattern, part] :
       std::vector<std::pair<const char*, const char*>>{{"a*", "matches the empty text"},
                                                        {"(?:aa)*b|(?:aa)*aac", "reads far beyond its match"},
                                                        {"(?<=a)b", "unsupported group"},
                                                        {"(?!ab)c", "look-ahead at more than one"},
                                                        {"a++a", "possessive"},
                                                        {"(?i:fi)", "(?i:fi)"},
                                                        {R"((?i:[^\x{0}-\x{10FFFF}]))", "set inside (?i:"},
                                                        {"\\bword", "escape sequence \\b"},
                                                        {"^a", "'^'"},
                                                        {"(a", "missing closing )"},
                                                        {"a)", "unexpected )"},
                                                        {"\\p{Klingon}", "Klingon"},
                                                        {"a{2000}", "exceeds 1000"},
                                                        {"a???????????????????????", "repetitions of repetitions"}}) {
    EXPECT_NE(message(pattern).find(part), std::string::npos) << pattern << ": " << message(pattern);
  }
}

json added_token(const std::string& text, int id, bool is_normalized) {
  return {{"id", id}, {"content", text}, {"special", true}, {"normalized", is_normalized}};
}

TEST(TokenizerTypes, RejectsAddedTokensThatOverlapInTheOtherOrder) {
  const auto message = [](const std::vector<std::string>& plain, const char* normalized) {
    json tokens = json::array({added_token(normalized, 500, true)});
    for (size_t i = 0; i < plain.size(); ++i) tokens.push_back(added_token(plain[i], 501 + static_cast<int>(i), false));
    return rejection("characters", "/added_tokens", tokens);
  };
  EXPECT_EQ(message({"<xy>", "<a>", "<ab>", "yy"}, "[z]<b"), "");
  EXPECT_NE(message({"<xy>", "<a>", "<ab>"}, "[z]<x").find("overlap"), std::string::npos);  // ends in its beginning
  EXPECT_NE(message({"<x", "<xy>", "aa"}, "[<xyz>").find("overlap"), std::string::npos);    // contains it
}

TEST(TokenizerTypes, DamagedSentencePieceModelsAreReadOrRejected) {
  for (const char* name : {"spiece-few", "spiece-bpe-few"}) {
    const json& type = tokenizer_named(name);
    const std::string model = bytes_of_digits(type["spiece"].get<std::string>());
    size_t rejected = 0;
    for (size_t at = 0; at < model.size(); at += 19) {
      std::string damaged = model;
      damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0x80 : 0x03));
      try {
        const TokenizerData data = read_spiece(damaged, type["size"].get<uint32_t>());
        (void)call(data.view(), "e\u0301 AE \uFB01  hello", 64);
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("spiece.model: "), std::string::npos) << error.what();
        ++rejected;
      }
    }
    EXPECT_GT(rejected, 20u);
    EXPECT_THROW((void)read_spiece(model.substr(0, 700), 150), std::runtime_error);
    EXPECT_THROW((void)read_spiece("", 150), std::runtime_error);
  }
}

TEST(TokenizerTypes, RejectsLongNames) {
  const json tokens = json::array({added_token(std::string(5000, 'a'), 500, false)});
  EXPECT_NE(rejection("characters", "/added_tokens", tokens).find("a name of 5000 bytes"), std::string::npos);
}

TEST(TokenizerTypes, RejectsOtherComponentsByName) {
  const auto expect = [](const char* name, const char* place, const json& value, const char* part) {
    const std::string message = rejection(name, place, value);
    EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
  };
  const json nfc = {{"type", "NFC"}};
  expect("unigram", "/normalizer", {{"type", "Sequence"}, {"normalizers", {nfc, nfc}}}, "NFC after other normalizers");
  expect("unigram", "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "!"}}, "not base64");
  expect("unigram", "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAAAA=="}},
         "a trie of 0 bytes");
  expect("unigram", "/pre_tokenizer", {{"type", "WhitespaceSplit"}}, "does not mark where words begin");
  expect("unigram", "/pre_tokenizer", {{"type", "UnicodeScripts"}}, "UnicodeScripts");
  expect("unigram", "/decoder", {{"type", "CTC"}}, "decoder CTC");
  expect("unigram", "/model/vocab/3", 5, "piece 3");
  expect("bert-cased", "/pre_tokenizer", nullptr, "handle_chinese_chars");
  const json longer = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(32, 'a')}};
  expect("unigram", "/normalizer", {{"type", "Sequence"}, {"normalizers", {longer, longer, longer}}},
         "a character into more than 1024");
  expect("llama", "/normalizer/normalizers/1/content", "xy", "Prepend without Replace");
  expect("llama", "/model/vocab/<0x41>", nullptr, "the id of token");
  expect("bpe-suffix", "/model/continuing_subword_prefix", "##", "with end_of_word_suffix");
  expect("words", "/model/type", "Other", "model Other");
}

}  // namespace
}  // namespace sotto::test
