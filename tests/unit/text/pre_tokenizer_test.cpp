#include "runtime/text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/unicode_tables.h"

namespace sotto {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Words words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    EXPECT_GT(end, at);
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

TEST(PreTokenizer, WordsNumbersAndPunctuationTakeOneSpace) {
  EXPECT_EQ(split("Hello, world 42!"), (Words{"Hello", ",", " world", " 42", "!"}));
  EXPECT_EQ(split("a1b2 ...?  x"), (Words{"a", "1", "b", "2", " ...?", " ", " x"}));
  EXPECT_EQ(split("\u4F60\u597D \u0663\u00BD\u2163"), (Words{"\u4F60\u597D", " \u0663\u00BD\u2163"}));
}

TEST(PreTokenizer, ContractionsAreLowerCaseAndComeFirst) {
  EXPECT_EQ(split("I'm you're he's we'll they'd I've don't"),
            (Words{"I", "'m", " you", "'re", " he", "'s", " we", "'ll", " they", "'d", " I", "'ve", " don", "'t"}));
  EXPECT_EQ(split("'sa"), (Words{"'s", "a"}));
  EXPECT_EQ(split("I'M"), (Words{"I", "'", "M"}));
  EXPECT_EQ(split(" 's"), (Words{" '", "s"}));
  EXPECT_EQ(split("''s"), (Words{"''", "s"}));
  EXPECT_EQ(split("'r 'l 'v '"), (Words{"'", "r", " '", "l", " '", "v", " '"}));
  EXPECT_EQ(split("'le"), (Words{"'", "le"}));
  EXPECT_EQ(split("\u2019s"), (Words{"\u2019", "s"}));
}

TEST(PreTokenizer, SpacesLeaveTheLastToTheWordThatFollows) {
  EXPECT_EQ(split("   a"), (Words{"  ", " a"}));
  EXPECT_EQ(split("\n\na"), (Words{"\n", "\n", "a"}));
  EXPECT_EQ(split("\ta"), (Words{"\t", "a"}));
  EXPECT_EQ(split(" \u3000a"), (Words{" ", "\u3000", "a"}));
  EXPECT_EQ(split("a \n "), (Words{"a", " \n "}));
  EXPECT_EQ(split(" "), (Words{" "}));
  EXPECT_EQ(split(""), Words{});
}

TEST(PreTokenizer, FirstWordAfterASpaceThatIsNotThere) {
  for (const std::string_view text :
       {"a", "ab c", "'s", "1", "\n", "\n\n", "\na", "\n\na", "\t b", "!?", "\u3000\u4F60", "\u00E9t\u00E9 x"}) {
    const Words words = split(std::string(1, ' ').append(text));
    EXPECT_EQ(word_end_after_space(text), words[0].size() - 1) << text;
  }
}

TEST(PreTokenizer, InvalidUtf8IsPunctuationAndStaysInside) {
  EXPECT_EQ(split("a\xFF\xE2\x82"), (Words{"a", "\xFF\xE2\x82"}));
}

TEST(CharacterClass, SpacesAreThoseOfThePattern) {
  std::vector<uint32_t> spaces;
  for (uint32_t c = 0; c <= 0x110000; ++c) {
    if (character_class(c) == CharacterClass::kSpace) spaces.push_back(c);
  }
  EXPECT_EQ(spaces, (std::vector<uint32_t>{0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,   0xA0,   0x1680,
                                           0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                           0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}));
}

TEST(CharacterClass, LettersAndNumbersAreThoseOfUnicode) {
  for (const uint32_t c :
       {0x41u, 0x7Au, 0xAAu, 0xE9u, 0x3B1u, 0x5D0u, 0x4E00u, 0xAC00u, 0x1F00u, 0x20000u, 0x323AFu, 0x1C89u}) {
    EXPECT_EQ(character_class(c), CharacterClass::kLetter) << c;
  }
  for (const uint32_t c : {0x30u, 0xB2u, 0xBDu, 0x663u, 0x2163u, 0x3007u, 0x1D7CEu}) {
    EXPECT_EQ(character_class(c), CharacterClass::kNumber) << c;
  }
  for (const uint32_t c : {0x00u, 0x1Cu, 0x1Fu, 0x5Fu, 0x300u, 0x200Bu, 0x180Eu, 0xFEFFu, 0x1F600u, 0xE000u, 0x323B0u,
                           0xE0100u, 0x10FFFFu, 0x110000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(character_class(c), CharacterClass::kOther) << c;
  }
}

}  // namespace
}  // namespace sotto
