// Properties of characters, as the `tokenizers` package knows them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

// The general categories in the order of their numbers.
inline constexpr const char* kCategories[] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                              "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                              "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"};

// Each entry begins a range of characters and is (first code point) << kPropertyBits | (properties of the characters).
// Properties with Bert in their names belong to BertNormalizer.
inline constexpr uint32_t kPropertyBits = 11;
inline constexpr uint32_t kCategoryBits = 31;
inline constexpr uint32_t kWordBit = 32;          // \w of the pre-tokenizer Whitespace
inline constexpr uint32_t kPunctuationBit = 64;   // punctuation of BertPreTokenizer
inline constexpr uint32_t kBertAccentBit = 128;   // removed by strip_accents
inline constexpr uint32_t kAccentBit = 256;       // removed by StripAccents
inline constexpr uint32_t kBertControlBit = 512;  // removed by clean_text
inline constexpr uint32_t kBertSpaceBit = 1024;   // replaced with a space by clean_text
inline constexpr size_t kCharacterRangeCount = 4128;
extern const uint32_t kCharacterRanges[kCharacterRangeCount];

struct CharacterMapping {
  uint32_t code_point;
  const char* text;  // UTF-8
};

// Parts of grapheme clusters (Unicode Standard Annex 29), as ranges in the form of kCharacterRanges: 1 for Extend and
// other characters that continue a cluster, 2 for Prepend, 4 for Extended_Pictographic, 8 for Control.
inline constexpr size_t kClusterRangeCount = 1016;
extern const uint32_t kClusterRanges[kClusterRangeCount];

// Canonical combining classes: (first code point) << 8 | class.
inline constexpr size_t kCombiningClassCount = 499;
extern const uint32_t kCombiningClasses[kCombiningClassCount];

// The canonical compositions, except those of Hangul syllables.
inline constexpr size_t kCompositionCount = 940;
extern const Composition kCompositions[kCompositionCount];

// The canonical decompositions, except those of Hangul syllables; the compatibility decompositions that differ from
// them; and the mappings to lower case.
inline constexpr size_t kDecompositionCount = 2060;
extern const CharacterMapping kDecompositions[kDecompositionCount];
inline constexpr size_t kCompatibilityDecompositionCount = 3678;
extern const CharacterMapping kCompatibilityDecompositions[kCompatibilityDecompositionCount];
inline constexpr size_t kLowerCaseCount = 1488;
extern const CharacterMapping kLowerCase[kLowerCaseCount];

}  // namespace sotto
