// Tests which keywords of JSON Schema are supported, are annotations, or are rejected by name. The supported ones
// include those in the list of llguidance (docs/json_schema.md).
#include <gtest/gtest.h>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

struct Supported {
  const char* keyword;
  const char* schema;
  const char* accepted;
  const char* rejected;
};

constexpr Supported kOfLlguidance[] = {
    {"type", R"({"type":"string"})", R"("x")", "1"},
    {"type, several", R"({"type":["null","boolean"]})", "true", "1"},
    {"const", R"({"const":{"a":[1]}})", R"({"a":[1]})", R"({"a":[2]})"},
    {"enum", R"({"enum":["a",1,null]})", "null", "2"},
    {"anyOf", R"({"anyOf":[{"type":"null"},{"type":"integer"}]})", "7", "true"},
    {"oneOf", R"({"oneOf":[{"multipleOf":2,"type":"integer"},{"multipleOf":3,"type":"integer"}]})", "9", "12"},
    {"allOf", R"({"allOf":[{"type":"integer"},{"minimum":3},{"maximum":5}]})", "4", "6"},
    {"$ref", R"({"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}})", "null", "1"},
    {"$ref with siblings", R"({"$ref":"#/$defs/a","minimum":5,"$defs":{"a":{"type":"integer"}}})", "5", "4"},
    {"items", R"({"type":"array","items":{"type":"null"}})", "[null,null]", "[1]"},
    {"prefixItems", R"({"type":"array","prefixItems":[{"type":"null"}],"items":{"type":"boolean"}})", "[null,true]",
     "[true,true]"},
    {"minItems", R"({"type":"array","items":{"type":"null"},"minItems":2})", "[null,null]", "[null]"},
    {"maxItems", R"({"type":"array","items":{"type":"null"},"maxItems":2})", "[null,null]", "[null,null,null]"},
    {"properties", R"({"type":"object","properties":{"a":{"type":"null"}}})", R"({"a":null})", R"({"a":1})"},
    {"additionalProperties", R"({"type":"object","additionalProperties":{"type":"null"}})", R"({"z":null})",
     R"({"z":1})"},
    {"patternProperties", R"({"type":"object","patternProperties":{"^n":{"type":"null"}}})", R"({"no":null})",
     R"({"no":1})"},
    {"patternProperties that overlap",
     R"({"type":"object","patternProperties":{"^n":{"minimum":2},"o$":{"type":"integer"}}})", R"({"no":2})",
     R"({"no":2.5})"},
    {"required", R"({"type":"object","properties":{"a":true,"b":true},"required":["b"]})", R"({"b":1})", R"({"a":1})"},
    {"minProperties", R"({"type":"object","minProperties":1})", R"({"a":1})", "{}"},
    {"maxProperties", R"({"type":"object","maxProperties":1})", R"({"a":1})", R"({"a":1,"b":1})"},
    {"minLength", R"({"type":"string","minLength":2})", R"("éé")", R"("é")"},
    {"maxLength", R"({"type":"string","maxLength":2})", R"("éé")", R"("abc")"},
    {"pattern", R"({"type":"string","pattern":"^a+b?$"})", R"("aab")", R"("b")"},
    {"format date-time", R"({"type":"string","format":"date-time"})", R"("2024-02-29T23:59:59Z")",
     R"("2023-02-29T23:59:59Z")"},
    {"format time", R"({"type":"string","format":"time"})", R"("12:00:00Z")", R"("25:00:00Z")"},
    {"format date", R"({"type":"string","format":"date"})", R"("2024-01-31")", R"("2024-02-31")"},
    {"format duration", R"({"type":"string","format":"duration"})", R"("P3DT4H")", R"("P")"},
    {"format email", R"({"type":"string","format":"email"})", R"("a.b@c.de")", R"("a.b")"},
    {"format hostname", R"({"type":"string","format":"hostname"})", R"("a-b.de")", R"("-b.de")"},
    {"format ipv4", R"({"type":"string","format":"ipv4"})", R"("127.0.0.1")", R"("127.0.0.256")"},
    {"format ipv6", R"({"type":"string","format":"ipv6"})", R"("fe80::1")", R"("fe80::1::")"},
    {"format uuid", R"({"type":"string","format":"uuid"})", R"("00000000-0000-4000-8000-00000000000f")",
     R"("00000000")"},
    {"format uri", R"({"type":"string","format":"uri"})", R"("https://example.org/b?c#d")", R"("a b")"},
    {"minimum", R"({"type":"number","minimum":1.5})", "1.5", "1.49"},
    {"maximum", R"({"type":"number","maximum":1.5})", "1.5", "1.51"},
    {"exclusiveMinimum", R"({"type":"number","exclusiveMinimum":1.5})", "1.51", "1.5"},
    {"exclusiveMaximum", R"({"type":"number","exclusiveMaximum":1.5})", "1.49", "1.5"},
    {"multipleOf", R"({"type":"number","multipleOf":0.25})", "0.75", "0.3"},
};

constexpr Supported kMore[] = {
    {"not", R"({"type":"integer","not":{"minimum":3}})", "2", "3"},
    {"if, then, else", R"({"type":"integer","if":{"minimum":3},"then":{"multipleOf":2},"else":{"multipleOf":3}})", "4",
     "5"},
    {"contains", R"({"type":"array","items":{"type":"integer"},"contains":{"const":3}})", "[1,3]", "[1,2]"},
    {"minContains", R"({"type":"array","contains":{"const":3},"minContains":2})", "[3,3]", "[3]"},
    {"maxContains", R"({"type":"array","contains":{"const":3},"maxContains":1})", "[3]", "[3,3]"},
    {"additionalItems",
     R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"array",
        "items":[{"const":1}],"additionalItems":{"const":2}})",
     "[1,2]", "[1,1]"},
    {"uniqueItems of one", R"({"type":"array","maxItems":1,"uniqueItems":true})", "[2]", "[1,1]"},
    {"propertyNames", R"({"type":"object","propertyNames":{"maxLength":1}})", R"({"a":1})", R"({"ab":1})"},
    {"dependencies",
     R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
        "properties":{"a":true,"b":true},"dependencies":{"a":["b"]}})",
     R"({"a":1,"b":1})", R"({"a":1})"},
    {"dependentRequired", R"({"type":"object","properties":{"a":true,"b":true},"dependentRequired":{"a":["b"]}})",
     R"({"a":1,"b":1})", R"({"a":1})"},
    {"dependentSchemas", R"({"type":"object","properties":{"a":true},"dependentSchemas":{"a":{"maxProperties":1}}})",
     R"({"a":1})", R"({"a":1,"b":1})"},
    {"unevaluatedProperties", R"({"type":"object","properties":{"a":true},"unevaluatedProperties":false})",
     R"({"a":1})", R"({"b":1})"},
    {"unevaluatedItems", R"({"type":"array","prefixItems":[true],"unevaluatedItems":false})", "[1]", "[1,1]"},
    {"format iri", R"({"type":"string","format":"iri"})", R"("https://ä.example/ö")", R"("ä ö")"},
    {"format json-pointer", R"({"type":"string","format":"json-pointer"})", R"("/a/~1")", R"("a")"},
    {"format uri-template", R"({"type":"string","format":"uri-template"})", R"("/{a}")", R"("/{a")"},
};

void expect(const Supported& s) {
  BuiltGrammar grammar = BuiltGrammar::schema(s.schema);
  ASSERT_TRUE(grammar.valid()) << s.keyword << ": " << grammar.message();
  EXPECT_TRUE(grammar.matches(s.accepted)) << s.keyword << ": " << s.accepted;
  EXPECT_FALSE(grammar.matches(s.rejected)) << s.keyword << ": " << s.rejected;
}

TEST(SchemaCoverage, KeywordsSupportedByLlguidanceAreSupported) {
  for (const Supported& s : kOfLlguidance) expect(s);
}

TEST(SchemaCoverage, KeywordsUnsupportedByLlguidanceAreSupported) {
  for (const Supported& s : kMore) expect(s);
}

TEST(SchemaCoverage, AnnotationsAreIgnored) {
  for (const char* keyword :
       {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$id",
        "$anchor", "contentMediaType", "contentEncoding", "contentSchema", "x-order", "nullable", "discriminator"}) {
    const std::string schema = R"({"type":"integer",")" + std::string(keyword) + R"(":"word"})";
    BuiltGrammar grammar = BuiltGrammar::schema(schema);
    ASSERT_TRUE(grammar.valid()) << keyword << ": " << grammar.message();
    EXPECT_TRUE(grammar.matches("1")) << keyword;
    EXPECT_FALSE(grammar.matches("null")) << keyword;
  }
}

TEST(SchemaCoverage, UnsupportedKeywordsAreNamed) {
  const char* const schemas[] = {
      R"({"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false})",
      R"({"$dynamicRef":"#a"})",
      R"({"$recursiveRef":"#"})",
      R"({"$ref":"https://example.com/schema"})",
      R"({"type":"string","pattern":"(?<=a)b"})",
      R"({"type":"string","format":"idn-email"})",
      R"({"type":"array","items":{"type":"integer"},"uniqueItems":true})",
  };
  for (const char* schema : schemas) {
    const BuiltGrammar grammar = BuiltGrammar::schema(schema);
    EXPECT_EQ(grammar.status(), Status::kGrammarUnsupported) << schema << grammar.message();
  }
}

TEST(SchemaCoverage, TooManyPropertiesAreRejected) {
  std::string schema = R"({"type":"object","properties":{)";
  for (int i = 0; i <= 4096; ++i) schema += (i > 0 ? ",\"p" : "\"p") + std::to_string(i) + "\":true";
  const BuiltGrammar grammar = BuiltGrammar::schema(schema + "}}");
  EXPECT_EQ(grammar.status(), Status::kGrammarUnsupported);
  const std::string message = "/properties: too many properties: 4097; at most 4096 are supported";
  EXPECT_NE(grammar.message().find(message), std::string::npos) << grammar.message();
}

TEST(SchemaCoverage, TooLongTuplesAreRejected) {
  std::string schema = R"({"type":"array","prefixItems":[true)";
  for (int i = 0; i < 4096; ++i) schema += ",true";
  const BuiltGrammar grammar = BuiltGrammar::schema(schema + "]}");
  EXPECT_EQ(grammar.status(), Status::kGrammarUnsupported);
  const std::string message = "too many elements in the tuple: 4097; at most 4096 are supported";
  EXPECT_NE(grammar.message().find(message), std::string::npos) << grammar.message();
}

// With schema_order, members come in the order of their names in "properties", as a reader of the schema meets them.
TEST(OrderOfMembers, IsThatOfFirstAppearance) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"allOf":[{"properties":{"b":true,"a":true}},{"properties":{"c":true,"b":{"type":"integer"}}}]})",
       R"({"b":1,"a":1,"c":1})"},
      {R"({"additionalProperties":false,"allOf":[{"properties":{"b":{"type":"integer"}}}],"properties":{"a":{},"b":{}}})",
       R"({"b":1,"a":1})"},
      {R"({"properties":{"a":{"type":"integer"}},"allOf":[{"properties":{"b":{"type":"integer"},"a":true}}]})",
       R"({"a":1,"b":1})"},
      {R"({"$ref":"#/$defs/base","properties":{"a":{"type":"integer"}},"$defs":{"base":{"properties":{"b":{"type":
       "integer"}}}}})",
       R"({"b":1,"a":1})"},
      {R"({"properties":{"kind":{"type":"string"}},"if":{"properties":{"kind":{"const":"x"}}},
       "then":{"properties":{"b":{"type":"integer"}}},"else":{"properties":{"c":{"type":"integer"}}}})",
       R"({"kind":"x","b":1})"},
      {R"({"anyOf":[{"properties":{"b":{"type":"integer"}},"required":["b"]},{"required":["c"]}],
       "properties":{"a":{"type":"integer"},"c":{"type":"integer"}}})",
       R"({"b":1,"a":1})"}};
  GrammarParams options = BuiltGrammar::compact();
  options.schema_order = true;
  for (const auto& [schema, text] : cases) {
    BuiltGrammar grammar = BuiltGrammar::schema(schema, options);
    ASSERT_TRUE(grammar.valid()) << schema << grammar.message();
    EXPECT_TRUE(grammar.matches(text)) << schema << text;
    std::string reversed;
    const Json members = Json::parse(text);
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      reversed += (reversed.empty() ? "{\"" : ",\"") + member.key() + "\":" + member.value().dump();
    }
    EXPECT_FALSE(grammar.matches(reversed + "}")) << schema << reversed;
  }
}

// A bound of one parameter: texts within the bound, and texts beyond it that the schema itself allows.
struct Bound {
  const char* schema;
  std::vector<std::string> allowed;
  std::vector<std::string> rejected;
};

void expect_bounds(const GrammarParams& params, const std::vector<Bound>& bounds) {
  for (const Bound& bound : bounds) {
    BuiltGrammar usual = BuiltGrammar::schema(bound.schema);
    BuiltGrammar bounded = BuiltGrammar::schema(bound.schema, params);
    ASSERT_TRUE(bounded.valid()) << bound.schema << bounded.message();
    for (const std::string& text : bound.allowed) EXPECT_TRUE(bounded.matches(text)) << bound.schema << text;
    for (const std::string& text : bound.rejected) {
      EXPECT_TRUE(usual.matches(text)) << bound.schema << text;
      EXPECT_FALSE(bounded.matches(text)) << bound.schema << text;
    }
  }
}

TEST(Bounds, DigitsAreLimitedOnRequest) {
  GrammarParams params = BuiltGrammar::compact();
  params.max_digits = 3;
  expect_bounds(params, {{"true", {"0", "-999", "999.999e-999", "0.001"}, {"1000", "0.0001", "1e1000", "[-1234]"}},
                         {R"({"type":"integer"})", {"0", "-999"}, {"1000"}},
                         {R"({"type":"number","minimum":-5})", {"0", "-4.999", "999.999"}, {"1000", "-4.0001"}},
                         {R"({"type":"integer","multipleOf":7})", {"994", "-7"}, {"1001"}},
                         {R"({"not":{"const":1000},"type":"number"})", {"12.5"}, {"10000", "0.1234"}},
                         {R"({"enum":[12345,0.12345]})", {"12345", "0.12345"}, {}}});
}

TEST(Bounds, StringsAreLimitedOnRequest) {
  GrammarParams params = BuiltGrammar::compact();
  params.max_string_length = 3;
  expect_bounds(params, {{"true", {R"("abc")", R"({"abc":"é\"x"})"}, {R"("abcd")", R"({"abcd":1})", R"(["abcd"])"}},
                         {R"({"type":"string","minLength":2})", {R"("ab")", R"("abc")"}, {R"("abcd")"}},
                         {R"({"type":"string","minLength":5})", {R"("abcde")"}, {R"("abcdef")"}},
                         {R"({"type":"string","maxLength":9})", {R"("abc")"}, {R"("abcd")"}},
                         {R"({"type":"string","maxLength":2})", {R"("ab")"}, {}},
                         {R"({"type":"string","pattern":"^[a-z]+$"})", {R"("abcd")"}, {}},
                         {R"({"enum":["abcd"]})", {R"("abcd")"}, {}}});
}

}  // namespace
}  // namespace sotto::test
