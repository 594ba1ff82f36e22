#include "converters/tokenizers/normalizer.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "converters/tokenizers/json_members.h"
#include "converters/tokenizers/pattern.h"
#include "runtime/base/utf8.h"

namespace sotto {
namespace {

using nlohmann::json;
using CodePoints = std::vector<uint32_t>;

CodePoints decode(std::string_view text) {
  CodePoints result;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = decode_utf8(text.data() + at, text.size() - at);
    result.push_back(character.code_point);
    at += character.size;
  }
  return result;
}

std::string encode(const CodePoints& text) {
  std::string result;
  for (const uint32_t code_point : text) {
    uint8_t bytes[4];
    const uint32_t size = encode_utf8(code_point, bytes);
    result.append(reinterpret_cast<const char*>(bytes), size);
  }
  return result;
}

CodePoints mapped(std::span<const CharacterMapping> table, uint32_t character) {
  const auto found = std::lower_bound(
      table.begin(), table.end(), character,
      [](const CharacterMapping& mapping, uint32_t code_point) { return mapping.code_point < code_point; });
  if (found == table.end() || found->code_point != character) return {character};
  return decode(found->text);
}

// A grapheme cluster (Unicode Standard Annex 29). Only clusters of less than 6 bytes matter here. Those of Hangul and
// regional indicators are longer, so their rules are omitted.
constexpr const char* kGraphemeCluster =
    R"(\r\n|\p{cluster_control}|\p{cluster_prepend}*(?:\p{cluster_pictograph}(?:\p{cluster_extend}*\x{200D}\p{cluster_pictograph})*|[^\p{cluster_control}\p{cluster_prepend}])\p{cluster_extend}*|\p{cluster_prepend}+)";

constexpr uint32_t kHangulVowels = 21, kHangulTrails = 28;
constexpr uint32_t kHangulFirst = 0xAC00, kHangulEnd = kHangulFirst + 19 * kHangulVowels * kHangulTrails;

// Returns the canonical decomposition of a Hangul syllable (Unicode 3.12).
CodePoints decompose_hangul(uint32_t character) {
  constexpr uint32_t kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11A7;
  if (character < kHangulFirst || character >= kHangulEnd) return {character};
  const uint32_t syllable = character - kHangulFirst;
  CodePoints result = {kLead + syllable / (kHangulVowels * kHangulTrails),
                       kVowel + syllable / kHangulTrails % kHangulVowels};
  if (syllable % kHangulTrails != 0) result.push_back(kTrail + syllable % kHangulTrails);
  return result;
}

// Combines a sequence of steps that change single characters into one table. Between two edges, the steps keep all
// characters, remove all of them, or replace each one. Only replaced characters have to be listed.
class CharacterSteps {
 public:
  bool is_empty() const { return steps_.empty() && !isolates_chinese_; }

  // Adds a step that replaces characters according to a table.
  void add(std::span<const CharacterMapping> table) {
    for (const CharacterMapping& mapping : table) add_edges(range_set(mapping.code_point, mapping.code_point));
    steps_.emplace_back([table](uint32_t character) { return mapped(table, character); });
  }
  // Adds a step that replaces each character of a set by the same text.
  void add(CharacterSet set, CodePoints text) {
    add_edges(set);
    steps_.emplace_back([changed = std::move(set), to = std::move(text)](uint32_t c) {
      return contains(changed, c) ? to : CodePoints{c};
    });
  }
  void add_hangul() {
    add_edges({kHangulFirst, kHangulEnd});
    steps_.emplace_back(decompose_hangul);
  }
  // Puts spaces around Chinese characters, unless the steps change them.
  void isolate_chinese() { isolates_chinese_ = true; }

  NormalizerData::Characters table() {
    NormalizerData::Characters result;
    const CharacterSet chinese = isolates_chinese_ ? chinese_characters() : CharacterSet();
    add_edges(chinese);
    add_edges({0});
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    bool is_removing = false;
    for (size_t i = 0; i < edges_.size() && edges_[i] < kCodePointEnd; ++i) {
      const uint32_t first = edges_[i];
      const uint32_t end = i + 1 < edges_.size() ? edges_[i + 1] : kCodePointEnd;
      for (uint32_t character = first; character < end; ++character) {
        const CodePoints text = normalize(character, chinese);
        if (text.empty() != is_removing) {
          is_removing = !is_removing;
          result.removed.push_back(character);
        }
        if (text.empty() || text == CodePoints{character}) break;  // no character before the next edge changes either
        if (is_scalar_value(character)) result.replace(character, encode(text));
      }
    }
    if (is_removing) result.removed.push_back(kCodePointEnd);
    return result;
  }

 private:
  using Step = std::function<CodePoints(uint32_t)>;

  void add_edges(const CharacterSet& set) { edges_.insert(edges_.end(), set.begin(), set.end()); }

  CodePoints normalize(uint32_t character, const CharacterSet& chinese) const {
    CodePoints text = {character};
    for (const Step& step : steps_) {
      CodePoints next;
      for (const uint32_t each : text) {
        const CodePoints part = step(each);
        next.insert(next.end(), part.begin(), part.end());
        if (next.size() > kMaxTokenBytes) reject("a normalizer that turns a character into more than 1024");
      }
      text = std::move(next);
    }
    if (contains(chinese, character) && !(text.size() == 1 && contains(chinese, text[0]))) {
      text.insert(text.begin(), ' ');
      text.push_back(' ');
    }
    return text;
  }

  std::vector<Step> steps_;
  std::vector<uint32_t> edges_;  // code points where the effect of the steps may change
  bool isolates_chinese_ = false;
};

// Decodes base64 (RFC 4648).
std::string decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) throw std::runtime_error("\"precompiled_charsmap\" is not base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 0) bytes.push_back(static_cast<char>(bits >> (6 - 2 * (i % 4))));
  }
  return bytes;
}

// Translates the components of a normalizer in their order. The runtime applies its tables in a fixed order
// (runtime/text/normalizer.h). A change of characters therefore becomes part of the first or of the last table.
// Components in an order that the tables cannot reproduce are rejected.
class Reader {
 public:
  Normalizer read(const json& component, const std::string& space) {
    if (!component.is_null()) add(component);
    if (!prepended_.empty() && result_.space.empty()) reject("normalizer Prepend without Replace");
    result_.prepends_space = !prepended_.empty();
    if (result_.space.empty()) result_.space = space;
    if (result_.space != space && !space.empty()) reject("two characters in place of a space");
    if (!result_.space.empty()) {
      // The bytes of tokens contain a space instead of this character, so the text must contain a space as well.
      const CodePoints symbol = decode(result_.space);
      if (symbol.size() != 1) reject("a replacement for spaces that is not a character");
      const bool is_last = (tables().space_rules & kMergeSpaces) != 0 || !tables().rule_trie.empty();
      (is_last ? last_ : first_).add(range_set(symbol[0], symbol[0]), {' '});
    }
    tables().characters = first_.table();
    tables().last_characters = last_.table();
    if (form_ != Form::kNone) {
      tables().combining_classes.assign(std::begin(kCombiningClasses), std::end(kCombiningClasses));
    }
    if (form_ == Form::kComposed) {
      tables().compositions.assign(std::begin(kCompositions), std::end(kCompositions));
    }
    return std::move(result_);
  }

 private:
  enum class Form { kNone, kDecomposed, kComposed };

  NormalizerData& tables() { return result_.tables; }

  // Returns the table of the next step, which is applied before or after the other normalizations.
  CharacterSteps& next_table() {
    const bool is_last = form_ == Form::kComposed || !tables().rule_trie.empty() || tables().space_rules != 0;
    return is_last || !last_.is_empty() ? last_ : first_;
  }

  void add(const json& component) {
    if (!component.is_object()) throw std::runtime_error("normalizer is not an object");
    const std::string type = type_of(component);
    if (type == "Sequence") {
      const json& components = find_member(component, "normalizers");
      if (!components.is_array()) throw std::runtime_error("\"normalizers\" is not an array");
      for (const json& each : components) add(each);
    } else if (type == "BertNormalizer") {
      add_bert(component);
    } else if (type == "Lowercase") {
      next_table().add(kLowerCase);
    } else if (type == "Nmt") {
      add_nmt();
    } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
      add_form(type);
    } else if (type == "Precompiled") {
      add_precompiled(component);
    } else if (type == "StripAccents") {
      CharacterSteps& table = next_table();
      if (form_ == Form::kDecomposed) form_ = Form::kNone;  // no reordering is needed without these marks
      table.add(set_of([](uint32_t properties) { return (properties & kAccentBit) != 0; }), {});
    } else if (type == "Prepend") {
      prepended_ = text_member(component, "prepend");
      if (!result_.space.empty()) reject("normalizer Prepend after Replace");
    } else if (type == "Replace") {
      add_replace(component);
    } else if (type == "Strip") {
      add_space_rules((flag_member(component, "strip_left") ? kStripStart : 0) |
                      (flag_member(component, "strip_right") ? kStripEnd : 0) | kStripWhiteSpace);
    } else {
      reject("normalizer " + type);
    }
  }

  void add_bert(const json& component) {
    CharacterSteps& table = next_table();
    const bool lower_case = flag_member(component, "lowercase", true);
    if (flag_member(component, "clean_text", true)) {
      table.add(set_of([](uint32_t properties) { return (properties & kBertControlBit) != 0; }), {});
      table.add(set_of([](uint32_t properties) { return (properties & kBertSpaceBit) != 0; }), {' '});
    }
    if (isolates_chinese(component)) table.isolate_chinese();
    if (flag_member(component, "strip_accents", lower_case)) {
      table.add(kDecompositions);
      table.add_hangul();
      table.add(set_of([](uint32_t properties) { return (properties & kBertAccentBit) != 0; }), {});
    }
    if (lower_case) table.add(kLowerCase);
  }

  // Adds the rules of SentencePiece's nmt normalization, which come from machine translation.
  void add_nmt() {
    CharacterSteps& table = next_table();
    table.add({0x01, 0x09, 0x0B, 0x0C, 0x0E, 0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0}, {});
    table.add({0x09, 0x0B, 0x0C, 0x0E, 0x1680, 0x1681, 0x200B, 0x2010, 0x2028, 0x202A, 0x2581, 0x2582, 0xFEFF, 0xFF00,
               0xFFFD, 0xFFFE},
              {' '});
  }

  // Adds a Unicode normal form. Hangul syllables are decomposed only in forms without composition, because composition
  // would restore them.
  void add_form(const std::string& type) {
    if (form_ != Form::kNone || &next_table() == &last_) reject("normalizer " + type + " after other normalizers");
    form_ = type.ends_with('C') ? Form::kComposed : Form::kDecomposed;
    if (type.starts_with("NFK")) first_.add(kCompatibilityDecompositions);
    first_.add(kDecompositions);
    if (form_ == Form::kDecomposed) first_.add_hangul();
  }

  void add_precompiled(const json& component) {
    const json& charsmap = find_member(component, "precompiled_charsmap");
    const std::string rules = charsmap.is_null() ? "" : decode_base64(text_member(component, "precompiled_charsmap"));
    if (rules.empty()) return;
    const bool is_first = form_ == Form::kNone && first_.is_empty() && &next_table() == &first_;
    if (!is_first) reject("normalizer Precompiled after other normalizers");
    read_rules(rules, &tables());
    append_split_step({.pattern = kGraphemeCluster}, &tables().graphemes);
  }

  void add_space_rules(int rules) {
    if (!last_.is_empty()) reject("normalizers Strip and Replace of spaces after changes of characters");
    tables().space_rules |= static_cast<uint8_t>(rules);
  }

  void add_replace(const json& component) {
    const json& pattern = find_member(component, "pattern");
    const std::string content = text_member(component, "content");
    const CodePoints to = decode(content);
    const bool is_symbol = to.size() == 1 && to[0] != ' ';
    const json& expression = find_member(pattern, "Regex");
    if (expression == " {2,}" && (content == " " || is_symbol)) {
      // A symbol that replaces several spaces is the pre-tokenizer's, which also substitutes it for single spaces.
      add_space_rules(kMergeSpaces);
      if (is_symbol) set_space(content);
      return;
    }
    const CodePoints from = expression.is_null() ? decode(text_member(pattern, "String")) : CodePoints();
    if (from.size() != 1) reject("normalizer Replace of other texts than a character or several spaces");
    // SentencePiece marks words by replacing every space with a symbol.
    if (from[0] == ' ' && is_symbol) return set_space(content);
    next_table().add(range_set(from[0], from[0]), to);
  }

  void set_space(const std::string& symbol) {
    if (!result_.space.empty() && result_.space != symbol) reject("two characters in place of a space");
    if (!prepended_.empty() && prepended_ != symbol) {
      reject("normalizers Prepend and Replace with different texts");
    }
    result_.space = symbol;
  }

  Normalizer result_;
  CharacterSteps first_;
  CharacterSteps last_;
  Form form_ = Form::kNone;
  std::string prepended_;
};

}  // namespace

Normalizer read_normalizer(const json& component, const std::string& space) { return Reader().read(component, space); }

bool isolates_chinese(const json& component) {
  if (!component.is_object()) return false;
  const json& type = find_member(component, "type");
  if (type == "BertNormalizer") return flag_member(component, "handle_chinese_chars", true);
  const json& components = find_member(component, "normalizers");
  return type == "Sequence" && std::any_of(components.begin(), components.end(), isolates_chinese);
}

// A compiled map consists of the size of the trie in bytes, the trie, and replacement texts that end with zero bytes.
void read_rules(std::string_view charsmap, NormalizerData* tables) {
  if (charsmap.empty()) return;
  uint32_t size = 0;
  if (charsmap.size() >= sizeof size) std::memcpy(&size, charsmap.data(), sizeof size);
  if (size == 0 || size % sizeof(uint32_t) != 0 || size > charsmap.size() - sizeof size) {
    throw std::runtime_error("the rules of the normalizer (precompiled_charsmap) are damaged: a trie of " +
                             std::to_string(size) + " bytes in " + std::to_string(charsmap.size()));
  }
  tables->rule_trie.resize(size / sizeof(uint32_t));
  std::memcpy(tables->rule_trie.data(), charsmap.data() + sizeof size, size);
  tables->rule_texts.assign(charsmap.begin() + static_cast<ptrdiff_t>(sizeof size + size), charsmap.end());
}

CharacterSet chinese_characters() {
  return {0x3400,  0x4DC0,  0x4E00,  0xA000,  0xF900,  0xFB00,  0x20000,
          0x2A6E0, 0x2A700, 0x2B820, 0x2B920, 0x2CEB0, 0x2F800, 0x2FA20};
}

}  // namespace sotto
