#include "converters/tokenizers/normalizer.h"

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "converters/tokenizers/json_members.h"
#include "runtime/base/utf8.h"
#include "runtime/grammar/automata/code_points.h"

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

constexpr uint32_t kHangulVowels = 21, kHangulTrails = 28;
constexpr uint32_t kHangulFirst = 0xAC00, kHangulEnd = kHangulFirst + 19 * kHangulVowels * kHangulTrails;

// The canonical decomposition. Hangul syllables are decomposed arithmetically (Unicode 3.12).
CodePoints decompose(uint32_t character) {
  constexpr uint32_t kLead = 0x1100, kVowel = 0x1161, kTrail = 0x11A7;
  if (character < kHangulFirst || character >= kHangulEnd) return mapped(kDecompositions, character);
  const uint32_t syllable = character - kHangulFirst;
  CodePoints result = {kLead + syllable / (kHangulVowels * kHangulTrails),
                       kVowel + syllable / kHangulTrails % kHangulVowels};
  if (syllable % kHangulTrails != 0) result.push_back(kTrail + syllable % kHangulTrails);
  return result;
}

class Reader {
 public:
  Normalizer read(const json& component) {
    if (component.is_null()) return {};
    add(component);
    if (is_decomposed_) reject("normalizer NFD without StripAccents");
    make_table();
    return std::move(result_);
  }

 private:
  using Step = std::function<CodePoints(uint32_t)>;

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
      add_lower_case();
    } else if (type == "NFD") {
      is_decomposed_ = true;
      add_decomposition();
    } else if (type == "StripAccents") {
      is_decomposed_ = false;
      add_removal(set_of([](uint32_t properties) { return (properties & kAccentBit) != 0; }));
    } else if (type == "Prepend") {
      prepended_ = text_member(component, "prepend");
      if (!result_.space.empty()) reject("normalizer Prepend after Replace");
    } else if (type == "Replace") {
      add_replace(component);
    } else {
      reject("normalizer " + type);
    }
  }

  void add_bert(const json& component) {
    const bool lower_case = flag_member(component, "lowercase", true);
    if (flag_member(component, "clean_text", true)) {
      add_removal(set_of([](uint32_t properties) { return (properties & kBertControlBit) != 0; }));
      add_step(set_of([](uint32_t properties) { return (properties & kBertSpaceBit) != 0; }), CodePoints{' '});
    }
    result_.isolates_chinese |= flag_member(component, "handle_chinese_chars", true);
    if (flag_member(component, "strip_accents", lower_case)) {
      add_decomposition();
      add_removal(set_of([](uint32_t properties) { return (properties & kBertAccentBit) != 0; }));
    }
    if (lower_case) add_lower_case();
  }

  void add_edges(const CharacterSet& set) { edges_.insert(edges_.end(), set.begin(), set.end()); }
  void add_edges(std::span<const CharacterMapping> table) {
    for (const CharacterMapping& mapping : table) add_edges(range_set(mapping.code_point, mapping.code_point));
  }
  void add_decomposition() {
    add_edges(kDecompositions);
    add_edges({kHangulFirst, kHangulEnd});
    steps_.emplace_back(decompose);
  }
  void add_lower_case() {
    add_edges(kLowerCase);
    steps_.emplace_back([](uint32_t character) { return mapped(kLowerCase, character); });
  }
  void add_removal(CharacterSet set) { add_step(std::move(set), {}); }
  // Adds a step that replaces each character of a set by the same text.
  void add_step(CharacterSet set, CodePoints text) {
    add_edges(set);
    steps_.emplace_back([changed = std::move(set), to = std::move(text)](uint32_t c) {
      return contains(changed, c) ? to : CodePoints{c};
    });
  }

  // Replacing every space with a symbol is how SentencePiece marks words.
  void add_replace(const json& component) {
    const json& pattern = find_member(component, "pattern");
    const std::string from = pattern.contains("String") ? text_member(pattern, "String") : "";
    result_.space = text_member(component, "content");
    const bool is_symbol = decode(result_.space).size() == 1 && result_.space != " ";
    if (from != " " || !is_symbol) reject("normalizer Replace of other texts than a space by one character");
    if (!prepended_.empty() && prepended_ != result_.space)
      reject("normalizers Prepend and Replace with different texts");
  }

  // Returns the text that replaces a character. `symbol` is written as a space, which tokens have in its place.
  CodePoints normalize(uint32_t character, uint32_t symbol, const CharacterSet& chinese) const {
    CodePoints text = {character};
    for (const Step& step : steps_) {
      CodePoints next;
      for (const uint32_t each : text) {
        const CodePoints part = step(each);
        next.insert(next.end(), part.begin(), part.end());
      }
      text = std::move(next);
    }
    std::replace(text.begin(), text.end(), symbol, uint32_t{' '});
    if (contains(chinese, character) && !(text.size() == 1 && contains(chinese, text[0]))) {
      text.insert(text.begin(), ' ');
      text.push_back(' ');
    }
    return text;
  }

  void make_table() {
    if (!prepended_.empty() && result_.space.empty()) reject("normalizer Prepend without Replace");
    result_.prepends_space = !prepended_.empty();
    const uint32_t symbol = result_.space.empty() ? uint32_t{' '} : decode(result_.space).front();
    const CharacterSet chinese = result_.isolates_chinese ? chinese_characters() : CharacterSet();
    add_edges({0, ' ', ' ' + 1, symbol, symbol + 1});
    add_edges(chinese);
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    bool is_removing = false;
    for (size_t i = 0; i < edges_.size() && edges_[i] < kCodePointEnd; ++i) {
      const uint32_t first = edges_[i];
      const uint32_t end = i + 1 < edges_.size() ? edges_[i + 1] : kCodePointEnd;
      for (uint32_t character = first; character < end; ++character) {
        const CodePoints text = normalize(character, symbol, chinese);
        if (text.empty() != is_removing) {
          is_removing = !is_removing;
          result_.removed.push_back(character);
        }
        if (text.empty() || text == CodePoints{character}) break;  // as are all others up to the next edge
        if (is_scalar_value(character)) result_.replacements.emplace(character, encode(text));
      }
    }
    if (is_removing) result_.removed.push_back(kCodePointEnd);
  }

  Normalizer result_;
  std::vector<Step> steps_;
  std::vector<uint32_t> edges_;  // code points that the steps may treat otherwise than the ones before them
  std::string prepended_;
  bool is_decomposed_ = false;
};

}  // namespace

Normalizer read_normalizer(const json& component) { return Reader().read(component); }

CharacterSet chinese_characters() {
  return {0x3400,  0x4DC0,  0x4E00,  0xA000,  0xF900,  0xFB00,  0x20000,
          0x2A6E0, 0x2A700, 0x2B820, 0x2B920, 0x2CEB0, 0x2F800, 0x2FA20};
}

}  // namespace sotto
