// Tests structural tags: each of XGrammar's formats, with texts that match and texts that do not.
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

TEST(StructuralTags, ConstrainedPartsMatchTheirFormat) {
  expect_format(R"({"type":"const_string","value":"a\"b"})", {"a\"b"}, {"", "a", "a\"bc"});
  expect_format(R"({"type":"const_string","value":""})", {""}, {"a"});
  expect_format(R"({"type":"regex","pattern":"[a-c]+"})", {"a", "cab"}, {"", "d", "abd"});
  expect_format(R"({"type":"json_schema","json_schema":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},
                  "required":["a"],"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}})",
                {R"({"a":1})"}, {"{}", R"({"a":"1"})", R"( {"a":1})"});
  expect_format(R"({"type":"any_text"})", {"", "any text <a> é"}, {"\xFF"});
}

TEST(StructuralTags, EachSchemaHasReferencesOfItsOwn) {
  expect_format(R"({"type":"sequence","elements":[
      {"type":"json_schema","json_schema":{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}},
      {"type":"const_string","value":" "},
      {"type":"json_schema","json_schema":{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}},
      {"type":"regex","pattern":"[x]"},{"type":"regex","pattern":"[x]"}]})",
                {R"(1 "s"xx)"}, {R"(1 2xx)", R"("s" "s"xx)", R"(1 "s"x)"});
}

TEST(StructuralTags, EachGrammarHasRulesOfItsOwn) {
  expect_format(R"({"type":"sequence","elements":[
      {"type":"grammar","grammar":"root ::= \"a\" (x root)?\nx ::= \"-\""},
      {"type":"grammar","grammar":"x ::= [0-9]+\nroot ::= \"<\" x \">\""},
      {"type":"tag","begin":"[","content":{"type":"grammar","grammar":"root ::= [ab]*"},"end":"]"}]})",
                {"a<1>[]", "a-a-a<23>[ab]"}, {"a<->[]", "a1a<1>[]", "<1>[]", "a<1>[c]", "a<1>"});
}

TEST(StructuralTags, SequencesAndAlternativesMatchTheirElements) {
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
                {"<function=g></function>", "<function=g></function> b<function=f>[]</function>"},
                {"", "text", "<function=g>", "a<function=g></function>"});
  expect_format(std::string(kCalls) + R"(,"stop_after_first":true})", {"", "text", "a <function=g></function>"},
                {"<function=g></function>b", "<function=g></function><function=g></function>"});
  expect_format(std::string(kCalls) + R"(,"at_least_one":true,"stop_after_first":true})", {"<function=g></function>"},
                {"", "a", "a<function=g></function>", "<function=g></function>b"});
}

TEST(StructuralTags, TriggeredTagsInATagStopAtItsEnd) {
  const auto in_tag = [](const std::string& flags) {
    return R"({"type":"tag","begin":"<r>","content":)" + std::string(kCalls) + flags + R"(},"end":"</r>"})";
  };
  expect_format(in_tag(""), {"<r></r>", "<r>a</r>", "<r>a<function=g></function>b</r>"},
                {"<r>", "<r></r>a", "<r></r></r>", "<r>a<function=g></r>"});
  expect_format(in_tag(R"(,"at_least_one":true)"), {"<r><function=g></function>b</r>"},
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

// Free text up to one of the triggers, in a tag with the end. Each trigger begins a tag.
std::string tag_around(const std::string& end, const std::string& triggers, const std::string& flags = "") {
  std::string tags;
  for (const Json& trigger : Json::parse(triggers)) {
    const Json tag = {{"type", "tag"},
                      {"begin", trigger.get<std::string>() + "1"},
                      {"content", {{"type", "any_text"}}},
                      {"end", ";"}};
    tags += (tags.empty() ? "" : ",") + tag.dump();
  }
  return R"({"type":"tag","begin":"","content":{"type":"triggered_tags","triggers":)" + triggers + R"(,"tags":[)" +
         tags + "]" + flags + R"(},"end":)" + Json(end).dump() + "}";
}

TEST(StructuralTags, ATriggerAndTheEndOfTheTagAroundItMayOverlap) {
  // The trigger begins the end.
  expect_format(tag_around("</r>", R"(["<"])"), {"</r>", "x</r>", "<1a;</r>", "x<1a;y<1;</r>"},
                {"", "</r", "<1;", "</r>x", "</r></r>", "<<1;</r>", "</<1;</r>"});
  expect_format(tag_around("</r>", R"(["<"])", R"(,"at_least_one":true)"), {"<1;</r>", "<1;y<1;z</r>"},
                {"</r>", "x</r>", "x<1;</r>", "</r><1;</r>"});
  expect_format(tag_around("</r>", R"(["<"])", R"(,"stop_after_first":true)"), {"x</r>", "x<1;</r>"},
                {"x<1;y</r>", "x<1;<1;</r>"});
  expect_format(tag_around("</r>", R"(["<"])", R"(,"at_least_one":true,"stop_after_first":true)"), {"<1;</r>"},
                {"x</r>", "</r>", "x<1;</r>", "<1;<1;</r>"});
  // The trigger is in the middle of the end.
  expect_format(tag_around("a<b", R"(["<"])"), {"a<b", "aa<b", "x<1;a<b", "a<1;a<b"}, {"a<", "x<b", "a<ba<b", "a<1;"});
  expect_format(tag_around("ab<cd", R"(["<c","b<c"])"), {"ab<cd", "xab<cd", "b<c1;ab<cd", "ab<c1;ab<cd", "<c1;ab<cd"},
                {"b<cd", "ab<c"});
  // The trigger ends with a part of the end, or with several.
  expect_format(tag_around("<b", R"(["a<"])"), {"<b", "a<b", "aa<b", "a<1;<b"}, {"a<", "a<<b", "a<1;"});
  expect_format(tag_around("aab", R"(["aa"])"), {"aab", "aaab", "aa1;aab"}, {"aaaab", "aa"});
  expect_format(tag_around("aaa", R"(["aa"])"), {"aaa", "aa1;aaa"}, {"aaaa", "aa", "a"});
  // The trigger and the end complete at the same place: the longer one counts.
  expect_format(tag_around("a<", R"(["<"])"), {"a<", "<1;a<"}, {"a<1;a<", "<"});
  expect_format(tag_around("<", R"(["a<"])"), {"<", "a<1;<", "x<"}, {"a<", "a<1;"});
  expect_format(tag_around("\u00E9<\u00E9", R"(["<"])"), {"\u00E9<\u00E9", "\u00E9<1;\u00E9<\u00E9"}, {"<\u00E9"});
}

TEST(StructuralTags, ATriggerThatTheEndWouldHideIsAnError) {
  for (const char* trigger : {R"(["</r>"])", R"(["</r>x"])", R"(["x</r>y"])"}) {
    const BuiltGrammar grammar =
        structural_tag(R"({"type":"structural_tag","format":)" + tag_around("</r>", trigger) + "}");
    EXPECT_EQ(grammar.status(), Status::kGrammarSyntax);
    EXPECT_NE(grammar.message().find("the trigger contains the end of the tag around it at '\""), std::string::npos)
        << grammar.message();
  }
}

TEST(StructuralTags, TooManyOrTooLongTriggersAreAnError) {
  Json format = {{"type", "triggered_tags"}, {"triggers", Json::array()}, {"tags", Json::array()}};
  for (int i = 0; i < 2900; ++i) {
    format["triggers"].push_back(std::to_string(i) + "<");
    format["tags"].push_back({{"type", "tag"},
                              {"begin", std::to_string(i) + "<"},
                              {"content", {{"type", "const_string"}, {"value", ""}}},
                              {"end", ""}});
  }
  const auto build = [](const Json& json) {
    return structural_tag(Json({{"type", "structural_tag"}, {"format", json}}).dump());
  };
  const BuiltGrammar many = build(format);
  EXPECT_EQ(many.status(), Status::kGrammarTooLarge);
  EXPECT_EQ(many.message().find("1:35: comparing the triggers with the tags and the end takes too many steps"), 0u)
      << many.message();
  const BuiltGrammar wide =
      structural_tag(R"({"type":"structural_tag","format":)" +
                     tag_around(std::string(3000, 'a'), Json({std::string(2900, 'a')}).dump()) + "}");
  EXPECT_EQ(wide.status(), Status::kGrammarTooLarge);
  EXPECT_NE(wide.message().find("takes too many steps"), std::string::npos) << wide.message();
  // The free text before the end of a tag.
  std::string end;
  for (int i = 0; i < 3000; ++i)
    end += std::string{char(0xE4 + i / 4096), char(0x80 + i / 64 % 64), char(0x80 + i % 64)};
  const BuiltGrammar ends = build({{"type", "tag"}, {"begin", ""}, {"content", {{"type", "any_text"}}}, {"end", end}});
  EXPECT_EQ(ends.status(), Status::kGrammarTooLarge);
  EXPECT_EQ(
      ends.message(),
      "the triggers and the end of a tag have 3001 prefixes and 3000 different characters; the product must be at "
      "most 8000000");
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
  EXPECT_NE(format(R"({"type":"any_texts"})").find("unknown format type"), std::string::npos);
  EXPECT_NE(format(R"({"type":"any_text","x":1})").find("unknown key: x"), std::string::npos);
  EXPECT_NE(format(R"({"type":"const_string","value":1})").find("expected a string"), std::string::npos);
  EXPECT_NE(format(R"({"type":"sequence","elements":[]})").find("expected a list"), std::string::npos);
  EXPECT_NE(format(R"({"type":"const_string","value":"","x":1})").find("unknown key: x"), std::string::npos);
  EXPECT_EQ(format(R"({"type":"regex","pattern":"ab(c"})").find("#/format/pattern: 1:3: missing closing ) at '(c'"), 0u)
      << format(R"({"type":"regex","pattern":"ab(c"})");
  const auto grammar = [&](const std::string& text) {
    return format(R"({"type":"grammar","grammar":)" + Json(text).dump() + "}");
  };
  EXPECT_EQ(grammar("root ::= \"a\"\nx ::= y").find("#/format/grammar: 2:7: undefined rule: y"), 0u);
  EXPECT_EQ(grammar("a ::= \"a\"").find("#/format/grammar: undefined start rule: root"), 0u);
  EXPECT_NE(grammar("").find("expected a string that is not empty"), std::string::npos);
  EXPECT_EQ(grammar(" ").find("#/format/grammar: 1:2: missing rule"), 0u) << grammar(" ");
  const std::string tag = R"({"type":"tag","begin":"<a","content":{"type":"any_text"},"end":">"})";
  EXPECT_NE(format(R"({"type":"triggered_tags","triggers":["x"],"tags":[)" + tag + "]}")
                .find("does not begin with any trigger"),
            std::string::npos);
  EXPECT_NE(format(R"({"type":"triggered_tags","triggers":["<","<b"],"tags":[)" + tag + "]}").find("no tag begins"),
            std::string::npos);
  EXPECT_NE(format(R"({"type":"triggered_tags","triggers":[""],"tags":[)" + tag + "]}")
                .find("1:72: expected a string that is not empty at '\"\"]"),
            std::string::npos);
}

}  // namespace
}  // namespace sotto::test
