#include "converters/tokenizers/pre_tokenizer.h"

#include <stdexcept>
#include <string>

#include "converters/file.h"
#include "converters/tokenizers/json_members.h"
#include "converters/tokenizers/normalizer.h"
#include "converters/tokenizers/pattern.h"
#include "runtime/model/split_step.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr const char* kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr const char* kPunctuationPattern = R"(\p{tokenizers_punctuation})";
constexpr const char* kChinesePattern =
    R"([\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{2F800}-\x{2FA1F}])";

// Returns a pattern that matches a text literally.
std::string quote_pattern(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}-&/").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

class Reader {
 public:
  explicit Reader(const PreTokenizerOptions& options) : options_(options) {}

  PreTokenizer read(const json& component) {
    if (options_.isolates_chinese) add_bare_step(kChinesePattern, chinese_characters());
    if (!component.is_null()) add(component);
    if (options_.isolates_chinese && !result_.removes_space) {
      reject("handle_chinese_chars without a pre_tokenizer that removes white space");
    }
    return std::move(result_);
  }

 private:
  void add(const json& component) {
    if (!component.is_object()) throw std::runtime_error("pre_tokenizer is not an object");
    const std::string type = type_of(component);
    if (type == "Sequence") {
      const json& components = find_member(component, "pretokenizers");
      if (!components.is_array()) throw std::runtime_error("\"pretokenizers\" is not an array");
      for (const json& each : components) add(each);
      return;
    }
    if (result_.is_byte_level) reject("pre_tokenizer " + type + " after ByteLevel");
    if (type == "ByteLevel") return add_byte_level(component);
    if (type == "Split") return add_split(component);
    if (type == "Digits") {
      const bool is_individual = flag_member(component, "individual_digits");
      return add_step({.pattern = is_individual ? R"(\p{N})" : R"(\p{N}+)"});
    }
    if (type == "Metaspace") return add_metaspace(component);
    if (type == "CharDelimiterSplit") {
      const std::string pattern = quote_pattern(text_member(component, "delimiter"));
      result_.removes_space |= pattern == " ";
      return add_step({.pattern = pattern, .keep_matches = false});
    }
    if (type == "Punctuation") return add_behavior(kPunctuationPattern, text_member(component, "behavior"), false);
    if (type == "Whitespace") {
      result_.removes_space = true;
      return add_step({.pattern = R"(\p{tokenizers_word}+|[^\p{tokenizers_word}\s]+)", .keep_gaps = false});
    }
    if (type != "WhitespaceSplit" && type != "BertPreTokenizer") reject("pre_tokenizer " + type);
    result_.removes_space = true;
    add_step({.pattern = R"(\s+)", .keep_matches = false});
    if (type == "BertPreTokenizer") {
      add_bare_step("[.,!?]", {'!', '!' + 1, ',', ',' + 1, '.', '.' + 1, '?', '?' + 1});
      add_step({.pattern = kPunctuationPattern});
    }
  }

  // Adds a step that isolates characters, each of which becomes a word without a space if the options say so.
  void add_bare_step(const char* pattern, const CharacterSet& characters) {
    add_step({.pattern = pattern, .bare_matches = options_.has_bare_words});
    if (options_.has_bare_words) result_.bare_characters = unite(result_.bare_characters, characters);
  }

  void add_metaspace(const json& component) {
    const bool is_first = step_count_ == 0;
    result_.space = text_member(component, "replacement");
    std::string scheme = flag_member(component, "add_prefix_space", true) ? "always" : "never";
    if (!find_member(component, "prepend_scheme").is_null()) scheme = text_member(component, "prepend_scheme");
    if (scheme != "never" && !is_first) reject("Metaspace with prepend_scheme after another pre_tokenizer");
    if (scheme == "always") {
      result_.prefix_space = PrefixSpace::kIfMissing;
    } else if (scheme == "first") {
      result_.prefix_space = PrefixSpace::kIfMissingAtStart;
    } else if (scheme != "never") {
      reject("prepend_scheme " + scheme);
    }
    if (flag_member(component, "split", true)) add_step({.pattern = " ?[^ ]+| "});
  }

  void add_byte_level(const json& component) {
    result_.is_byte_level = true;
    const bool is_first = result_.split_steps.empty();
    if (flag_member(component, "add_prefix_space")) {
      if (!is_first) reject("ByteLevel with add_prefix_space after another pre_tokenizer");
      result_.prefix_space = PrefixSpace::kIfMissing;
    }
    const bool has_pattern = flag_member(component, "use_regex", true);
    if (has_pattern && is_first) return;  // this is what the runtime does by default
    if (has_pattern || is_first) add_step({.pattern = has_pattern ? kGpt2Pattern : R"([\x00-\x{10FFFF}]+)"});
  }

  void add_split(const json& component) {
    const json& pattern = find_member(component, "pattern");
    std::string text;
    if (!find_member(pattern, "Regex").is_null()) {
      text = text_member(pattern, "Regex");
    } else {
      text = quote_pattern(text_member(pattern, "String"));
      if (text.empty()) return;  // an empty text is never found
    }
    try {
      add_behavior(text, text_member(component, "behavior"), flag_member(component, "invert"));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("pattern " + in_quotes(text) + " of Split: " + error.what());
    }
  }

  void add_behavior(std::string text, const std::string& behavior, bool is_inverted) {
    SplitRule rule;
    if (behavior == "Removed") {
      rule.keep_matches = is_inverted;
      rule.keep_gaps = !is_inverted;
      for (const char* space : {" ", " +", R"(\s)", R"(\s+)"}) result_.removes_space |= !is_inverted && text == space;
    } else if (behavior == "Contiguous") {
      text = "(?:" + text + ")+";
    } else if (behavior != "Isolated") {
      reject("Split with behavior " + behavior);
    }
    rule.pattern = text;
    add_step(rule);
  }

  void add_step(const SplitRule& rule) {
    if (++step_count_ > kMaxSplitSteps) reject("a sequence of more than 8 pre_tokenizers");
    append_split_step(rule, &result_.split_steps);
  }

  const PreTokenizerOptions options_;
  PreTokenizer result_;
  size_t step_count_ = 0;
};

}  // namespace

PreTokenizer read_pre_tokenizer(const json& component, const PreTokenizerOptions& options) {
  return Reader(options).read(component);
}

}  // namespace sotto
