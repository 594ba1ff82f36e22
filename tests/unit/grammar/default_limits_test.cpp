// Grammars and texts that the default limits of a matcher must suffice for, with a mask after every byte.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/repeated.h"
#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

// Expects that the text is a text of the grammar, and that no limit is reached.
void expect_fits(const std::string& name, const CompiledGrammar& grammar, const std::string& text) {
  const TestVocabulary vocabulary = small_vocabulary({"\":", "{\"", "[[", "\"}", "aa"});
  OwnedMatcher matcher;
  ASSERT_EQ(matcher.init(grammar, &vocabulary.view()), Status::kOk) << name;
  for (size_t i = 0; i < text.size(); ++i) {
    TokenMask mask;
    ASSERT_EQ(matcher->mask(0, &mask), Status::kOk) << name << ", byte " << i;
    ASSERT_EQ(matcher->accept_text(0, {&text[i], 1}), Status::kOk) << name << ", byte " << i;
  }
  EXPECT_TRUE(matcher->may_end(0)) << name;
}

void expect_schema_fits(const std::string& name, const std::string& schema, const std::string& text) {
  const BuiltGrammar grammar = BuiltGrammar::schema(schema);
  ASSERT_TRUE(grammar.valid()) << name << grammar.message();
  expect_fits(name, grammar.view(), text);
}

TEST(DefaultLimits, SufficeForNestedTexts) {
  const BuiltGrammar json = BuiltGrammar::json(BuiltGrammar::compact());
  expect_fits("lists", json.view(), repeated("[", 160) + repeated("]", 160));
  expect_fits("objects", json.view(), repeated("{\"a\":", 160) + "1" + repeated("}", 160));
  expect_fits("mixed", json.view(), repeated("[[],{\"a\":", 80) + "1" + repeated("}]", 80));
  expect_fits("brackets", TestGrammar("root ::= \"[\" root? \"]\"").view(), repeated("[", 160) + repeated("]", 160));
  expect_schema_fits("recursive schema", R"({"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"integer"}},
      "additionalProperties":false})",
                     repeated("{\"b\":1,\"a\":", 57) + "{}" + repeated("}", 57));
  expect_schema_fits("recursive list", R"({"type":"array","items":{"$ref":"#"}})",
                     repeated("[[],", 57) + "[]" + repeated("]", 57));
}

TEST(DefaultLimits, SufficeForNestedCounts) {
  const TestGrammar grammar("root ::= x{0,50}\nx ::= \"a\"{0,50}");
  expect_fits("counts", grammar.view(), repeated("a", 400));
}

TEST(DefaultLimits, SufficeForWideSchemas) {
  std::string properties;
  std::string text;
  std::string objects;
  std::string constants;
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(i);
    const std::string comma = i == 0 ? "" : ",";
    if (i < 300) properties += comma + "\"p" + number + "\":{\"type\":\"integer\"}";
    if (i < 300 && i % 3 == 0) text += comma + "\"p" + number + "\":7";
    if (i < 200) {
      objects += comma + R"({"type":"object","required":["k)" + number + R"("],"properties":{"k)" + number +
                 R"(":{"type":"string"},"v":{"const":)" + number + "}}}";
    }
    constants += comma + "{\"const\":\"c" + number + "\"}";
  }
  expect_schema_fits("optional properties",
                     "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" + properties + "}}",
                     "{" + text + "}");
  expect_schema_fits("objects", "{\"anyOf\":[" + objects + "]}", R"({"k150":"x","v":150})");
  expect_schema_fits("constants", "{\"anyOf\":[" + constants + "]}", "\"c499\"");
}

}  // namespace
}  // namespace sotto::test
