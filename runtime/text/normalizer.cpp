#include "runtime/text/normalizer.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/bits.h"
#include "runtime/base/utf8.h"
#include "runtime/model/split_step.h"
#include "runtime/text/splitter.h"
#include "runtime/text/unicode_tables.h"
#include "runtime/text/word.h"

namespace sotto {
namespace {

constexpr uint32_t kNoCharacter = 0xFFFFFFFF;
constexpr uint32_t kSymbol = 0x2581;  // SentencePiece writes this symbol for a space

// Returns the replacement of a character: empty if the character is removed, and its own bytes if there is no rule.
std::span<const char> replace_character(const CharacterMap& map, uint32_t code_point, std::span<const char> bytes) {
  const auto border = std::upper_bound(map.removed.begin(), map.removed.end(), code_point);
  if ((border - map.removed.begin()) % 2 == 1) return bytes.first(0);
  const auto key = std::lower_bound(map.replaced.begin(), map.replaced.end(), code_point);
  if (key == map.replaced.end() || *key != code_point) return bytes;
  return map.replacement_of(static_cast<size_t>(key - map.replaced.begin()));
}

// The rule that applies at the beginning of a text. The rule replaces `size` bytes with `text`; a size of 0 means that
// there is none.
struct NormalizerRule {
  size_t size = 0;
  std::span<const char> text;
};

// Finds the longest or the shortest rule that applies at the beginning of the text. A unit of the trie has three parts:
// the byte that leads to it, an offset to combine with the next byte, and a flag for a value.
NormalizerRule find_rule(const NormalizerView& normalizer, std::span<const char> text, bool is_longest) {
  const auto trie = normalizer.rule_trie;
  const auto offset_of = [](uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); };
  NormalizerRule rule;
  uint32_t place = offset_of(trie[0]);
  for (size_t i = 0; i < text.size() && (rule.size == 0 || is_longest); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    place ^= byte;
    if (place >= trie.size() || (trie[place] & (kTrieValue | 0xFF)) != byte) break;
    const bool has_value = (trie[place] >> 8 & 1) != 0;
    place ^= offset_of(trie[place]);
    if (!has_value || place >= trie.size() || (trie[place] & kTrieValue) == 0) continue;
    const char* const replacement = normalizer.rule_texts.data() + (trie[place] & ~kTrieValue);
    rule = {i + 1, {replacement, std::strlen(replacement)}};
  }
  return rule;
}

// The result of step 1 as a stream of characters. A copy of the stream remembers a position.
class ReplacedText {
 public:
  ReplacedText(const NormalizerView& normalizer, std::span<const char> text) : normalizer_(&normalizer), text_(text) {
    std::span<const uint32_t> steps = normalizer.graphemes;
    if (!steps.empty()) grapheme_ = read_split_step(&steps);
  }

  // Stores the next character, or returns false at the end.
  bool next(uint32_t* character) {
    while (replacement_.empty()) {
      if (at_ == text_.size()) return false;
      replacement_ = normalizer_->rule_trie.empty() ? next_character() : next_by_rules();
    }
    const Utf8Character first = decode_utf8(replacement_.data(), replacement_.size());
    replacement_ = replacement_.subspan(first.size);
    *character = first.code_point;
    return true;
  }

 private:
  std::span<const char> next_character() {
    const Utf8Character character = decode_utf8(text_.data() + at_, text_.size() - at_);
    return replace_character(normalizer_->characters, character.code_point, take(character.size));
  }

  std::span<const char> next_by_rules() {
    constexpr size_t kLongestCluster = 5;
    const size_t character_size = decode_utf8(text_.data() + at_, text_.size() - at_).size;
    NormalizerRule rule;
    if (normalizer_->graphemes.empty()) {
      rule = find_rule(*normalizer_, text_.subspan(at_), true);
      if (rule.size > 0) (void)take(rule.size);
    } else {
      const bool is_cluster = at_ == cluster_end_;
      if (is_cluster) cluster_end_ = next_piece(grapheme_, {text_}, at_, &failed_).end;
      const size_t cluster_size = cluster_end_ - at_;
      if (is_cluster && cluster_size <= kLongestCluster) {
        rule = find_rule(*normalizer_, text_.subspan(at_, cluster_size), false);
        if (rule.size > 0) (void)take(cluster_size);
      }
      if (rule.size == 0) {
        rule = find_rule(*normalizer_, text_.subspan(at_, character_size), false);
        if (rule.size > 0) (void)take(character_size);
      }
    }
    return rule.size > 0 ? rule.text : take(character_size);
  }

  std::span<const char> take(size_t size) {
    const auto bytes = text_.subspan(at_, size);
    at_ += size;
    return bytes;
  }

  const NormalizerView* normalizer_;
  std::span<const char> text_;
  size_t at_ = 0;
  size_t cluster_end_ = 0;
  std::span<const char> replacement_;  // the rest of the newest replacement
  SplitStep grapheme_ = {};
  FailedSearches failed_;
};

uint8_t combining_class(const NormalizerView& normalizer, uint32_t character) {
  const auto classes = normalizer.combining_classes;
  const auto next = std::upper_bound(classes.begin(), classes.end(), character << 8 | 0xFF);
  return next == classes.begin() ? 0 : static_cast<uint8_t>(*(next - 1));
}

// Returns the composition of two neighbouring characters, or kNoCharacter.
uint32_t compose(const NormalizerView& normalizer, uint32_t first, uint32_t second) {
  if (normalizer.compositions.empty()) return kNoCharacter;
  // Hangul syllables (Unicode 3.12).
  constexpr uint32_t kLead = 0x1100, kLeads = 19, kVowel = 0x1161, kVowels = 21, kTrail = 0x11A7, kTrails = 28;
  constexpr uint32_t kSyllable = 0xAC00, kSyllables = kLeads * kVowels * kTrails;
  if (first - kLead < kLeads && second - kVowel < kVowels) {
    return kSyllable + ((first - kLead) * kVowels + (second - kVowel)) * kTrails;
  }
  if (first - kSyllable < kSyllables && (first - kSyllable) % kTrails == 0 && second > kTrail &&
      second - kTrail < kTrails) {
    return first + (second - kTrail);
  }
  const auto pairs = normalizer.compositions;
  const auto found = std::lower_bound(pairs.begin(), pairs.end(), 0, [&](const Composition& pair, int) {
    return pair.first < first || (pair.first == first && pair.second < second);
  });
  return found != pairs.end() && found->first == first && found->second == second ? found->result : kNoCharacter;
}

// A run of marks (characters with a combining class), and the starter after them.
class Marks {
 public:
  Marks(const NormalizerView& normalizer, const ReplacedText& start)
      : normalizer_(&normalizer), start_(start), end_(start) {
    ReplacedText next = start;
    while (next.next(&next_starter_)) {
      const uint8_t mark_class = combining_class(normalizer, next_starter_);
      if (mark_class == 0) {
        after_starter_ = next;
        has_next_ = true;
        return;
      }
      set_bit(classes_, mark_class);
      end_ = next;
    }
  }

  // Composes the starter before the marks with the marks that are not blocked (Unicode 3.11), in the canonical order,
  // and returns the result. If no mark remains, continues with the next starter and its marks.
  uint32_t compose_with(uint32_t starter) {
    while (compose_marks(&starter) && has_next_) {
      const uint32_t composite = compose(*normalizer_, starter, next_starter_);
      if (composite == kNoCharacter) break;
      starter = composite;
      *this = Marks(*normalizer_, after_starter_);
    }
    return starter;
  }

  // Calls visit(mark) for each mark that has not been composed, in the canonical order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for_each_class([&](uint8_t mark_class) {
      auto skipped = std::count(composed_, composed_ + composed_count_, mark_class);
      for_each_of(mark_class, [&](uint32_t mark) {
        if (skipped > 0) {
          --skipped;
        } else {
          visit(mark);
        }
        return true;
      });
    });
  }

  const ReplacedText& end() const { return end_; }

 private:
  // In Unicode at most three marks are composed with one starter.
  static constexpr size_t kMaxComposed = 8;

  // Composes marks with the starter. Returns whether no mark remains.
  bool compose_marks(uint32_t* starter) {
    bool is_complete = true;
    for_each_class([&](uint8_t mark_class) {
      for_each_of(mark_class, [&](uint32_t mark) {
        const uint32_t composite = compose(*normalizer_, *starter, mark);
        const bool is_composed = composite != kNoCharacter && composed_count_ < kMaxComposed;
        if (is_composed) {
          *starter = composite;
          composed_[composed_count_++] = mark_class;
        }
        is_complete &= is_composed;
        return is_composed;
      });
    });
    return is_complete;
  }

  template <typename Visit>
  void for_each_class(Visit visit) const {
    for (size_t word = 0; word < 4; ++word) {
      for (const uint32_t bit : SetBits(classes_[word])) visit(static_cast<uint8_t>(64 * word + bit));
    }
  }

  // Calls visit(mark) for each mark of a class until it returns false.
  template <typename Visit>
  void for_each_of(uint8_t mark_class, Visit visit) const {
    ReplacedText text = start_;
    uint32_t mark = 0;
    while (text.next(&mark)) {
      const uint8_t next_class = combining_class(*normalizer_, mark);
      if (next_class == 0 || (next_class == mark_class && !visit(mark))) return;
    }
  }

  const NormalizerView* normalizer_;
  ReplacedText start_;
  ReplacedText end_;
  ReplacedText after_starter_ = start_;
  uint32_t next_starter_ = kNoCharacter;
  bool has_next_ = false;
  uint64_t classes_[4] = {};
  uint8_t composed_[kMaxComposed] = {};  // combining classes of the composed marks
  size_t composed_count_ = 0;
};

// Calls visit(character) for each character of the text after steps 1 and 2.
template <typename Visit>
void for_each_character(const NormalizerView& normalizer, std::span<const char> text, Visit visit) {
  ReplacedText rest(normalizer, text);
  for (ReplacedText next = rest;; next = rest) {
    uint32_t character = 0;
    if (!next.next(&character)) return;
    if (normalizer.combining_classes.empty()) {
      visit(character);
      rest = next;
      continue;
    }
    const bool is_starter = combining_class(normalizer, character) == 0;
    Marks marks(normalizer, is_starter ? next : rest);
    if (is_starter) visit(marks.compose_with(character));
    marks.for_each(visit);
    rest = marks.end();
  }
}

bool is_stripped(const NormalizerView& normalizer, uint32_t character) {
  const bool all = (normalizer.space_rules & kStripWhiteSpace) != 0;
  return character == ' ' || (all && character_class(character) == CharacterClass::kSpace);
}

// Compares the normalized text with the text it comes from, and writes it to `output` unless that is null.
class Result {
 public:
  Result(std::span<const char> text, char* output) : text_(text), output_(output) {}

  // Adds the normal form of the `count`-th character. `is_kept` is set if step 3 keeps the character even at the end of
  // the text.
  void add(std::span<const char> bytes, uint64_t count, bool is_kept) {
    if (output_ != nullptr) output_ = std::copy(bytes.begin(), bytes.end(), output_);
    const bool is_inside = written_ + bytes.size() <= text_.size();
    size_.is_changed |= !is_inside || !std::equal(bytes.begin(), bytes.end(), text_.data() + written_);
    written_ += bytes.size();
    if (!is_kept) return;
    size_.size = written_;
    size_.characters = count;
  }

  NormalizedSize size() const {
    NormalizedSize size = size_;
    size.is_changed |= size.size != text_.size();
    return size;
  }

 private:
  std::span<const char> text_;
  char* output_;
  uint64_t written_ = 0;
  NormalizedSize size_ = {0, false, 0};
};

// Runs all steps for the first `limit` characters that step 2 returns.
NormalizedSize run_steps(const NormalizerView& normalizer, std::span<const char> text, uint64_t limit, char* output) {
  const uint8_t rules = normalizer.space_rules;
  Result result(text, output);
  uint64_t count = 0;
  bool is_after_space = false;
  bool is_at_start = true;
  for_each_character(normalizer, text, [&](uint32_t character) {
    if (++count > limit) return;
    const bool is_space = is_stripped(normalizer, character);
    const bool is_merged = (rules & kMergeSpaces) != 0 && character == ' ' && is_after_space;
    if (is_merged || ((rules & kStripStart) != 0 && is_space && is_at_start)) return;
    is_after_space = character == ' ';
    is_at_start = false;
    uint8_t bytes[4];
    const uint32_t size = encode_utf8(character, bytes);
    const std::span<const char> whole(reinterpret_cast<const char*>(bytes), size);
    const bool is_removed_at_end = is_space || ((rules & kStripSymbol) != 0 && character == kSymbol);
    result.add(replace_character(normalizer.last_characters, character, whole), count,
               (rules & kStripEnd) == 0 || !is_removed_at_end);
  });
  return result.size();
}

}  // namespace

NormalizedSize measure_normalized(const NormalizerView& normalizer, std::span<const char> text) {
  if (normalizer.is_empty()) return {text.size(), false, 0};
  return run_steps(normalizer, text, UINT64_MAX, nullptr);
}

void normalize(const NormalizerView& normalizer, std::span<const char> text, const NormalizedSize& size, char* output) {
  run_steps(normalizer, text, size.characters, output);
}

}  // namespace sotto
