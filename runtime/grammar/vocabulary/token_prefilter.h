// Token prefilters: sets of tokens, prepared with the vocabulary, so that the search for a mask can start with
// thousands of tokens.
//
// Characters are divided into five classes. Characters that JSON strings must escape, DEL, and bytes that are not UTF-8
// have no class: a JSON string may contain any string over the classes. The summary of a string is one byte: the
// classes that occur in it, and the class of its length. A prefilter is a bit set of classes and a maximum length, and
// contains all strings that satisfy both. Summaries are compared with the prefilter 64 at a time, eight per machine
// word.
//
// Example: the token " Hello" has 6 characters: a space, an upper-case letter and lower-case letters. A prefilter of
// all classes and at most 8 characters contains the token. One without spaces does not, nor does one of at most 4
// characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

// Version of the summaries. Prepared vocabularies contain summaries, so every change of them increases the version.
// Compiled grammars contain character classes; their version is kGrammarVersion.
inline constexpr uint32_t kPrefilterVersion = 2;

// Character classes, as bits of a set.
inline constexpr uint32_t kCharClassCount = 5;
inline constexpr uint8_t kLowerClass = 1;
inline constexpr uint8_t kUpperClass = 2;
inline constexpr uint8_t kDigitClass = 4;  // digits and _
inline constexpr uint8_t kSpaceClass = 8;
inline constexpr uint8_t kOtherClass = 16;  // other ASCII characters, and all characters beyond ASCII
inline constexpr uint8_t kAllClasses = (1u << kCharClassCount) - 1;
// Returns the class of all characters that begin with this byte, or 0.
uint8_t char_class_of(uint8_t byte);

// A deterministic automaton that recognizes UTF-8 characters that have a class. In state 0 it is between characters.
inline constexpr uint32_t kUtf8States = 8;
inline constexpr uint8_t kUtf8Reject = 0xFF;
uint8_t utf8_step(uint32_t state, uint8_t byte);

// Length classes, given by their maximum number of characters. An additional class is for strings that no prefilter
// contains.
inline constexpr uint32_t kLengthCount = 7;
inline constexpr uint32_t kLengthCharacters[kLengthCount] = {2, 4, 6, 8, 11, 16, UINT32_MAX};

// The character classes of a text in the low bits, and its length class in the bits above.
using TextSummary = uint8_t;
inline constexpr TextSummary kOutsidePrefilters = kLengthCount << kCharClassCount;
TextSummary summarize(std::span<const char> text);
// Returns whether the text ends inside a character. Some prefilter must contain the text.
bool ends_inside(std::span<const char> text);
// Returns the union of two summaries: a prefilter contains it if and only if it contains both.
constexpr TextSummary join_summaries(TextSummary a, TextSummary b) {
  constexpr uint32_t kClassBits = (1u << kCharClassCount) - 1;
  const uint32_t length = (a > b ? a : b) & ~kClassBits;
  return static_cast<TextSummary>(length | ((a | b) & kClassBits));
}

// A set of tokens, given by character classes and a maximum length.
struct TokenPrefilter {
  uint8_t classes = 0;
  uint8_t length = 0;  // a length class

  // Returns whether the prefilter contains all strings with this summary. The summary of a trie node stands for all
  // tokens in its subtree.
  bool holds(TextSummary summary) const {
    return (summary & ~classes & ((1u << kCharClassCount) - 1)) == 0 && summary >> kCharClassCount <= length;
  }
  bool operator==(const TokenPrefilter&) const = default;
};

// Writes the mask of the tokens that the prefilter contains. `summaries` must have 64 elements per word of the mask.
void fill_mask(TokenPrefilter prefilter, std::span<const TextSummary> summaries, uint64_t* words);
// Returns a word whose bit i is set if summary i of 64 has the length class.
uint64_t summaries_of_length(const TextSummary* summaries, uint8_t length);

}  // namespace sotto
