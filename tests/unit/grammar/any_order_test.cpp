// Tests objects with members in any order, and unlisted members after the required ones. The grammar allows exactly the
// objects of the schema in such an order, masks are exact, and there are no dead ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

std::string object_of(const std::vector<std::string>& pairs) {
  std::string text = "{";
  for (const std::string& pair : pairs) text += (text.size() > 1 ? "," : "") + pair;
  return text + "}";
}

// Compares every sequence of up to four members with the definition of the keywords.
TEST(AnyOrder, AcceptsExactlyTheValidObjects) {
  const std::string names[] = {"a", "b", "ab"};
  const std::string pairs[] = {R"("a":1)", R"("b":1)", R"("ab":1)", R"("x":1)", R"("a":null)", R"("x":null)"};
  for (uint32_t round = 0; round < 32; ++round) {
    const bool is_closed = (round & 8) != 0;
    const bool is_not_empty = (round & 16) != 0;
    Json schema = {{"type", "object"}, {"required", Json::array()}};
    for (uint32_t i = 0; i < 3; ++i) {
      schema["properties"][names[i]] = {{"type", "integer"}};
      if ((round >> i & 1) != 0) schema["required"].push_back(names[i]);
    }
    if (is_closed) schema["additionalProperties"] = false;
    if (!is_closed) schema["additionalProperties"] = {{"type", "null"}};
    if (is_not_empty) schema["minProperties"] = 1;
    BuiltGrammar grammar = BuiltGrammar::schema(schema.dump(), BuiltGrammar::compact());
    ASSERT_TRUE(grammar.valid()) << grammar.message();
    for (uint32_t code = 0; code < 7 * 7 * 7 * 7; ++code) {
      std::vector<std::string> chosen;
      uint32_t counts[6] = {};
      bool is_dense = true;
      bool unlisted_are_last = true;  // after the required members
      for (uint32_t rest = code, i = 0; i < 4; ++i, rest /= 7) {
        if (rest % 7 == 0) continue;
        is_dense = is_dense && chosen.size() == i;
        chosen.push_back(pairs[rest % 7 - 1]);
        ++counts[rest % 7 - 1];
        for (uint32_t n = 0; n < 3; ++n) {
          const bool is_missing = (round >> n & 1) != 0 && counts[n] == 0;
          unlisted_are_last = unlisted_are_last && !(rest % 7 == 6 && is_missing);
        }
      }
      if (!is_dense) continue;
      bool is_valid = unlisted_are_last && counts[3] == 0 && counts[4] == 0 && (!is_closed || counts[5] == 0);
      is_valid = is_valid && (!is_not_empty || !chosen.empty());
      for (uint32_t i = 0; i < 3; ++i) {
        is_valid = is_valid && counts[i] <= 1 && ((round >> i & 1) == 0 || counts[i] == 1);
      }
      ASSERT_EQ(grammar.matches(object_of(chosen)), is_valid) << schema << object_of(chosen);
    }
  }
}

TEST(AnyOrder, HoldsForSixtyFourNames) {
  std::mt19937 random(3);
  for (const int count : {32, 33, 64, 65}) {
    Json schema = {{"type", "object"}, {"additionalProperties", false}};
    std::vector<std::string> pairs;
    for (int i = 0; i < count; ++i) {
      const std::string name = "name" + std::to_string(i);
      schema["properties"][name] = {{"type", "integer"}};
      schema["required"].push_back(name);
      pairs.push_back("\"" + name + "\":" + std::to_string(i));
    }
    BuiltGrammar grammar = BuiltGrammar::schema(schema.dump(), BuiltGrammar::compact());
    ASSERT_TRUE(grammar.valid()) << grammar.message();
    EXPECT_TRUE(grammar.matches(object_of(pairs)));
    std::shuffle(pairs.begin(), pairs.end(), random);
    EXPECT_EQ(grammar.matches(object_of(pairs)), count <= 64);
    pairs.pop_back();
    EXPECT_FALSE(grammar.matches(object_of(pairs)));
  }
}

// A member that no text completes is dropped if it is optional; if it is required, the object has no text.
TEST(AnyOrder, MembersWithoutTextsLeadNowhere) {
  constexpr char kEndless[] = R"({"$defs":{"e":{"type":"object","properties":{"e":{"$ref":"#/$defs/e"},"f":true},
      "required":["e"]}},"type":"object","additionalProperties":false,
      "properties":{"a":{"type":"integer"},"b":{"$ref":"#/$defs/e"},"c":{"type":"integer"}})";
  BuiltGrammar optional = BuiltGrammar::schema(std::string(kEndless) + "}", BuiltGrammar::compact());
  ASSERT_TRUE(optional.valid()) << optional.message();
  EXPECT_TRUE(optional.matches(R"({"c":1,"a":2})"));
  EXPECT_FALSE(optional.matches(R"({"c":1,"b":{}})"));
  OwnedMatcher matcher;
  ASSERT_EQ(matcher.init(optional.view(), nullptr), Status::kOk);
  EXPECT_EQ(matcher->accept_text(0, as_span(R"({"c":1,"b)")), Status::kInvalidArgument);
  EXPECT_TRUE(BuiltGrammar::schema(std::string(kEndless) + R"(,"required":["b"]})", BuiltGrammar::compact()).empty());
}

// Masks must not depend on how they are computed, and must contain exactly the tokens that are accepted. Every walk
// must reach an end.
TEST(AnyOrder, MasksAreExact) {
  constexpr char kSchema[] = R"({"type":"object","required":["id","b"],"additionalProperties":{"type":"null"},
      "propertyNames":{"enum":["id","b","name","z"]},"properties":{"id":{"enum":[1,22]},"name":{"type":"string","maxLength":3},
      "b":{"type":"object","properties":{"x":{"type":"boolean"},"y":{"type":"array","items":{"const":1},"minItems":70,
      "maxItems":90}},"additionalProperties":false}}})";
  const BuiltGrammar grammar = BuiltGrammar::schema(kSchema, BuiltGrammar::compact());
  ASSERT_TRUE(grammar.valid()) << grammar.message();
  const TestVocabulary vocabulary =
      small_vocabulary({"{\"", "\":", ",\"", "id", "\"b\":{", "},\"", "\"}", "name", "null", "true}", "1,1,1,1", "ab"});
  MatcherParams tiny;
  tiny.node_count = tiny.frame_count = 200;
  tiny.state_set_count = 100;
  tiny.state_count = 400;
  const struct {
    MatcherParams limits;
    MaskShortcuts shortcuts;
  } ways[] = {{{}, {true, true}}, {{}, {false, false}}, {{}, {true, false}}, {{}, {false, true}}, {tiny, {true, true}}};
  std::vector<OwnedMatcher> matchers(std::size(ways));
  for (size_t i = 0; i < std::size(ways); ++i) {
    ASSERT_EQ(matchers[i].init(grammar.view(), &vocabulary.view(), ways[i].limits, ways[i].shortcuts), Status::kOk);
  }
  uint64_t random = 7;
  size_t ends = 0;
  for (int walk = 0; walk < 12; ++walk) {
    for (OwnedMatcher& matcher : matchers) matcher->reset(0);
    for (int step = 0; step < 1000; ++step) {
      std::vector<uint32_t> allowed;
      for (OwnedMatcher& matcher : matchers) {
        TokenMask mask;
        ASSERT_EQ(matcher->mask(0, &mask), Status::kOk);
        std::vector<uint32_t> own;
        for (uint32_t token = 0; token < vocabulary.size(); ++token) {
          if (mask.allows(token)) own.push_back(token);
        }
        if (&matcher == &matchers[0]) allowed = own;
        ASSERT_EQ(own, allowed);
      }
      ASSERT_FALSE(allowed.empty());
      for (uint32_t token = 0; walk == 0 && token < vocabulary.size(); ++token) {
        const bool is_allowed = std::find(allowed.begin(), allowed.end(), token) != allowed.end();
        ASSERT_EQ(matchers[0]->accept_token(0, static_cast<int32_t>(token)) == Status::kOk, is_allowed) << token;
        if (!is_allowed) continue;
        ASSERT_EQ(matchers[0]->rewind(1), Status::kOk);
      }
      const bool may_end = allowed[0] == static_cast<uint32_t>(vocabulary.end_token());
      const auto token = static_cast<int32_t>(allowed[may_end ? 0 : next_random(&random) % allowed.size()]);
      for (OwnedMatcher& matcher : matchers) ASSERT_EQ(matcher->accept_token(0, token), Status::kOk);
      if (token != vocabulary.end_token()) continue;
      ++ends;
      break;
    }
  }
  EXPECT_GT(ends, 3u);
}

}  // namespace
}  // namespace sotto::test
