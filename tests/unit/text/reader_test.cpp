// Tests tokenizer files in all their forms, and those that are rejected.
#include "converters/tokenizers/reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converters/tokenizers/names.h"
#include "tests/unit/text/text_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;
using Tokens = std::vector<int32_t>;
using Files = std::vector<std::pair<const char*, std::string>>;

constexpr const char* kVocabulary = R"({"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120ab": 4, "<|endoftext|>": 5})";
constexpr const char* kMerges = "#version: 0.2\na b\n\u0120 ab\n";

std::optional<TokenizerData> read(const Files& files, uint32_t vocabulary_size = 8) {
  const TemporaryDirectory directory;
  for (const auto& [name, text] : files) write_file(directory.path() / name, text);
  return read_tokenizer_directory(directory.path(), vocabulary_size);
}

// Returns the message that reading throws, or an empty string.
std::string error_of(const Files& files, uint32_t vocabulary_size = 8) {
  try {
    (void)read(files, vocabulary_size);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

#define EXPECT_ERROR(files, ...)                                                 \
  for (const std::string part : {__VA_ARGS__}) {                                 \
    EXPECT_NE(error_of(files).find(part), std::string::npos) << error_of(files); \
  }

json whole_tokenizer() {
  return json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
    "added_tokens": [
      {"id": 5, "content": "<|endoftext|>", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false, "special": true},
      {"id": 6, "content": "  ", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": true, "special": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
    "post_processor": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null,
      "continuing_subword_prefix": "", "end_of_word_suffix": null, "fuse_unk": false,
      "byte_fallback": false, "ignore_merges": false,
      "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120ab": 4},
      "merges": ["a b", "\u0120 ab"]}})");
}

// Returns tokenizer.json with the value at `pointer` replaced.
Files with(const char* pointer, json value) {
  json tokenizer = whole_tokenizer();
  tokenizer[json::json_pointer(pointer)] = std::move(value);
  return {{"tokenizer.json", tokenizer.dump()}};
}

TEST(TokenizerReader, ADirectoryWithoutTokenizerHasNone) { EXPECT_EQ(read({{"config.json", "{}"}}), std::nullopt); }

TEST(TokenizerReader, VocabularyAndMerges) {
  for (const char* merges : {kMerges, "a b\n\u0120 ab", "#version: 0.2\r\na b\r\n\u0120 ab\r\n\r\n"}) {
    for (const bool first_names : {false, true}) {
      const auto data = read({{first_names ? "encoder.json" : "vocab.json", kVocabulary},
                              {first_names ? "vocab.bpe" : "merges.txt", merges}});
      ASSERT_TRUE(data);
      EXPECT_EQ(encode_all(data->view(), "ab ab<|endoftext|>a", true), (Tokens{3, 4, 5, 0}));
      EXPECT_EQ(data->token_kinds, (std::vector<TokenKind>{TokenKind::kNormal, TokenKind::kNormal, TokenKind::kNormal,
                                                           TokenKind::kNormal, TokenKind::kNormal, TokenKind::kSpecial,
                                                           TokenKind::kUnused, TokenKind::kUnused}));
      EXPECT_EQ(data->prefix_space, PrefixSpace::kNever);
    }
  }
}

TEST(TokenizerReader, ReadsSpecialTokensFromFilesNextToTheVocabulary) {
  const auto data = read(
      {
          {"vocab.json", kVocabulary},
          {"merges.txt", kMerges},
          {"added_tokens.json", R"({"<pad>": 6, "  ": 7})"},
          {"special_tokens_map.json", R"({"pad_token": {"content": "<pad>", "lstrip": false},
                                      "bos_token": "<|endoftext|>", "unk_token": null,
                                      "additional_special_tokens": ["<mask>"]})"},
          {"tokenizer_config.json", R"({"add_prefix_space": true, "added_tokens_decoder":
          {"8": {"content": "<mask>", "special": true}, "9": {"content": "\t\t"}}})"},
      },
      10);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->prefix_space, PrefixSpace::kIfMissing);
  EXPECT_EQ(data->token_kinds[5], TokenKind::kSpecial);
  EXPECT_EQ(data->token_kinds[6], TokenKind::kSpecial);
  EXPECT_EQ(data->token_kinds[7], TokenKind::kAdded);
  EXPECT_EQ(data->token_kinds[8], TokenKind::kSpecial);
  EXPECT_EQ(data->token_kinds[9], TokenKind::kAdded);
  EXPECT_EQ(encode_all(data->view(), " ab  \t\t<pad>", true), (Tokens{4, 7, 9, 6}));
}

// Grammars would lack a byte that no text can contain.
TEST(TokenizerReader, TokensOfBytesStayText) {
  for (const Files& more :
       {Files{{"special_tokens_map.json", R"({"pad_token": "a"})"}, {"tokenizer_config.json", R"({"pad_token": "a"})"}},
        Files{{"tokenizer_config.json", R"({"added_tokens_decoder":
                                      {"0": {"content": "a", "special": true}}})"}}}) {
    Files files = {{"vocab.json", kVocabulary}, {"merges.txt", kMerges}};
    files.insert(files.end(), more.begin(), more.end());
    const auto data = read(files);
    ASSERT_TRUE(data);
    EXPECT_EQ(data->token_kinds[0], TokenKind::kNormal);
    ASSERT_EQ(data->notes.size(), 1u);
    EXPECT_NE(data->notes[0].find("token \"a\""), std::string::npos) << data->notes[0];
    EXPECT_EQ(encode_all(data->view(), "ab", true), (Tokens{3}));
  }
  const json byte = {{"id", 0}, {"content", "a"}, {"special", true}};
  const auto whole = read(with("/added_tokens/1", byte));
  EXPECT_EQ(whole->token_kinds[0], TokenKind::kNormal);
  EXPECT_EQ(whole->notes.size(), 1u);
  EXPECT_TRUE(read({{"tokenizer.json", whole_tokenizer().dump()}})->notes.empty());
}

TEST(TokenizerReader, DamagedVocabulariesAreErrorsWithTheirFile) {
  const auto files = [](const std::string& vocabulary, const std::string& merges) {
    return Files{{"vocab.json", vocabulary}, {"merges.txt", merges}};
  };
  EXPECT_ERROR(files("{", kMerges), "vocab.json");
  EXPECT_ERROR(files("[]", kMerges), "vocab.json: not a JSON object");
  EXPECT_ERROR(files(R"({"a": 0, "a": 1})", kMerges), "vocab.json", "\"a\"", "duplicate key");
  EXPECT_ERROR(files(R"({"a": 0, "b": 0})", ""), "vocab.json", "same id 0");
  EXPECT_ERROR(files(R"({"a": 8})", ""), "vocab.json: token \"a\" has id 8", "8 tokens");
  EXPECT_ERROR(files(R"({"a": -1})", ""), "has id -1");
  EXPECT_ERROR(files(R"({"a": "x"})", ""), "not an integer");
  EXPECT_ERROR(files(kVocabulary, "a b\na c\n"), "merges.txt: line 2", "\"c\"");
  EXPECT_ERROR(files(kVocabulary, "b a\n"), "merges.txt: line 1", "\"ba\"");
  EXPECT_ERROR(files(kVocabulary, "a b\n\na b\n"), "merges.txt: line 2: not two tokens");
  EXPECT_ERROR(files(kVocabulary, "a b c\n"), "line 1: not two tokens");
  EXPECT_ERROR((Files{{"vocab.json", kVocabulary}}), "merges.txt: missing");
  EXPECT_ERROR((Files{{"vocab.bpe", kMerges}}), "encoder.json: missing");
}

TEST(TokenizerReader, DamagedSpecialTokensAreErrorsWithTheirFile) {
  const auto files = [](const char* name, const char* text) {
    return Files{{"vocab.json", kVocabulary}, {"merges.txt", kMerges}, {name, text}};
  };
  EXPECT_ERROR(files("added_tokens.json", R"({"<pad>": 0})"), "added_tokens.json", "same id 0");
  EXPECT_ERROR(files("added_tokens.json", R"({"ab": 6})"), "both id 3 and id 6");
  EXPECT_ERROR(files("added_tokens.json", R"({"<pad>": 9})"), "has id 9");
  EXPECT_ERROR(files("added_tokens.json", R"({"\u0120ab": 4})"), "means other bytes");
  EXPECT_ERROR(files("added_tokens.json", R"({"": 6})"), "empty");
  EXPECT_ERROR(files("added_tokens.json", R"({"x": 6.5})"), "the id of token \"x\" is 6.5, not");
  EXPECT_ERROR(files("added_tokens.json", R"({"x": 18446744073709551615})"), "18446744073709551");
  EXPECT_ERROR(files("special_tokens_map.json", R"({"pad_token": 5})"), "\"pad_token\" gives no");
  for (const char* key : {"abc", "", "6x", " 6", "6.0", "18446744073709551615"}) {
    const json tokens = {{"added_tokens_decoder", {{key, {{"content", "y"}}}}}};
    EXPECT_ERROR(files("tokenizer_config.json", tokens.dump().c_str()),
                 "json: \"added_tokens_decoder\": " + json(key).dump() + " is not a token id");
  }
  EXPECT_ERROR(files("special_tokens_map.json", R"({"pad_token": "<pad>"})"),
               "special_tokens_map.json: token \"<pad>\" has no id");
  EXPECT_ERROR(files("special_tokens_map.json", R"({"pad_token": {"content": "<|endoftext|>", "lstrip": true}})"),
               "lstrip");
  EXPECT_ERROR(files("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "y"}}})"),
               "tokenizer_config.json");
}

TEST(TokenizerReader, TokenizerJsonIsPreferredToVocabJson) {
  json tokenizer = whole_tokenizer();
  const auto data = read({{"tokenizer.json", tokenizer.dump()}, {"vocab.json", "ignored"}});
  ASSERT_TRUE(data);
  EXPECT_EQ(encode_all(data->view(), "ab ab<|endoftext|>a  b", true), (Tokens{3, 4, 5, 0, 6, 1}));
  tokenizer["model"]["merges"] = json::array({{"a", "b"}, {"\u0120", "ab"}});
  tokenizer["model"].erase("type");
  tokenizer["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {tokenizer["pre_tokenizer"]}}};
  tokenizer["decoder"] = {{"type", "Sequence"}, {"decoders", {tokenizer["decoder"]}}};
  const auto same = read({{"tokenizer.json", tokenizer.dump()}});
  EXPECT_EQ(same->merge_index, data->merge_index);
  EXPECT_EQ(same->token_bytes, data->token_bytes);
  EXPECT_EQ(read(with("/pre_tokenizer/add_prefix_space", true))->prefix_space, PrefixSpace::kIfMissing);
  EXPECT_TRUE(read(with("/post_processor", nullptr)));
}

TEST(TokenizerReader, ReadsTheListOfBertTokenizer) {
  const char* list = "[PAD]\n[UNK]\nhe\n##he\n\u4F60\n##\u4F60\n,\n";
  const auto data = read({{"vocab.txt", list}});
  ASSERT_TRUE(data);
  EXPECT_EQ(encode_all(data->view(), "HeHE,\u4F60\u4F60[PAD] h\u00E9", true), (Tokens{2, 3, 6, 4, 4, 0, 2}));
  EXPECT_EQ(encode_all(data->view(), "xhe", true), Tokens{1});
  const auto cased = read({{"vocab.txt", list}, {"tokenizer_config.json", R"({"do_lower_case": false})"}});
  EXPECT_EQ(encode_all(cased->view(), "HeHE he"), (Tokens{1, 2}));
  EXPECT_ERROR((Files{{"vocab.txt", "he\n"}}), "vocab.txt: token \"[UNK]\" is missing");
  EXPECT_ERROR((Files{{"vocab.txt", list}, {"tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer"})"}}),
               "vocab.txt: EsmTokenizer is not supported");
}

TEST(TokenizerReader, RejectsFeaturesThatGpt2Lacks) {
  const json sequence = json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "ByteLevel", "add_prefix_space": false}, {"type": "Digits"}]})");
  const json bos = json::parse(R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})");
  EXPECT_ERROR(with("/normalizer", {{"type", "ByteLevel"}}), "tokenizer.json: normalizer ByteLevel");
  EXPECT_ERROR(with("/pre_tokenizer", {{"type", "UnicodeScripts"}}), "pre_tokenizer UnicodeScripts");
  EXPECT_ERROR(with("/pre_tokenizer", nullptr), "decoder ByteLevel");
  EXPECT_ERROR(with("/pre_tokenizer", sequence), "Digits after ByteLevel");
  EXPECT_ERROR(with("/decoder", {{"type", "WordPiece"}}), "decoder WordPiece");
  EXPECT_ERROR(with("/post_processor", bos), "template");
  EXPECT_ERROR(with("/post_processor", {{"type", "BertProcessing"}}), "BertProcessing");
  EXPECT_ERROR(with("/model/type", "Unigram"), "model Unigram");
  EXPECT_ERROR(with("/model/dropout", 0.1), "dropout");
  EXPECT_ERROR(with("/model/ignore_merges", true), "ignore_merges");
  EXPECT_ERROR(with("/model/byte_fallback", true), "byte_fallback");
  EXPECT_ERROR(with("/model/continuing_subword_prefix", "##"), "continuing_subword_prefix");
  EXPECT_ERROR(with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix");
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    EXPECT_ERROR(with(("/added_tokens/0/" + std::string(flag)).c_str(), true), flag);
  }
}

TEST(TokenizerReader, RejectsAddedTokensWhoseOverlapDependsOnTheirOrder) {
  for (const char* text : {"x<|endoftext|>", "ab<|", "<", "x<|endoftext|>y"}) {
    EXPECT_ERROR(with("/added_tokens/1/content", text), "overlap");
  }
  for (const char* text : {"<|end.", "text|>x", "|>"}) {
    EXPECT_EQ(error_of(with("/added_tokens/1/content", text)), "") << text;
  }
}

TEST(TokenizerReader, DamagedTokenizerJsonIsAnErrorWithItsFile) {
  EXPECT_ERROR((Files{{"tokenizer.json", "{}"}}), "tokenizer.json: ", "model");
  EXPECT_ERROR(with("/model/vocab", json::array()), "not a JSON object");
  EXPECT_ERROR(with("/model/merges", "a b"), "not an array");
  EXPECT_ERROR(with("/model/merges/1", "a"), "merge 1: not two tokens");
  EXPECT_ERROR(with("/model/merges/1", 5), "merge 1");
  EXPECT_ERROR(with("/model/merges/1", json::array({"a", "x"})), "merge 1", "\"x\"");
  EXPECT_ERROR(with("/added_tokens/0/id", 8), "has id 8");
  EXPECT_ERROR(with("/added_tokens/0/id", 1), "same id 1");
  EXPECT_ERROR(with("/added_tokens/0/id", "5"), "tokenizer.json");
  EXPECT_ERROR(with("/added_tokens/0", "x"), "tokenizer.json");
}

// Puts values of all types in all places. Rejections must name the file and the field.
void expect_named_refusals(const char* name, const json& good, Files files) {
  std::vector<json::json_pointer> places;
  const json flat = good.flatten();
  for (const auto& [text, value] : flat.items()) {
    for (json::json_pointer place(text); !place.empty(); place.pop_back()) places.push_back(place);
  }
  files.push_back({name, ""});
  for (const json::json_pointer& place : places) {
    for (const char* text : {"null", "7", "1.5", "-1", "\"x\"", "[]", "[[]]", "{}", "true"}) {
      json changed = good;
      changed[place] = json::parse(text);
      files.back().second = changed.dump();
      const std::string message = error_of(files);
      EXPECT_TRUE(message.empty() || message.find("json: ") != std::string::npos) << message;
      EXPECT_EQ(message.find("exception"), std::string::npos) << place << message;
    }
  }
}

TEST(TokenizerReader, RejectsWrongTypesByName) {
  expect_named_refusals("tokenizer.json", whole_tokenizer(), {});
  const Files files = {{"vocab.json", kVocabulary}, {"merges.txt", kMerges}};
  const json settings = json::parse(R"({"pad_token": {"content": "<|endoftext|>", "lstrip": false},
      "additional_special_tokens": ["<|endoftext|>"], "add_prefix_space": true,
      "added_tokens_decoder": {"6": {"content": "x", "special": true}}})");
  expect_named_refusals("tokenizer_config.json", settings, files);
  expect_named_refusals("added_tokens.json", json{{"x", 6}}, files);
}

TEST(BytesOfName, TheAlphabetIsOneToOne) {
  EXPECT_EQ(bytes_of_name("\u0120Hi!"), " Hi!");
  EXPECT_EQ(bytes_of_name("\u010A\u0109\u00C3\u00A9"), "\n\t\xC3\xA9");
  EXPECT_EQ(bytes_of_name("\u0100\u0121\u0142\u0143"), std::string("\x00\x7F\xA0\xAD", 4));
  EXPECT_EQ(bytes_of_name("\u0144"), std::nullopt);
  EXPECT_EQ(bytes_of_name("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_name("\u00AD"), std::nullopt);
  EXPECT_EQ(bytes_of_name("\xFF"), std::nullopt);
  EXPECT_EQ(bytes_of_name(""), "");
}

}  // namespace
}  // namespace sotto::test
