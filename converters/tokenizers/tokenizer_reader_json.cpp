// tokenizer.json, the format of the `tokenizers` library.
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/strict_json.h"
#include "converters/tokenizers/tokenizer_reader_files.h"

namespace sotto {

using nlohmann::json;

namespace {

std::string type_of(const json& component) {
  const json& type = find_member(component, "type");
  return type.is_string() ? type.get<std::string>() : component.dump();
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what + " is not supported: it would give other tokens than GPT-2's");
}

// A component, or the only one of a sequence.
const json& only_component(const json& component, const char* list, const char* what) {
  if (!component.is_object() || type_of(component) != "Sequence") return component;
  const json& components = find_member(component, list);
  if (!components.is_array() || components.size() != 1) {
    refuse(std::string("a sequence as ") + what);
  }
  return components.at(0);
}

// Returns add_prefix_space.
bool check_pre_tokenizer(const json& tokenizer) {
  const json& component = only_component(find_member(tokenizer, "pre_tokenizer"), "pretokenizers", "pre_tokenizer");
  if (component.is_null()) refuse("a tokenizer without pre_tokenizer");
  if (type_of(component) != "ByteLevel") refuse("pre_tokenizer " + type_of(component));
  if (component.contains("use_regex") && !flag_member(component, "use_regex")) {
    refuse("ByteLevel without use_regex");
  }
  return flag_member(component, "add_prefix_space");
}

void check_other_components(const json& tokenizer) {
  const json& normalizer = find_member(tokenizer, "normalizer");
  if (!normalizer.is_null()) refuse("normalizer " + type_of(normalizer));
  const json& decoder = only_component(find_member(tokenizer, "decoder"), "decoders", "decoder");
  if (!decoder.is_null() && type_of(decoder) != "ByteLevel") {
    refuse("decoder " + type_of(decoder));
  }
  const json& processor = find_member(tokenizer, "post_processor");
  if (processor.is_null() || type_of(processor) == "ByteLevel") return;
  if (type_of(processor) != "TemplateProcessing") refuse("post_processor " + type_of(processor));
  for (const json& piece : find_member(processor, "single")) {
    if (piece.contains("SpecialToken")) refuse("a template that adds special tokens");
  }
}

void check_model(const json& model) {
  const bool has_type = !find_member(model, "type").is_null();
  if (has_type && type_of(model) != "BPE") refuse("model " + type_of(model));
  const json& dropout = find_member(model, "dropout");
  if (!dropout.is_null() && dropout != 0) refuse("dropout");
  for (const char* flag : {"ignore_merges", "byte_fallback"}) {
    if (flag_member(model, flag)) refuse(flag);
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& value = find_member(model, affix);
    if (!value.is_null() && value != "") refuse(affix);
  }
}

// ["left", "right"] or "left right".
std::pair<std::string, std::string> tokens_of(const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    throw std::runtime_error("not two tokens");
  }
  return {text.substr(0, space), text.substr(space + 1)};
}

void add_merges(const json& merges, TokenizerNames* names) {
  if (!merges.is_array()) throw std::runtime_error("merges is not an array");
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const json& merge = merges[rank];
    try {
      const auto [left, right] = tokens_of(merge);
      names->add_merge(left, right);
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
    const std::string text = text_member(token, "content");
    check_plain_match(token, text);
    (flag_member(token, "normalized") ? second : first).push_back(text);
    names->add_literal(text, token_id(find_member(token, "id"), text),
                       flag_member(token, "special") ? TokenKind::kSpecial : TokenKind::kAdded);
  }
  for (const std::string& inner : first) {
    for (const std::string& outer : second) {
      if (can_start_within(inner, outer)) {
        refuse("overlap of added tokens " + in_quotes(inner) + " and, normalized, " + in_quotes(outer));
      }
    }
  }
}

}  // namespace

TokenizerData read_tokenizer_json(const std::filesystem::path& path, uint32_t vocabulary_size) {
  const json tokenizer = read_json_object(path);
  return with_path(path, [&] {
    const json& model = find_member(tokenizer, "model");
    if (!model.is_object()) throw std::runtime_error("\"model\" is not an object");
    check_model(model);
    check_other_components(tokenizer);
    const bool add_prefix_space = check_pre_tokenizer(tokenizer);
    TokenizerNames names(vocabulary_size);
    add_vocabulary(find_member(model, "vocab"), &names);
    add_merges(find_member(model, "merges"), &names);
    add_added_tokens(find_member(tokenizer, "added_tokens"), &names);
    return names.build(add_prefix_space);
  });
}

}  // namespace sotto
