// Properties of characters, as the `tokenizers` package knows them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

// The general categories in the order of their numbers.
inline constexpr const char* kCategories[] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                              "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                              "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"};

// Each range is (first code point) << kPropertyBits | (properties of its characters). The properties with BERT in their
// names belong to BertNormalizer.
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

// The canonical decompositions (without Hangul syllables) and the lower case of characters.
inline constexpr size_t kDecompositionCount = 2060;
extern const CharacterMapping kDecompositions[kDecompositionCount];
inline constexpr size_t kLowerCaseCount = 1488;
extern const CharacterMapping kLowerCase[kLowerCaseCount];

}  // namespace sotto
