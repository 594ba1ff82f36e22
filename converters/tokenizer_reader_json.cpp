// tokenizer.json, the format of the `tokenizers` library.
#include <stdexcept>
#include <string_view>
#include <vector>

#include "converters/strict_json.h"
#include "converters/tokenizer_reader_files.h"

namespace sotto {

using nlohmann::json;

namespace {

// Absent and null mean the same throughout the format.
const json& get(const json& object, const char* key) {
  static const json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

bool is_true(const json& object, const char* key) {
  const json& value = get(object, key);
  return !value.is_null() && value.get<bool>();
}

std::string type_of(const json& component) {
  const json& type = get(component, "type");
  return type.is_string() ? type.get<std::string>() : component.dump();
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what + " is not supported: it would give other tokens than GPT-2's");
}

// A component, or the only one of a sequence.
const json& only_component(const json& component, const char* list, const char* what) {
  if (!component.is_object() || type_of(component) != "Sequence") return component;
  const json& components = get(component, list);
  if (components.size() != 1) refuse(std::string("a sequence as ") + what);
  return components.at(0);
}

// Returns add_prefix_space.
bool check_pre_tokenizer(const json& tokenizer) {
  const json& component =
      only_component(get(tokenizer, "pre_tokenizer"), "pretokenizers", "pre_tokenizer");
  if (component.is_null()) refuse("a tokenizer without pre_tokenizer");
  if (type_of(component) != "ByteLevel") refuse("pre_tokenizer " + type_of(component));
  if (component.contains("use_regex") && !is_true(component, "use_regex")) {
    refuse("ByteLevel without use_regex");
  }
  return is_true(component, "add_prefix_space");
}

void check_other_components(const json& tokenizer) {
  const json& normalizer = get(tokenizer, "normalizer");
  if (!normalizer.is_null()) refuse("normalizer " + type_of(normalizer));
  const json& decoder = only_component(get(tokenizer, "decoder"), "decoders", "decoder");
  if (!decoder.is_null() && type_of(decoder) != "ByteLevel") {
    refuse("decoder " + type_of(decoder));
  }
  const json& processor = get(tokenizer, "post_processor");
  if (processor.is_null() || type_of(processor) == "ByteLevel") return;
  if (type_of(processor) != "TemplateProcessing") refuse("post_processor " + type_of(processor));
  for (const json& piece : get(processor, "single")) {
    if (piece.contains("SpecialToken")) refuse("a template that adds special tokens");
  }
}

void check_model(const json& model) {
  if (!get(model, "type").is_null() && type_of(model) != "BPE") refuse("model " + type_of(model));
  const json& dropout = get(model, "dropout");
  if (!dropout.is_null() && dropout.get<double>() != 0) refuse("dropout");
  for (const char* flag : {"ignore_merges", "byte_fallback"}) {
    if (is_true(model, flag)) refuse(flag);
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& value = get(model, affix);
    if (!value.is_null() && value.get<std::string>() != "") refuse(affix);
  }
}

void add_merges(const json& merges, TokenizerNames* names) {
  if (!merges.is_array()) throw std::runtime_error("merges is not an array");
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const json& merge = merges[rank];
    try {
      if (merge.is_array() && merge.size() == 2) {
        names->add_merge(merge[0].get<std::string>(), merge[1].get<std::string>());
        continue;
      }
      const std::string text = merge.get<std::string>();
      const size_t space = text.find(' ');
      if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
        throw std::runtime_error("not two tokens");
      }
      names->add_merge(text.substr(0, space), text.substr(space + 1));
    } catch (const std::exception& error) {
      throw std::runtime_error("merge " + std::to_string(rank) + ": " + error.what());
    }
  }
}

// Whether `inner` and `outer` agree wherever they overlap when inner starts within outer.
bool can_start_within(std::string_view inner, std::string_view outer) {
  for (size_t at = 0; at < outer.size(); ++at) {
    const std::string_view rest = outer.substr(at);
    const size_t size = std::min(rest.size(), inner.size());
    if (rest.substr(0, size) == inner.substr(0, size)) return true;
  }
  return false;
}

// Tokens with "normalized" are looked for only in what the others leave. Searching for all
// at once, as the runtime does, differs where one of the others begins inside of one.
void add_added_tokens(const json& tokens, TokenizerNames* names) {
  std::vector<std::string> first, second;
  for (const json& token : tokens) {
    const auto text = token.at("content").get<std::string>();
    check_plain_match(token, text);
    (is_true(token, "normalized") ? second : first).push_back(text);
    names->add_literal(text, token.at("id").get<int64_t>(),
                       is_true(token, "special") ? TokenKind::kSpecial : TokenKind::kAdded);
  }
  for (const std::string& inner : first) {
    for (const std::string& outer : second) {
      if (can_start_within(inner, outer)) {
        refuse("overlap of added tokens " + in_quotes(inner) + " and, normalized, " +
               in_quotes(outer));
      }
    }
  }
}

}  // namespace

TokenizerData read_tokenizer_json(const std::filesystem::path& path, uint32_t vocabulary_size) {
  const json tokenizer = read_json_object(path);
  return with_path(path, [&] {
    const json& model = tokenizer.at("model");
    check_model(model);
    check_other_components(tokenizer);
    const bool add_prefix_space = check_pre_tokenizer(tokenizer);
    TokenizerNames names(vocabulary_size);
    add_vocabulary(model.at("vocab"), &names);
    add_merges(model.at("merges"), &names);
    add_added_tokens(get(tokenizer, "added_tokens"), &names);
    return names.build(add_prefix_space);
  });
}

}  // namespace sotto
