// Tests single keywords of JSON Schema: numbers by brute force, forms of strings and white space, rejected keywords,
// shortcuts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/grammar/json_schema/json_schema.h"
#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

std::string decimal(int hundredths) {
  std::string text = hundredths < 0 ? "-" : "";
  text += std::to_string(std::abs(hundredths) / 100);
  const int rest = std::abs(hundredths) % 100;
  if (rest != 0) text += "." + std::to_string(rest / 10) + (rest % 10 != 0 ? std::to_string(rest % 10) : "");
  return text;
}

// Inside strings, and in names once no listed one remains, more characters do not change the state.
TEST(SchemaKeywords, FreeStringsRepeatTheirState) {
  constexpr char kStrings[] = R"({"type":"string"})";
  constexpr char kNames[] = R"({"type":"object","properties":{"ab":{"type":"null"},"b":{}}})";
  const struct {
    const char* schema;
    const char* text;
    bool repeats;
  } cases[] = {{kStrings, "\"", true},     {kStrings, "\"a\\u0041", true}, {kStrings, "\"\\", false},
               {kNames, "{\"", false},     {kNames, "{\"a", false},        {kNames, "{\"abc", true},
               {kNames, "{\"x", true},     {kNames, "{\"x\":1,\"y", true}, {kNames, "{\"a\\n", true},
               {kNames, "{\"x\":\"", true}};
  for (const auto& c : cases) {
    const BuiltGrammar grammar = BuiltGrammar::schema(c.schema);
    ASSERT_TRUE(grammar.valid()) << grammar.message();
    OwnedMatcher matcher;
    ASSERT_EQ(matcher.init(grammar.view(), nullptr), Status::kOk);
    ASSERT_EQ(matcher->accept_text(0, as_span(c.text)), Status::kOk) << c.text;
    const LazyAutomaton& automaton = matcher->automaton();
    const StateSet& set = automaton.store().state_set(automaton.pins()[0].set);
    EXPECT_EQ(set.repeated_classes, c.repeats ? kAllClasses : 0) << c.schema << c.text;
  }
}

TEST(SchemaKeywords, NumbersMatchBruteForce) {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 150; ++round) {
    const int low = pick(-1500, 1500) * pick(1, 9);
    const int high = low + pick(0, 2500) * pick(1, 6);
    const bool integer = pick(0, 1) == 0;
    const bool open_low = pick(0, 1) == 0;
    const bool open_high = pick(0, 1) == 0;
    const int divisors[] = {0, 0, 1, 25, 50, 70, 100, 150, 300, 1300};
    const int divisor = divisors[pick(0, 9)];
    const std::string source = "{\"type\":\"" + std::string(integer ? "integer" : "number") + "\",\"" +
                               (open_low ? "exclusiveMinimum" : "minimum") + "\":" + decimal(low) + ",\"" +
                               (open_high ? "exclusiveMaximum" : "maximum") + "\":" + decimal(high) +
                               (divisor > 0 ? ",\"multipleOf\":" + decimal(divisor) : "") + "}";
    BuiltGrammar grammar = BuiltGrammar::schema(source);
    ASSERT_TRUE(grammar.valid() || grammar.empty()) << source << grammar.message();
    for (int value = low - 320; value <= high + 320; value += pick(1, 9)) {
      bool fits = open_low ? value > low : value >= low;
      fits = fits && (open_high ? value < high : value <= high);
      fits = fits && (!integer || value % 100 == 0) && (divisor == 0 || value % divisor == 0);
      EXPECT_EQ(grammar.matches(decimal(value)), fits) << source << " " << decimal(value);
      if (!integer && fits) {
        const std::string text = decimal(value);
        EXPECT_TRUE(grammar.matches(text + (text.find('.') == std::string::npos ? ".000" : "000"))) << source << text;
      }
    }
    for (const char* text : {"-0", "00", "01", "1.", ".5", "+1", "1e1", "", "-"}) {
      EXPECT_FALSE(grammar.matches(text)) << source << " " << text;
    }
  }
}

void expect(const std::string& schema, std::vector<std::string> accepted, std::vector<std::string> rejected) {
  BuiltGrammar grammar = BuiltGrammar::schema(schema);
  ASSERT_TRUE(grammar.valid()) << schema << " " << grammar.message();
  for (const auto& text : accepted) EXPECT_TRUE(grammar.matches(text)) << schema << " " << text;
  for (const auto& text : rejected) EXPECT_FALSE(grammar.matches(text)) << schema << " " << text;
}

TEST(SchemaKeywords, StringsHaveOneForm) {
  // Unconstrained strings may have any form. Each escape, and each pair of surrogates, is one character.
  expect(R"({"type":"string","minLength":2,"maxLength":2})",
         {R"("ab")", R"("\u00e9\n")", R"("\ud83d\ude00x")", "\"\xF0\x9F\x98\x80\xC3\xA9\"", R"("\/\\")"},
         {R"("a")", R"("\ud83d\ude00")", R"("abc")", R"("\ud83dx")", "\"a\nb\"", R"("\xy")"});
  // These strings contain characters that have a meaning in patterns.
  expect(R"({"const":"a\"\\\n\u0001/é"})", {"\"a\\\"\\\\\\n\\u0001/é\""},
         {"\"a\\\"\\\\\\u000a\\u0001/é\"", "\"a\\\"\\\\\\n\\u0001\\/é\"", "\"a\\\"\\\\\\n\\u0001/\\u00e9\""});
  expect(R"({"type":"string","pattern":"^[^x]$"})", {R"("a")", R"("\n")", R"("\u001F")", R"("\u001f")", R"("\\")"},
         {R"("x")", R"("\u0061")", R"("\u0078")", R"("\u000a")", R"("")", R"("aa")"});
  expect(R"({"type":"object","properties":{"a":{"const":1}}})", {R"({"a":1})", R"({"b":2})", R"({})"},
         {R"({"a":2})", R"({"\u0061":2})", R"({"b":2,"a":2})"});
}

TEST(SchemaKeywords, JsonSpaceDeterminesTheWhiteSpace) {
  GrammarParams options = BuiltGrammar::compact();
  const char* const schema =
      R"({"type":"object","properties":{"a":{"items":{"type":"integer"}}},"additionalProperties":false})";
  BuiltGrammar compact = BuiltGrammar::schema(schema, options);
  options.json_space = JsonSpace::kOneSpace;
  BuiltGrammar one = BuiltGrammar::schema(schema, options);
  options.json_space = JsonSpace::kFlexible;
  options.max_space = 3;
  BuiltGrammar flexible = BuiltGrammar::schema(schema, options);
  const std::string texts[] = {R"({"a":[1,2]})", R"({"a": [1, 2]})", "{\n \"a\" : [ 1\t,2 ]\n}", "{\"a\":[1,    2]}"};
  const bool expected[3][4] = {{true, false, false, false}, {false, true, false, false}, {true, true, true, false}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(compact.matches(texts[i]), expected[0][i]) << texts[i];
    EXPECT_EQ(one.matches(texts[i]), expected[1][i]) << texts[i];
    EXPECT_EQ(flexible.matches(texts[i]), expected[2][i]) << texts[i];
  }
}

// The character _ marks places where space may be: as much as allowed at each of them, and none elsewhere.
TEST(SchemaKeywords, WhiteSpaceIsBoundedPerPlace) {
  GrammarParams options;
  options.json_space = JsonSpace::kFlexible;
  options.max_space = 2;
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"{}", {"[_]", "{_}", "[_1_,_[_]_]", R"({_"a"_:_{_}_,_"b"_:_1_})"}},
      {R"({"items":{"type":"integer"}})", {"[_]", "[_1_]", "[_1_,_2_,_3_]"}},
      {R"({"prefixItems":[{"type":"null"}],"contains":{"const":1}})", {"[_null_,_1_]", "[_null_,_2_,_1_,_3_]"}},
      {R"({"properties":{"a":{"items":{}}}})",
       {"{_}", R"({_"a"_:_[_]_})", R"({_"b"_:_1_})", R"({_"a"_:_[_1_]_,_"b"_:_{_}_})"}},
      {R"({"required":["a"],"maxProperties":2})", {R"({_"a"_:_1_})", R"({_"a"_:_1_,_"c"_:_2_})"}},
  };
  for (const auto& [schema, texts] : cases) {
    BuiltGrammar grammar = BuiltGrammar::schema(schema, options);
    ASSERT_TRUE(grammar.valid()) << schema << grammar.message();
    for (const std::string text : texts) {
      const auto places = static_cast<size_t>(std::count(text.begin(), text.end(), '_'));
      for (size_t longer = 0; longer <= places; ++longer) {
        std::string spaced;
        size_t place = 0;
        for (const char c : text) {
          spaced += c == '_' ? std::string(place++ == longer ? 3 : 2, ' ') : std::string(1, c);
        }
        EXPECT_EQ(grammar.matches(spaced), longer == places) << schema << spaced;
      }
    }
  }
}

TEST(SchemaKeywords, RecursiveSchemasMatchNestedValues) {
  expect(
      R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},
             "l":{"$ref":"#/$defs/tree"},"r":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},
             "required":["v"],"additionalProperties":false}}})",
      {R"({"v":1})", R"({"v":1,"l":{"v":2,"r":null},"r":{"v":3}})", R"({"l":{"v":1},"v":1})"},
      {R"({})", R"({"l":{"v":1}})", R"({"v":1,"l":null})", R"({"v":1,"x":1})"});
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += R"({"v":1,"l":)";
  deep += R"({"v":1})" + std::string(3000, '}');
  expect(
      R"({"type":"object","properties":{"v":{"const":1},"l":{"$ref":"#"}},"required":["v"],"additionalProperties":false})",
      {deep}, {deep + "}"});
}

TEST(SchemaKeywords, NegatedMinLengthZeroMatchesNothing) {
  for (const char* schema :
       {R"({"type":"string","not":{"minLength":0}})", R"({"type":"string","pattern":"^a","not":{"minLength":0}})",
        R"({"enum":["a","b"],"not":{"minLength":0}})", R"({"type":"string","maxLength":5,"not":{"minLength":0}})"}) {
    const BuiltGrammar grammar = BuiltGrammar::schema(schema);
    EXPECT_TRUE(grammar.empty()) << schema << grammar.message();
  }
  expect(R"({"anyOf":[{"type":"string","not":{"minLength":0}},{"type":"null"}]})", {"null"}, {R"("")", R"("a)"});
  expect(R"({"type":"object","propertyNames":{"not":{"minLength":0}}})", {"{}"}, {R"({"a":1})", R"({"":1})"});
}

TEST(SchemaKeywords, ReferencesResolvePointers) {
  const std::string name(1000, 'n');
  const std::string long_name = R"({"$ref":"#/$defs/)" + name + R"(","$defs":{")" + name;
  expect(long_name + R"(x":false,")" + name + R"(":{"type":"null"}}})", {"null"}, {"1"});
  const char* const names[][2] = {{"#/$defs/a~1b", "a/b"},   {"#/$defs/a~01", "a~1"}, {"#/$defs/%61%7e1", "a/"},
                                  {"#/$defs/a%7E%30", "a~"}, {"#/$defs/%6", "%6"},    {"#/$defs/a~2~", "a~2~"},
                                  {"#/$defs/", ""}};
  for (const auto& [pointer, key] : names) {
    expect(Json{{"$ref", pointer}, {"$defs", {{"a", false}, {key, {{"type", "null"}}}}}}.dump(), {"null"}, {"1"});
  }
  const char* const kTail = R"(","$defs":{"a":[{"type":"null"},{"type":"boolean"}]}})";
  const std::string head = R"({"$ref":"#/$defs/a/)";
  expect(head + "0" + kTail, {"null"}, {"true"});
  expect(head + "%31" + kTail, {"true"}, {"null"});
  for (const char* index :
       {"", "00", "01", "x00", "0x", "-0", "2", "4294967295", "4294967296", "18446744073709551616", "%301"}) {
    const BuiltGrammar grammar = BuiltGrammar::schema(head + index + kTail);
    EXPECT_EQ(grammar.message().rfind("#/$ref is \"#/$defs/a/", 0), 0u) << index << grammar.message();
  }
}

TEST(SchemaKeywords, AnIdentifierInsideAnUnknownKeywordIsNone) {
  BuiltGrammar grammar = BuiltGrammar::schema(
      R"({"$defs":{"a":{"x":{"$id":"urn:example:i","type":"null"}},"b":{"$id":"urn:example:i","type":"string"}},)"
      R"("$ref":"urn:example:i"})");
  ASSERT_TRUE(grammar.valid()) << grammar.message();
  EXPECT_TRUE(grammar.matches("\"a\""));
  EXPECT_FALSE(grammar.matches("null"));
}

TEST(SchemaKeywords, ErrorsNameThePointer) {
  const std::pair<const char*, const char*> cases[] = {
      {R"_({"properties":{"a/b":{"pattern":"(?<=x)"}}})_", "#/properties/a~1b/pattern: 1:1: unsupported look-behind"},
      {R"({"items":{"uniqueItems":true}})", "#/items/uniqueItems: several unique elements"},
      {R"({"$ref":"#/nowhere"})", "#/$ref is \"#/nowhere\"; it must refer to a place in this document"},
      {R"({"$ref":"http://example.com/x"})", "#/$ref is \"http://example.com/x\"; references to other documents"},
      {R"({"type":"strin"})", "#/type is \"strin\"; it must be null, boolean, integer"},
      {R"({"anyOf":[]})", "#/anyOf is an empty array; it must be an array of at least one schema"},
      {R"({"required":"a"})", "#/required is \"a\"; it must be an array of names"},
      {R"({"items":{"pattern":["a"]}})", "#/items/pattern is an array; it must be a string"},
      {R"({"properties":{"a":{"multipleOf":null}}})", "#/properties/a/multipleOf is null; it must be a number"},
      {R"({"multipleOf":11529.21504606846976})",
       "#/multipleOf is 11529.21504606846976; the number has too many digits"},
      {R"({"type":"a name that is longer than forty characters"})",
       "#/type is \"a name that is longer than forty charact...\"; it must"},
      {R"({"anyOf":[{"minLength":-1,"pattern":"a"}]})", "#/anyOf/0/minLength is -1; it must be an integer"},
      {R"({"format":"idn-hostname"})", "#/format is \"idn-hostname\"; the format is not supported"},
      {R"({"minProperties":3})", "#/minProperties is 3; not supported where names"},
      {R"({"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false})",
       "#/unevaluatedProperties: not supported next to"},
      {R"({"not":{"prefixItems":[true],"items":{"type":"null"}}})", "#/not/items: \"not\" around the elements after"},
      {R"({"$schema":"https://json-schema.org/draft/2020-12/schema","dependentRequired":{"a":5}})",
       "#/dependentRequired/a is 5; it must be an array of names"},
      {R"({"prefixItems":{"type":"null"}})", "#/prefixItems is an object; it must be an array of schemas"},
      {R"({"prefixItems":[true],"items":[{"type":"null"}]})", "#/items is an array; it must be a schema next to"},
      {R"({"dependentSchemas":{"a":["b"]}})", "#/dependentSchemas/a is an array; it must be a schema"},
      {R"({"dependencies":{"a":5}})", "#/dependencies/a is 5; it must be a schema or an array of names"},
      {R"({"$dynamicRef":"#x"})", "#/$dynamicRef is \"#x\"; the keyword is not supported"},
      {R"(["a"])", "# is an array; it must be a schema: an object or a boolean"},
      {"{\"a\":1,\n \"a\":2}", "2:6: duplicate key: a"},
      {"{\"a\":01}", "1:6: number has a leading zero"},
      {"{\"a\":\"\\ud800\"}", "1:7: unpaired surrogate"},
  };
  for (const auto& [schema, message] : cases) {
    const BuiltGrammar grammar = BuiltGrammar::schema(schema);
    const std::string_view said = message;
    const bool wrong = said.find("; it must") != said.npos || said[0] != '#';
    EXPECT_EQ(grammar.status(), wrong ? Status::kGrammarSyntax : Status::kGrammarUnsupported) << schema;
    EXPECT_EQ(grammar.message().rfind(message, 0), 0u) << schema << " " << grammar.message();
  }
}

TEST(SchemaKeywords, FormatsMatchTheirStringsOnly) {
  const auto expect_format = [](const std::string& format, std::vector<std::string> good,
                                std::vector<std::string> bad) {
    for (auto* list : {&good, &bad}) {
      for (auto& text : *list) text = canonical(text);
    }
    expect(R"({"type":"string","format":")" + format + "\"}", good, bad);
  };
  expect_format("date", {"2024-02-29", "2000-02-29", "1999-12-31"},
                {"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01"});
  expect_format("date-time", {"2024-02-29T23:59:60Z", "2024-01-01t00:00:00.123+05:30"},
                {"2024-01-01T24:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00"});
  expect_format("ipv4", {"0.0.0.0", "255.255.255.255"}, {"256.0.0.1", "01.2.3.4", "1.2.3"});
  expect_format("ipv6", {"::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8"},
                {":::", "1:2:3:4:5:6:7:8:9", "12345::", "1::2::3"});
  expect_format("email", {"a.b@example.com", "\"a b\"@[127.0.0.1]"}, {"a..b@example.com", "a@-b.com", "a"});
  expect_format("uri", {"http://example.com/c?d=e#f", "urn:x:y", "ftp://[::1]:21/"},
                {"//a", "http://example.com/ b", "urn://[::x]/", "a:%zz"});
  expect_format("uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"});
  expect_format("duration", {"P1Y2M3DT4H5M6S", "PT1S", "P4W"}, {"P", "P1D2Y", "PT", "P1Y1W"});
  expect_format("hostname", {"a.example.com", std::string(63, 'a')},
                {"-a", "a-", "a..b", std::string(64, 'a'), "xn--a"});
  expect_format("unknown", {"anything"}, {});
}

// At every minute of a day, a leap second is valid if it is 23:59 in UTC, and nowhere else.
TEST(SchemaKeywords, LeapSecondsAreValidAtMidnightUtcOnly) {
  BuiltGrammar grammar = BuiltGrammar::schema(R"({"type":"string","format":"time"})");
  const auto clock = [](int minutes) {
    const auto two = [](int value) { return std::to_string(100 + value).substr(1); };
    return two(minutes / 60) + ":" + two(minutes % 60);
  };
  constexpr int kDay = 24 * 60;
  for (const int offset : {0, 15, 60, 90, 345, 570, 720, 765, 1425}) {
    for (const int sign : {-1, 1}) {
      for (int local = 0; local < kDay; ++local) {
        const int utc = (local - sign * offset + kDay) % kDay;
        const std::string text = clock(local) + ":60.5" + (sign < 0 ? "-" : "+") + clock(offset);
        ASSERT_EQ(grammar.accepts(text), utc == kDay - 1) << text;
      }
    }
  }
  EXPECT_TRUE(grammar.accepts("23:59:60Z") && grammar.accepts("23:59:60.25z"));
  EXPECT_FALSE(grammar.accepts("22:59:60Z"));
}

template <typename Build>
BuiltGrammar built(Build build) {
  return BuiltGrammar::from(
      [&](GrammarBuilder& builder, Error* error) { return build(builder, as_span("root"), error); });
}

TEST(SchemaKeywords, ChoicesAndNumberRangesMatchTheirValues) {
  const std::string_view words[] = {"yes", "no", "\"q\""};
  BuiltGrammar choices =
      built([&](auto& builder, auto name, auto* error) { return build_choices(words, name, builder, error); });
  EXPECT_TRUE(choices.matches("yes") && choices.matches("\"q\""));
  EXPECT_FALSE(choices.matches("ye") || choices.matches("yesno"));
  BuiltGrammar range = built([&](auto& builder, auto name, auto* error) {
    return build_number_range("-1.5", "1e2", false, name, builder, error);
  });
  EXPECT_TRUE(range.matches("-1.5") && range.matches("100.00") && range.matches("99.99"));
  EXPECT_FALSE(range.matches("-1.51") || range.matches("100.01"));
  const BuiltGrammar bad = built(
      [&](auto& builder, auto name, auto* error) { return build_number_range("x", "", true, name, builder, error); });
  EXPECT_EQ(bad.status(), Status::kInvalidArgument);
  const std::string functions =
      R"([{"type":"function","function":{"name":"add","parameters":{"type":"object",
      "properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}}},
      {"name":"now"}])";
  GrammarParams options = BuiltGrammar::compact();
  const auto calls = [&](bool parallel) {
    options.parallel_tool_calls = parallel;
    return built([&](auto& builder, auto name, auto* error) {
      return build_tool_calls(as_span(functions), options, name, builder, error);
    });
  };
  BuiltGrammar one = calls(false);
  EXPECT_TRUE(one.matches(R"({"name":"add","arguments":{"a":1}})")) << one.message();
  EXPECT_TRUE(one.matches(R"({"name":"now","arguments":{"x":[]}})"));
  EXPECT_FALSE(one.matches(R"({"name":"add","arguments":{}})") || one.matches(R"({"name":"sub","arguments":{}})"));
  BuiltGrammar several = calls(true);
  EXPECT_TRUE(several.matches(R"([{"name":"now","arguments":{}},{"name":"add","arguments":{"a":1}}])"));
  EXPECT_FALSE(several.matches("[]"));
  options.json_space = JsonSpace::kFlexible;
  options.max_space = 1;
  BuiltGrammar spaced = calls(true);
  EXPECT_TRUE(spaced.matches(R"([ { "name" : "now" , "arguments" : { } } ])"));
  EXPECT_FALSE(spaced.matches(R"([ { "name" : "now"  , "arguments" : { } } ])") ||
               spaced.matches(R"([ { "name" : "now" , "arguments" : {  } } ])"));
}

// Exhausts the workspace at every point while the automaton of names becomes rules.
TEST(SchemaKeywords, EveryWorkspaceSizeFailsCleanly) {
  const std::string_view schema = R"({"type":"object","properties":{"_meta":{}},"additionalProperties":{}})";
  std::vector<uint64_t> memory(1 << 16);
  bool built = false;
  for (size_t size = 0; size < memory.size() * 8 && !built; size += 8) {
    Workspace workspace(memory.data(), size);
    GrammarBuilder builder(workspace);
    Error error;
    const Status status = build_json_schema(as_span(schema), {}, as_span("root"), builder, &error);
    built = status == Status::kOk && !workspace.exhausted();
    EXPECT_TRUE(built || workspace.exhausted()) << size << " " << error.message;
  }
  EXPECT_TRUE(built);
}

// Any size of the workspace, and any text, returns a status.
TEST(SchemaKeywords, SmallWorkspacesGiveAStatus) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]{2,5}x|y$","maxLength":9},
      "n":{"type":"number","minimum":-2.5,"multipleOf":0.25},"o":{"oneOf":[{"const":[1,{}]},{"enum":["x",2]}]}},
      "patternProperties":{"^p\\p{Lu}":{"items":{"$ref":"#"},"contains":{"minimum":3}}},"propertyNames":{"maxLength":6}})";
  std::vector<uint64_t> memory(1 << 19);
  size_t failures = 0;
  bool built = false;
  for (size_t size = 0; size < memory.size() * 8 && !built; size += size < 20000 ? 56 : size / 40) {
    Workspace workspace(memory.data(), size);
    GrammarBuilder builder(workspace);
    Error error;
    const Status status = build_json_schema(as_span(schema), BuiltGrammar::compact(), as_span("root"), builder, &error);
    if (status == Status::kOk && !workspace.exhausted()) built = true;
    if (status == Status::kOk) continue;
    ++failures;
    EXPECT_TRUE(workspace.exhausted()) << size << " " << error.message;
  }
  EXPECT_TRUE(built);
  EXPECT_GT(failures, 50u);
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string text = schema;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at = random() % text.size();
      const size_t kind = random() % 3;
      if (kind == 0) text[at] = static_cast<char>(random());
      if (kind == 1) text.erase(at, random() % 8);
      if (kind == 2) text.insert(at, text.substr(random() % text.size(), random() % 12));
    }
    Workspace workspace(memory.data(), memory.size() * 8);
    GrammarBuilder builder(workspace);
    Error error;
    const Status status = build_json_schema(as_span(text), BuiltGrammar::compact(), as_span("root"), builder, &error);
    EXPECT_TRUE(status == Status::kOk || error.message[0] != '\0') << text;
  }
}

struct Verdicts {
  const char* schema;
  std::vector<const char*> accepted;
  std::vector<const char*> rejected;
};

void expect_verdicts(const Verdicts& c) {
  BuiltGrammar grammar = BuiltGrammar::schema(c.schema);
  ASSERT_TRUE(grammar.valid()) << c.schema << grammar.message();
  for (const char* text : c.accepted) EXPECT_TRUE(grammar.accepts(Json::parse(text))) << c.schema << text;
  for (const char* text : c.rejected) EXPECT_FALSE(grammar.accepts(Json::parse(text))) << c.schema << text;
}

TEST(SchemaKeywords, NegationsRequireAPropertyThatViolates) {
  const Verdicts cases[] = {
      {R"({"type":"object","not":{"patternProperties":{"^a":{"type":"integer"}}}})",
       {R"({"a":"x"})", R"({"ab":null,"b":1})", R"({"a":1,"ab":"x"})"},
       {"{}", R"({"a":1})", R"({"b":"x"})"}},
      {R"({"type":"object","not":{"properties":{"a":true},"additionalProperties":false}})",
       {R"({"b":1})", R"({"a":1,"b":2})", R"({"b":1,"c":2})"},
       {"{}", R"({"a":1})"}},
      {R"({"type":"object","not":{"additionalProperties":{"minimum":3}}})",
       {R"({"b":1})", R"({"a":4,"b":2})"},
       {"{}", R"({"a":3})", R"({"a":"x"})"}},
      {R"({"type":"object","not":{"propertyNames":{"maxLength":1}}})",
       {R"({"ab":1})", R"({"a":1,"abc":1})"},
       {"{}", R"({"a":1})"}},
      {R"({"type":"object","properties":{"a1":true,"b":true,"a2":{"type":"string"}},"additionalProperties":false,
           "not":{"patternProperties":{"^a":{"type":"integer"}}}})",
       {R"({"a1":"x"})", R"({"a1":null,"b":1})", R"({"a2":"x"})", R"({"a1":1,"a2":""})"},
       {"{}", R"({"a1":1})", R"({"b":"x"})", R"({"a2":1})", R"({"a3":"x"})"}},
      {R"({"type":"object","required":["b"],"properties":{"b":{"type":"integer"}},"allOf":[
           {"not":{"propertyNames":{"maxLength":1}}},{"not":{"patternProperties":{"c$":{"type":"null"}}}}]})",
       {R"({"b":1,"bc":1})", R"({"b":1,"bb":null,"c":1})"},
       {R"({"b":1})", R"({"b":1,"bc":null})", R"({"b":1,"c":1})", R"({"bc":1})"}},
      {R"({"oneOf":[{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false},
           {"type":"object","properties":{"a":{"type":"integer"},"b":true},"additionalProperties":false}]})",
       {R"({"b":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"a":1})", R"({"c":1})", R"({"a":"x"})"}},
  };
  for (const Verdicts& c : cases) expect_verdicts(c);
  // The last property of a name counts, so nothing may come after the one that violates.
  BuiltGrammar repeated = BuiltGrammar::schema(cases[0].schema);
  EXPECT_TRUE(repeated.matches(R"({"a":1,"a":"x"})"));
  EXPECT_FALSE(repeated.matches(R"({"a":"x","a":1})"));
}

TEST(SchemaKeywords, UniqueItemsAreASetOfListedValues) {
  const Verdicts cases[] = {
      {R"({"type":"array","uniqueItems":true,"items":{"enum":["a","b",1,1.0,null]}})",
       {"[]", R"(["a"])", R"([1,"b","a",null])", R"([null,"a"])"},
       {R"(["a","a"])", "[1,1]", R"(["c"])", R"(["a",1,"b",null,"a"])"}},
      {R"({"type":"array","uniqueItems":true,"minItems":2,"items":{"enum":["a","b"]}})",
       {R"(["a","b"])", R"(["b","a"])"},
       {"[]", R"(["a"])", R"(["a","a"])"}},
      {R"({"type":"array","uniqueItems":true,"minItems":1,"items":{"enum":[1,2,3],"minimum":2}})",
       {"[2]", "[3,2]"},
       {"[]", "[1]", "[2,2]"}},
  };
  for (const Verdicts& c : cases) expect_verdicts(c);
}

// If the elements are counted, or if there are more values than a set has members, they come in the order of the list.
TEST(SchemaKeywords, UniqueItemsMayBeASubsequenceOfTheListedValues) {
  Json many = {{"type", "array"}, {"uniqueItems", true}};
  for (int i = 0; i < 300; ++i) many["items"]["enum"].push_back("value" + std::to_string(i));
  const Verdicts cases[] = {
      {R"({"type":"array","uniqueItems":true,"minItems":2,"items":{"enum":[1,2,3]}})",
       {"[1,2]", "[1,3]", "[2,3]", "[1,2,3]"},
       {"[]", "[1]", "[2,1]", "[1,1]", "[1,2,2]"}},
      {R"({"type":"array","uniqueItems":true,"maxItems":2,"items":{"enum":[1,2,3]}})",
       {"[]", "[3]", "[1,2]", "[2,3]"},
       {"[1,2,3]", "[3,3]"}},
  };
  for (const Verdicts& c : cases) expect_verdicts(c);
  BuiltGrammar grammar = BuiltGrammar::schema(many.dump());
  ASSERT_TRUE(grammar.valid()) << grammar.message();
  EXPECT_LT(grammar.size(), 150000u);
  EXPECT_TRUE(grammar.matches(many["items"]["enum"].dump()));
  EXPECT_TRUE(grammar.matches("[]"));
  EXPECT_TRUE(grammar.matches(R"(["value7","value299"])"));
  EXPECT_FALSE(grammar.matches(R"(["value7","value7"])"));
}

TEST(SchemaKeywords, NegatedArraysAndObjectsMatchAllOtherValues) {
  const Verdicts cases[] = {
      {R"({"type":"array","not":{"const":[1,[2]]}})", {"[]", "[1]", "[1,[2],3]", "[1,[3]]", "[2,[2]]"}, {"[1,[2]]"}},
      {R"({"type":"array","not":{"enum":[[],[null]]}})", {"[1]", "[null,null]"}, {"[]", "[null]"}},
      {R"({"type":"object","not":{"const":{"a":1,"b":{}}}})",
       {"{}", R"({"a":1})", R"({"a":1,"b":{},"c":0})", R"({"a":1,"b":{"x":1}})", R"({"b":{},"a":2})"},
       {R"({"a":1,"b":{}})", R"({"a":1.0,"b":{}})"}},
      {R"({"type":"object","additionalProperties":false,"properties":{"a":true},"not":{"const":{}}})",
       {R"({"a":1})"},
       {"{}"}},
  };
  for (const Verdicts& c : cases) expect_verdicts(c);
}

TEST(SchemaKeywords, SeveralContainsAreCounted) {
  expect_verdicts({R"({"type":"array","allOf":[{"contains":{"type":"integer"},"maxContains":2},
                       {"contains":{"type":"number","minimum":3},"minContains":2},{"contains":{"type":"null"}}]})",
                   {"[3,4,null]", "[null,3,3.5,4.5,1]", "[3.5,null,4.5,1]"},
                   {"[3,4]", "[3,null,1,2]", "[3,4,5,null]", "[3,null]", "[]"}});
}

// After a pair that violates a condition by its value, there cannot be a pair whose name could be equal.
TEST(SchemaKeywords, SeveralConditionsAreViolated) {
  constexpr char kApart[] = R"({"type":"object","not":{"patternProperties":{"^a":{"type":"null"}}},
      "allOf":[{"not":{"patternProperties":{"^b":{"type":"integer"}}}}],"maxProperties":3})";
  expect_verdicts({kApart,
                   {R"({"ax":1,"by":null})", R"({"c":0,"by":"","ax":true})", R"({"ax":1,"by":"","ay":2})"},
                   {R"({"ax":1})", R"({"ax":null,"by":""})", R"({"ax":1,"by":2})", R"({"ax":1,"by":"","c":0,"d":0})"}});
  BuiltGrammar grammar = BuiltGrammar::schema(kApart);
  EXPECT_FALSE(grammar.matches(R"({"ax":1,"by":"","ax":null})"));
  EXPECT_TRUE(grammar.matches(R"({"ax":1,"ax":2,"by":""})"));
}

// The discriminator of each schema makes the others impossible, whether it is a constant, an enum with a pattern, or a
// required name, also in $ref and allOf.
TEST(SchemaKeywords, OneOfManySchemasThatExcludeEachOther) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  Json kinds = Json::array();
  for (int i = 0; i < 30; ++i) {
    const std::string name = "k" + std::to_string(i);
    kinds.push_back(name);
    schema["$defs"]["base"] = {{"properties", {{"kind", {{"enum", kinds}}}}}, {"required", {"kind"}}};
    const Json own = {{"properties", {{"kind", {{"pattern", "^" + name + "$"}}}, {name, {{"type", "integer"}}}}}};
    schema["oneOf"].push_back({{"allOf", {{{"$ref", "#/$defs/base"}}, own}}});
    schema["properties"]["only"]["oneOf"].push_back(
        {{"properties", {{name, {{"type", "null"}}}}}, {"required", {name}}});
  }
  const std::string text = schema.dump();
  expect_verdicts({text.c_str(),
                   {R"({"kind":"k3","k3":1})", R"({"kind":"k29","k3":"x"})", R"({"kind":"k0","only":{"k4":null}})",
                    R"({"kind":"k0","only":{"k4":null,"k5":1}})"},
                   {R"({"kind":"k3","k3":"x"})", R"({"kind":"x"})", R"({"k3":1})", R"({"kind":"k0","only":{}})",
                    R"({"kind":"k0","only":{"k4":null,"k5":null}})"}});
}

// Where a pattern with a length needs too many states, the strings are shorter than the schema allows.
TEST(SchemaKeywords, LongFormatsAreShortened) {
  for (const char* schema : {R"({"type":"string","format":"email","maxLength":1024})",
                             R"({"type":"string","format":"email","minLength":10,"maxLength":255})"}) {
    BuiltGrammar grammar = BuiltGrammar::schema(schema);
    ASSERT_TRUE(grammar.valid()) << schema << grammar.message();
    EXPECT_TRUE(grammar.matches("\"first.last+tag@mail." + std::string(20, 'a') + ".com\""));
    EXPECT_FALSE(grammar.matches("\"" + std::string(1000, 'a') + "@example.com.example.com\""));
    EXPECT_FALSE(grammar.matches("\"first.last\""));
  }
  // The names that "not" leaves are not more than there are.
  const BuiltGrammar negated =
      BuiltGrammar::schema(R"({"type":"object","not":{"propertyNames":{"format":"email","maxLength":1024}}})");
  EXPECT_EQ(negated.status(), Status::kGrammarUnsupported) << negated.message();
}

TEST(SchemaKeywords, WhatIsIgnoredIsReported) {
  GrammarParams options = BuiltGrammar::compact();
  std::vector<std::string> warnings;
  options.log_user_data = &warnings;
  options.log = [](void* list, sotto_log_level level, const char* message) {
    EXPECT_EQ(level, SOTTO_LOG_WARNING);
    static_cast<std::vector<std::string>*>(list)->push_back(message);
  };
  const BuiltGrammar grammar = BuiltGrammar::schema(R"({"$schema":"http://json-schema.org/draft-04/schema#","title":"t",
      "properties":{"format":{"format":"emial"},"a":{"maxLenght":5,"x-b":1,"enum":[{"maxLenght":1}]},"const":{"const":1}},
      "requird":["a"],"default":{"requird":1},"definitions":{"c":{"items":[{"nullable":true}]}}})",
                                                    options);
  ASSERT_TRUE(grammar.valid()) << grammar.message();
  const std::vector<std::string> expected = {
      "#/properties/format/format is \"emial\"; the format is not known, so it is not enforced",
      "#/properties/a/maxLenght is 5; the keyword is not known, so it is ignored",
      "#/properties/const/const is 1; the draft of the schema does not define the keyword, so it is ignored",
      "#/requird is an array; the keyword is not known, so it is ignored",
      "#/definitions/c/items/0/nullable is true; the keyword is not known, so it is ignored"};
  std::sort(warnings.begin(), warnings.end());
  std::vector<std::string> sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(warnings, sorted);
}

// Earlier drafts lack keywords, which are then annotations.
TEST(SchemaKeywords, DraftsDefineTheirKeywords) {
  const std::string id = R"({"$schema":"http://json-schema.org/draft-0)";
  const struct {
    const char* keyword;
    const char* draft;
    bool asserts;
  } cases[] = {{R"("const":1)", "4", false},
               {R"("const":1)", "6", true},
               {R"("if":true,"then":false)", "6", false},
               {R"("if":true,"then":false)", "7", true},
               {R"("minimum":3)", "4", true},
               {R"("prefixItems":[],"type":"null")", "7", true}};
  for (const auto& c : cases) {
    BuiltGrammar grammar = BuiltGrammar::schema(id + c.draft + "/schema#\"," + c.keyword + "}");
    ASSERT_TRUE(grammar.valid() || grammar.empty()) << c.keyword << grammar.message();
    EXPECT_EQ(grammar.valid() && grammar.matches("2"), !c.asserts) << c.keyword << c.draft;
  }
}

TEST(SchemaKeywords, PatternsMayContainLookAhead) {
  expect_verdicts({R"_({"type":"string","pattern":"\\bid(?!s)","maxLength":5})_",
                   {R"("id")", R"("a id")", R"("idx")", R"("\"id")"},
                   {R"("ids")", R"("aid")", R"("")", R"("id xyz")"}});
  expect_verdicts({R"_({"type":"string","pattern":"^(?!foo|bar$)[a-z]*$","maxLength":5})_",
                   {R"("")", R"("fo")", R"("bara")"},
                   {R"("foo")", R"("foox")", R"("bar")", R"("abcdef")"}});
  expect_verdicts({R"_({"type":"object","patternProperties":{"^(?!x-)":{"type":"null"}}})_",
                   {R"({"x-a":1,"b":null})"},
                   {R"({"b":1})"}});
}

TEST(SchemaKeywords, CompileTimeIsBounded) {
  Json schema = {{"type", "object"}};
  for (int i = 0; i < 260; ++i) {
    Json& inner = schema["properties"]["p" + std::to_string(i)];
    for (int j = 0; j < 260; ++j) inner["properties"]["q" + std::to_string(260 * i + j)] = {{"type", "integer"}};
  }
  const BuiltGrammar grammar = BuiltGrammar::schema(schema.dump());
  EXPECT_EQ(grammar.status(), Status::kGrammarUnsupported);
  EXPECT_NE(grammar.message().find("more than 500000 expressions; anyOf"), std::string::npos) << grammar.message();
}

// A quadratic search for equal names would take minutes before this limit is found.
TEST(SchemaKeywords, CompileTimeIsLinearInTheNames) {
  std::string members;
  for (int i = 0; i < 400000; ++i) members += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
  const std::string text = "{" + members + "}";
  for (const std::string keyword : {"const", "properties"}) {
    const BuiltGrammar grammar = BuiltGrammar::schema("{\"" + keyword + "\":" + text + "}");
    EXPECT_EQ(grammar.message(), "#/" + keyword + ": too many properties: 400000; at most 4096 are supported");
  }
}

// Without a check of the limit inside each loop, most of these schemas take minutes.
TEST(SchemaKeywords, TheLimitOnStepsEndsQuadraticLoops) {
  constexpr int kCount = 200000;
  std::string names, reversed, ignored, elements;
  for (int i = 0; i < kCount; ++i) {
    names += (i == 0 ? "\"s" : ",\"s") + std::to_string(i) + "\"";
    reversed += (i == 0 ? "\"s" : ",\"s") + std::to_string(kCount - 1 - i) + "\"";
    ignored += "\"x" + std::to_string(i) + "\":0,";
  }
  for (int i = 0; i < 4096; ++i) elements += i == 0 ? "true" : ",true";
  for (const std::string& schema :
       {R"({"allOf":[{"enum":[)" + names + R"(]},{"enum":[)" + reversed + "]}]}",
        R"({"items":{"enum":[)" + names + R"(]},"uniqueItems":true})", "{" + ignored + R"("items":[)" + elements + "]}",
        R"({"oneOf":[{)" + ignored + R"("required":[)" + names + R"(]},{"minProperties":1}]})",
        R"({"oneOf":[{"required":[)" + names + R"(],"not":{"required":[)" + reversed +
            R"(]}},{"minProperties":1}]})"}) {
    const BuiltGrammar grammar = BuiltGrammar::schema(schema);
    EXPECT_EQ(grammar.status(), Status::kGrammarTooLarge);
    EXPECT_EQ(grammar.message(), "max_schema_steps is 100000000; the schema takes more steps");
  }
}

TEST(SchemaKeywords, TheFirstOfManyEqualAnchorsCounts) {
  Json schema = {{"$ref", "#a"}};
  for (int i = 0; i < 20000; ++i) schema["$defs"]["s" + std::to_string(i)] = {{"$anchor", "a"}, {"const", i}};
  BuiltGrammar grammar = BuiltGrammar::schema(schema.dump());
  ASSERT_TRUE(grammar.valid()) << grammar.message();
  EXPECT_TRUE(grammar.matches("0"));
  EXPECT_FALSE(grammar.matches("1"));
}

}  // namespace
}  // namespace sotto::test
