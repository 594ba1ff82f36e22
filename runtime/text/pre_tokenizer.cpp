#include "runtime/text/pre_tokenizer.h"

#include "runtime/base/utf8.h"
#include "runtime/text/unicode_tables.h"

namespace sotto {
namespace {

struct Character {
  CharacterClass kind;
  size_t size;
};

Character character_at(std::span<const char> text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {character_class(byte), 1};
  const Utf8Character character = decode_utf8(text.data() + at, text.size() - at);
  if (!character.valid) return {CharacterClass::kOther, character.size};
  return {character_class(character.code_point), character.size};
}

size_t skip_class(std::span<const char> text, size_t at, CharacterClass kind) {
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (character.kind != kind) break;
    at += character.size;
  }
  return at;
}

// Returns the end of the contraction ('s 't 're 've 'm 'll 'd) at `start`, or `start` if there is none.
size_t contraction_end(std::span<const char> text, size_t start) {
  if (text[start] != '\'' || start + 1 == text.size()) return start;
  const char first = text[start + 1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return start + 2;
  if (start + 2 == text.size()) return start;
  const char second = text[start + 2];
  const bool found =
      (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
  return found ? start + 3 : start;
}

// Returns the end of a match of \s+(?!\S)|\s+ at `at`, after `spaces_before` other spaces. If a word follows several
// spaces, the last space belongs to the word.
size_t spaces_end(std::span<const char> text, size_t at, size_t spaces_before) {
  size_t count = spaces_before;
  size_t last = at;
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (character.kind != CharacterClass::kSpace) return count > 1 ? last : at;
    last = at;
    at += character.size;
    ++count;
  }
  return at;
}

}  // namespace

size_t word_end(std::span<const char> text, size_t start) {
  const size_t contraction = contraction_end(text, start);
  if (contraction != start) return contraction;
  Character first = character_at(text, start);
  size_t at = start;
  if (text[start] == ' ' && start + 1 < text.size()) {
    const Character next = character_at(text, start + 1);
    if (next.kind != CharacterClass::kSpace) {
      first = next;
      ++at;
    }
  }
  if (first.kind == CharacterClass::kSpace) return spaces_end(text, start, 0);
  return skip_class(text, at + first.size, first.kind);
}

size_t word_end_after_space(std::span<const char> text) {
  const Character first = character_at(text, 0);
  if (first.kind == CharacterClass::kSpace) return spaces_end(text, 0, 1);
  return skip_class(text, first.size, first.kind);
}

}  // namespace sotto
