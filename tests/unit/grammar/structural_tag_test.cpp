// Structural tags: what XGrammar's formats express, each with texts that match and texts that do not.
#include "runtime/grammar/compiler/structural_tag.h"

#include <gtest/gtest.h>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

BuiltGrammar structural_tag(const std::string& source) {
  return BuiltGrammar::from([&](GrammarBuilder& builder, Error* error) {
    return build_structural_tag(as_span(source), BuiltGrammar::compact(), as_span("root"), builder, error);
  });
}

void expect_format(const std::string& format, const std::vector<std::string>& accepted,
                   const std::vector<std::string>& rejected) {
  BuiltGrammar grammar = structural_tag(R"({"type":"structural_tag","format":)" + format + "}");
  ASSERT_TRUE(grammar.valid()) << format << grammar.message();
  for (const std::string& text : accepted) EXPECT_TRUE(grammar.matches(text)) << format << text;
  for (const std::string& text : rejected) EXPECT_FALSE(grammar.matches(text)) << format << text;
}

TEST(StructuralTags, ConstrainedParts) {
  expect_format(R"({"type":"const_string","value":"a\"b"})", {"a\"b"}, {"", "a", "a\"bc"});
  expect_format(R"({"type":"const_string","value":""})", {""}, {"a"});
  expect_format(R"({"type":"regex","pattern":"[a-c]+"})", {"a", "cab"}, {"", "d", "abd"});
  expect_format(R"({"type":"json_schema","json_schema":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},
                  "required":["a"],"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}})",
                {R"({"a":1})"}, {"{}", R"({"a":"1"})", R"( {"a":1})"});
  expect_format(R"({"type":"any_text"})", {"", "any text <a> é"}, {"\xFF"});
}

TEST(StructuralTags, SequencesAndAlternatives) {
  expect_format(
      R"({"type":"sequence","elements":[{"type":"const_string","value":"x"},{"type":"regex","pattern":"[0-9]+"},
                  {"type":"regex","pattern":"[a-z]"}]})",
      {"x1a", "x123z"}, {"", "x1", "1a", "x1ab"});
  expect_format(R"({"type":"or","elements":[{"type":"const_string","value":"yes"},{"type":"sequence","elements":[
                  {"type":"const_string","value":"no: "},{"type":"any_text"}]}]})",
                {"yes", "no: because", "no: "}, {"", "no", "yes!"});
}

TEST(StructuralTags, TheEndOfATagEndsItsFreeText) {
  expect_format(R"({"type":"tag","begin":"<a>","content":{"type":"any_text"},"end":"</a>"})",
                {"<a></a>", "<a>x<</a</a>"}, {"<a>", "<a></a>x", "<a></a></a>", "x<a></a>"});
  // The last element of a sequence, and every alternative, ends with the tag.
  expect_format(R"({"type":"tag","begin":"[","content":{"type":"sequence","elements":[
                  {"type":"regex","pattern":"[0-9]"},
                  {"type":"or","elements":[{"type":"any_text"},{"type":"const_string","value":"]]"}]}]},"end":"]"})",
                {"[1]", "[1abc]", "[1]]]"}, {"[1]]", "[]", "[1", "[1]x"});
  expect_format(R"({"type":"tag","begin":"","content":{"type":"any_text"},"end":""})", {"", "abc"}, {});
  expect_format(R"({"type":"tag","begin":"<a>","content":{"type":"tag","begin":"<b>","content":{"type":"any_text"},
                  "end":"</b>"},"end":"</a>"})",
                {"<a><b></a></b></a>"}, {"<a></b></a>", "<a><b></b>"});
}

// The calls of two functions in free text, as models write them.
const char kCalls[] = R"({"type":"triggered_tags","triggers":["<function="],"tags":[
    {"type":"tag","begin":"<function=f>","content":{"type":"json_schema","json_schema":{"type":"array",
     "items":{"type":"integer"}}},"end":"</function>"},
    {"type":"tag","begin":"<function=g>","content":{"type":"regex","pattern":"[a-z]*"},"end":"</function>"}])";

TEST(StructuralTags, TriggersBeginTags) {
  expect_format(std::string(kCalls) + "}",
                {"", "text <function without", "<function=f>[1,2]</function>",
                 "a <function=g>x</function> b <<function=f>[]</function>c"},
                {"<function=", "<function=h>", "<function=f>[1</function>", "a<function=g>1</function>",
                 "<function=g>x</function><function=g>"});
  expect_format(std::string(kCalls) + R"(,"at_least_one":true})",
                {"<function=g></function>", "a <function=g></function> b<function=f>[]</function>"},
                {"", "text", "<function=g>"});
  expect_format(std::string(kCalls) + R"(,"stop_after_first":true})", {"", "text", "a <function=g></function>"},
                {"<function=g></function>b", "<function=g></function><function=g></function>"});
  expect_format(std::string(kCalls) + R"(,"at_least_one":true,"stop_after_first":true})", {"a<function=g></function>"},
                {"", "a", "<function=g></function>b"});
}

TEST(StructuralTags, TriggeredTagsInATagStopAtItsEnd) {
  const auto in_tag = [](const std::string& flags) {
    return R"({"type":"tag","begin":"<r>","content":)" + std::string(kCalls) + flags + R"(},"end":"</r>"})";
  };
  expect_format(in_tag(""), {"<r></r>", "<r>a</r>", "<r>a<function=g></function>b</r>"},
                {"<r>", "<r></r>a", "<r></r></r>", "<r>a<function=g></r>"});
  expect_format(in_tag(R"(,"at_least_one":true)"), {"<r>a<function=g></function>b</r>"},
                {"<r></r>", "<r></r><function=g></function></r>", "<r>a<function=g></function></r></r>"});
  expect_format(in_tag(R"(,"stop_after_first":true)"), {"<r>a</r>", "<r>a<function=g></function></r>"},
                {"<r>a<function=g></function>b</r>"});
}

TEST(StructuralTags, SeveralTriggersAndOverlaps) {
  expect_format(R"({"type":"triggered_tags","triggers":["<a","<ab"],"tags":[
      {"type":"tag","begin":"<a1","content":{"type":"any_text"},"end":">"},
      {"type":"tag","begin":"<ab2","content":{"type":"any_text"},"end":">"}]})",
                {"<a1x>", "<<a1>", "<ab2y>", "< a <b"}, {"<a2>", "<ab1>", "<a1x", "<a"});
}

TEST(StructuralTags, TagsWithASeparator) {
  const std::string tags = R"({"type":"tags_with_separator","separator":",","tags":[
      {"type":"tag","begin":"<","content":{"type":"regex","pattern":"[0-9]+"},"end":">"},
      {"type":"tag","begin":"[","content":{"type":"any_text"},"end":"]"}])";
  expect_format(tags + "}", {"", "<1>", "<1>,[a,b],<22>"}, {"<1>,", ",<1>", "<1><2>", "<a>"});
  expect_format(tags + R"(,"at_least_one":true})", {"<1>", "[],<2>"}, {""});
  expect_format(tags + R"(,"stop_after_first":true})", {"", "<1>"}, {"<1>,<2>"});
}

TEST(StructuralTags, MistakesAreErrorsWithTheirPlace) {
  const auto message = [](const std::string& source) { return structural_tag(source).message(); };
  EXPECT_EQ(message("[]").rfind("1:1: expected an object", 0), 0u) << message("[]");
  EXPECT_EQ(message(R"({"type":"structural_tag"})").rfind("1:1: missing key: format", 0), 0u);
  const auto format = [&](const std::string& text) {
    return message(R"({"type":"structural_tag","format":)" + text + "}");
  };
  EXPECT_NE(format(R"({"type":"any_texts"})").find("unknown type of format"), std::string::npos);
  EXPECT_NE(format(R"({"type":"any_text","x":1})").find("unknown key: x"), std::string::npos);
  EXPECT_NE(format(R"({"type":"const_string","value":1})").find("expected a string"), std::string::npos);
  EXPECT_NE(format(R"({"type":"sequence","elements":[]})").find("expected a list"), std::string::npos);
  EXPECT_NE(format(R"({"type":"regex","pattern":"("})"), "");
  const std::string tag = R"({"type":"tag","begin":"<a","content":{"type":"any_text"},"end":">"})";
  EXPECT_NE(format(R"({"type":"triggered_tags","triggers":["x"],"tags":[)" + tag + "]}").find("no trigger begins"),
            std::string::npos);
  EXPECT_NE(format(R"({"type":"triggered_tags","triggers":["<","<b"],"tags":[)" + tag + "]}").find("no tag begins"),
            std::string::npos);
}

}  // namespace
}  // namespace sotto::test
