#include "converters/tokenizers/gguf.h"

#include <stdexcept>
#include <string>

#include "converters/readers/config.h"
#include "converters/tensors/gguf.h"
#include "converters/tokenizers/names.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr char kTokens[] = "tokenizer.ggml.tokens";
constexpr char kTypes[] = "tokenizer.ggml.token_type";
constexpr char kMerges[] = "tokenizer.ggml.merges";

// llama.cpp's numbers for kinds of tokens, without those that only SentencePiece has.
enum Type { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

const json& array_member(const Config& config, const char* key) {
  const json* value = config.find(key);
  if (value == nullptr || !value->is_array()) config.fail(key, "is missing or not an array");
  return *value;
}

const std::string& text_at(const Config& config, const char* key, const json& array, size_t index) {
  if (!array[index].is_string()) config.fail(key, "holds a value that is not a string");
  return array[index].get_ref<const std::string&>();
}

void add_token(const Config& config, const std::string& text, int64_t id, int64_t type, TokenizerNames* names) {
  switch (type) {
    case kNormal:
      return names->add_token(text, id);
    case kControl:
    case kUserDefined:
      // The token of a single byte must also be an ordinary token, because grammars need every byte.
      if (text.size() == 1) names->add_token(text, id);
      return names->add_literal(text, id, type == kControl ? TokenKind::kSpecial : TokenKind::kAdded);
    case kUnused:
      return;
    default:
      config.fail(kTypes, "of token " + in_quotes(text) + " is " + std::to_string(type) +
                              "; supported are 1 (normal), "
                              "3 (control), 4 (user-defined) and 5 (unused)");
  }
}

TokenizerNames read_names(const Config& config, uint32_t vocabulary_size) {
  const json& tokens = array_member(config, kTokens);
  const json* const types = config.find(kTypes);
  if (types != nullptr && (!types->is_array() || types->size() != tokens.size())) {
    config.fail(kTypes, "is not an array of as many types as there are tokens");
  }
  const auto type_at = [&](size_t i) -> int64_t {
    const bool has_type = types != nullptr && (*types)[i].is_number_integer();
    return has_type ? (*types)[i].get<int64_t>() : int64_t{kNormal};
  };
  TokenizerNames names(vocabulary_size);
  for (size_t i = 0; i < tokens.size(); ++i) {
    add_token(config, text_at(config, kTokens, tokens, i), static_cast<int64_t>(i), type_at(i), &names);
  }
  const json& merges = array_member(config, kMerges);
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string& merge = text_at(config, kMerges, merges, i);
    const size_t space = merge.find(' ');
    if (space == std::string::npos || merge.find(' ', space + 1) != std::string::npos) {
      config.fail(kMerges, "holds " + in_quotes(merge) + " at " + std::to_string(i) + ", not two tokens");
    }
    names.add_merge(merge.substr(0, space), merge.substr(space + 1));
  }
  // Old files mark all tokens as normal, so the special ones are found by these keys.
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"}) {
    const uint32_t id = config.count(key, nullptr, vocabulary_size);
    if (id >= tokens.size() || type_at(id) == kUnused) continue;
    names.add_literal(text_at(config, kTokens, tokens, id), id, TokenKind::kSpecial);
  }
  return names;
}

}  // namespace

std::optional<TokenizerData> read_gguf_tokenizer(const std::filesystem::path& path, uint32_t vocabulary_size) {
  const GgufFile file(path);
  const Config config(path.string(), file.values());
  const std::string model = config.text("tokenizer.ggml.model", "");
  if (model.empty() || model == "no_vocab") return std::nullopt;
  if (model != "gpt2") {
    config.fail("tokenizer.ggml.model", "is " + in_quotes(model) + "; only \"gpt2\" is supported");
  }
  if (const std::string pre = config.text("tokenizer.ggml.pre", "gpt-2"); pre != "gpt-2") {
    config.fail("tokenizer.ggml.pre", "is " + in_quotes(pre) + "; only \"gpt-2\" is supported");
  }
  try {
    return read_names(config, vocabulary_size).build();
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.starts_with(path.string()) ? what : path.string() + ": " + what);
  }
}

}  // namespace sotto
