// Tests regular expressions: compares matches with Python's re and with hand-written cases, and checks that unsupported
// syntax is rejected.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

std::string schema_of(const std::string& pattern) { return Json{{"type", "string"}, {"pattern", pattern}}.dump(); }

// Uses automata as well, because a second pattern that matches everything requires an intersection.
std::string intersected(const std::string& pattern) {
  return Json{{"type", "string"}, {"pattern", pattern}, {"maxLength", 20}}.dump();
}

bool bit(const std::string& mask, size_t i) {
  if (i / 4 >= mask.size()) return false;
  const char c = mask[mask.size() - 1 - i / 4];
  const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
  return (digit >> i % 4 & 1) != 0;
}

TEST(Regex, MatchesTheTextsThatPythonMatches) {
  const char* other = std::getenv("SOTTO_REGEX_GOLDENS");
  std::ifstream file(other != nullptr ? other : SOTTO_SOURCE_DIR "/tests/unit/grammar/data/regex_goldens.jsonl");
  std::string line;
  std::getline(file, line);
  const auto texts = Json::parse(line).get<std::vector<std::string>>();
  size_t count = 0;
  size_t too_large = 0;
  while (std::getline(file, line)) {
    ++count;
    const Json golden = Json::parse(line);
    const std::string expression = golden[0];
    BuiltGrammar whole = BuiltGrammar::regex(expression);
    BuiltGrammar direct = BuiltGrammar::schema(schema_of(expression));
    BuiltGrammar automaton = BuiltGrammar::schema(intersected(expression));
    for (const BuiltGrammar* grammar : {&whole, &direct}) {
      ASSERT_TRUE(grammar->valid() || grammar->empty()) << expression << " " << grammar->message();
    }
    const bool fits = automaton.valid() || automaton.empty();
    if (!fits) {
      ++too_large;
      EXPECT_NE(automaton.message().find("too large"), std::string::npos) << automaton.message();
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(whole.matches(texts[i]), bit(golden[1], i)) << expression << " whole " << texts[i];
      const std::string quoted = canonical(texts[i]);
      EXPECT_EQ(direct.matches(quoted), bit(golden[2], i)) << expression << " in " << texts[i];
      if (!fits) continue;
      EXPECT_EQ(automaton.matches(quoted), bit(golden[2], i)) << expression << " in " << texts[i];
    }
  }
  EXPECT_GE(count, 700u);
  EXPECT_LE(too_large, count / 500);
}

void expect_matches(const std::string& pattern, std::vector<std::string> accepted, std::vector<std::string> rejected) {
  BuiltGrammar grammar = BuiltGrammar::regex(pattern);
  ASSERT_TRUE(grammar.valid()) << pattern << " " << grammar.message();
  for (const auto& text : accepted) EXPECT_TRUE(grammar.matches(text)) << pattern << " " << text;
  for (const auto& text : rejected) EXPECT_FALSE(grammar.matches(text)) << pattern << " " << text;
}

TEST(Regex, EscapesAndPropertiesMatchTheirCharacters) {
  expect_matches("\\p{Lu}\\p{L}*", {"A", "Éa", "Ωδ", "Ж"}, {"a", "é", "1", ""});
  expect_matches("\\p{Script=Greek}+", {"αβγ"}, {"abc", "а"});
  expect_matches("\\p{gc=Nd}\\P{Nd}", {"1a", "٣x"}, {"12", "a1"});
  expect_matches("[^\\p{L}\\d]", {"-", "€"}, {"a", "1", "日"});
  expect_matches("\\x41\\u0042\\u{43}\\cJ\\t\\0", {std::string("ABC\n\t\0", 6)}, {"ABC"});
  expect_matches("\\u{00000061}\\u{0000000000010FFFF}", {"a\xF4\x8F\xBF\xBF"}, {"a"});
  expect_matches("\\uD83D\\uDE00", {"\xF0\x9F\x98\x80"}, {"x"});
  expect_matches("[\\u{1F600}-\\u{1F64F}]", {"\xF0\x9F\x98\x81"}, {"\xF0\x9F\x9A\x80"});
  expect_matches("a{,2}|x{y|]}", {"a{,2}", "x{y", "]}"}, {"aa"});
  expect_matches("[\\w-]+[.-][a-]", {"a-b.a", "_.-"}, {"a b.a"});
  expect_matches("[\\d--a]", {"0", "-", "a"}, {".", "A", "_"});
  expect_matches("[\\d-a-c]", {"0", "-", "a", "c"}, {"b", "."});
  expect_matches("[a-\\d-z]", {"0", "-", "a", "z"}, {"b", "."});
  expect_matches("[]|a", {"a"}, {""});
  expect_matches("[^]", {"\n", "a", "日"}, {"", "ab"});
  expect_matches(".", {"a", "日", std::string(1, '\0')}, {"\n", "\r", "\xE2\x80\xA8"});
  expect_matches("(?<year>\\d{4})-(?P<month>\\d\\d)", {"2024-02"}, {"24-02"});
  expect_matches("^(?!ab|c$)[a-d]+", {"a", "ba", "cc"}, {"ab", "abc", "c", ""});
  expect_matches("^(?=.{2,3}$)(?!a)\\w*$", {"ba", "bbb"}, {"b", "aa", "bbbb", "b-"});
  expect_matches("^(?!(?:a|b)c)", {""}, {"a"});
  expect_matches("[a-z]{3,100000}", {"abc", std::string(100000, 'x')}, {"ab", std::string(100001, 'x')});
}

TEST(Regex, LookAheadHoldsWhereItStands) {
  expect_matches("a(?=b)[a-z]+", {"ab", "abz"}, {"a", "az", "b"});
  expect_matches("a(?!b)[a-z]*", {"a", "az"}, {"ab", "abz"});
  expect_matches("(?=a)|c", {"c"}, {"", "a"});
  expect_matches("(?!a)", {""}, {"a"});
  expect_matches("(?:(?!ab)[abc])*", {"", "ba", "acb", "a"}, {"ab", "cab"});
  expect_matches("x(?=a*$)a*|y(?!.*b)[abc]*", {"xaa", "yaca", "y"}, {"xab", "yab", "b"});
  expect_matches("(?=.*\\d)(?=.*[A-Z])(?!.*\\s).{4,6}", {"A1xx", "xxxx9Z"}, {"A1x", "a1xx", "A1 x", "A1xxxxx"});
  expect_matches("(?!(?=a)(?!ab)).*", {"", "ab", "b", "abc"}, {"a", "ac"});
  expect_matches("(?:a(?=b|(?!.))|b(?!b)){3}", {"aba", "bab"}, {"abb", "aab", "bba"});
  // The repetitions of a look-ahead are look-aheads of their own.
  expect_matches("(?:(?=[^c]*c)[a-c]){4}", {"aabc", "cccc"}, {"aaab", "abca"});
  // Texts after the match belong to what look-ahead sees, and pieces of characters do not.
  expect_matches("é(?!€).?", {"é", "éa", "éé"}, {"é€"});
}

TEST(Regex, WordBoundariesLieBesideWordCharacters) {
  expect_matches("\\bword\\b", {"word"}, {"words", " word"});
  expect_matches(".*\\bword\\b.*", {"word", "a word.", "-word-"}, {"words", "sword word1", "word_"});
  expect_matches("\\Ba|a\\B|\\B", {""}, {"a"});
  expect_matches("\\b|-", {"-"}, {"", "a"});
  expect_matches("(?:\\w+\\b ?)+", {"a b c", "abc", "a "}, {"a  b", ""});
  expect_matches("a\\Bb\\b", {"ab"}, {"a b"});
  expect_matches("é\\b.", {"éa"}, {"é ", "éé"});
}

TEST(Regex, AutomataThatWouldBeTooLargeAreRejected) {
  // Read backwards, the automaton would have to remember which of the last 40 characters were an a.
  const BuiltGrammar grammar = BuiltGrammar::regex("[ab]{40}a(?!b)[ab]*");
  EXPECT_EQ(grammar.status(), Status::kGrammarUnsupported);
  EXPECT_EQ(grammar.message(), "the regular expression is too large for anchors, word boundaries or look-ahead");
  // The repetitions of an empty expression have no states, but writing them out would take weeks.
  const BuiltGrammar empty = BuiltGrammar::regex("(?=a)(?:(?:){2147483648}){2147483648}a");
  EXPECT_EQ(empty.status(), Status::kGrammarUnsupported);
  EXPECT_TRUE(BuiltGrammar::regex("(?=a)(?:){1000}a").matches("a"));
}

TEST(Regex, UnsupportedSyntaxIsNamed) {
  constexpr auto kWrong = Status::kGrammarSyntax;
  constexpr auto kUnsupported = Status::kGrammarUnsupported;
  const struct {
    const char* pattern;
    const char* message;
    Status status;
  } cases[] = {
      {"(?<=a)b", "1:1: unsupported look-behind", kUnsupported},
      {"(?<!a)b", "1:1: unsupported look-behind", kUnsupported},
      {"(a)\\1", "1:4: unsupported back-reference", kUnsupported},
      {"(?<n>a)\\k<n>", "1:8: unsupported back-reference", kUnsupported},
      {"(?i)a", "1:1: unsupported inline flags", kUnsupported},
      {"(?>a)", "1:1: unsupported atomic group", kUnsupported},
      {"a++", "1:3: unsupported possessive", kUnsupported},
      {"\\Aa", "1:1: invalid escape sequence", kWrong},
      {"\\p{Nonsense}", "1:1: unknown character property", kWrong},
      {"(a", "1:1: missing closing )", kWrong},
      {"a)", "1:2: unexpected )", kWrong},
      {"[a", "1:1: missing closing ]", kWrong},
      {"[b-a]", "1:2: range end is before its start", kWrong},
      {"*a", "1:1: nothing to repeat", kWrong},
      {"^*", "1:2: cannot repeat an assertion or a repetition", kWrong},
      {"(?=a)*", "1:6: cannot repeat an assertion or a repetition", kWrong},
      {"\\b+", "1:3: cannot repeat an assertion or a repetition", kWrong},
      {"a{3,2}", "1:2: repetition minimum exceeds its maximum", kWrong},
      {"a{2147483649}", "1:2: number exceeds 2147483648", kWrong},
      {"\\uD800", "1:1: invalid Unicode code point", kWrong},
      {"\\u{110000}", "1:1: invalid Unicode code point", kWrong},
      {"\\u{100000061}", "1:1: invalid Unicode code point", kWrong},
      {"\\u{}", "1:1: invalid escape sequence", kWrong},
      {"a\\", "1:2: incomplete escape sequence", kWrong},
      {"\\01", "1:1: unsupported octal escape", kUnsupported},
  };
  for (const auto& [pattern, message, status] : cases) {
    const BuiltGrammar grammar = BuiltGrammar::regex(pattern);
    EXPECT_EQ(grammar.status(), status) << pattern;
    EXPECT_EQ(grammar.message().rfind(message, 0), 0u) << pattern << " " << grammar.message();
  }
  std::string nested;
  for (int i = 0; i < 60000; ++i) nested += '(';
  const BuiltGrammar too_deep = BuiltGrammar::regex(nested);
  EXPECT_EQ(too_deep.status(), Status::kGrammarSyntax);
  EXPECT_EQ(too_deep.message().rfind("1:513: parentheses nested deeper than 512", 0), 0u) << too_deep.message();
}

}  // namespace
}  // namespace sotto::test
