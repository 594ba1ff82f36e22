// Runs the cases of llama.cpp's and xgrammar's tests.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

GrammarParams options_of(const Json& options) {
  GrammarParams result;
  result.forbid_additional = options.value("strict_mode", false);
  result.assume_distinct_names = true;
  result.schema_order = !options.value("any_order", false);
  const bool any_space = options.value("any_whitespace", true);
  const bool compact =
      options.contains("separators") && options["separators"].is_array() && options["separators"][0] == ",";
  result.json_space = any_space ? JsonSpace::kFlexible : compact ? JsonSpace::kCompact : JsonSpace::kOneSpace;
  result.max_space = kUnbounded;
  return result;
}

// Cases where those engines accept another language.
const std::map<std::string, std::string> kDifferences = {
    {"lc-gi-002", "llama.cpp ends integers after 16 digits"},
    {"lc-gi-041", "llama.cpp takes a schema with items to mean arrays only"},
    {"lc-gi-047", "uniqueItems is refused; llama.cpp ignores it"},
    {"xg-0885", "a member may occur twice in any order of xgrammar"},
};

void run_cases(const std::string& file, size_t expected) {
  SOTTO_REQUIRE_DATA(file);
  const Json document = Json::parse(read_file(shared_data() / file));
  size_t count = 0;
  for (const Json& item : document.at("cases")) {
    const std::string kind = item.at("kind");
    if (kind != "schema" && kind != "regex" && kind != "builtin_json") continue;
    const std::string id = item.at("id");
    ++count;
    if (kDifferences.contains(id)) continue;
    const std::string source = item.value("source_text", "");
    const GrammarParams options = options_of(item.value("options", Json::object()));
    BuiltGrammar grammar = kind == "schema"  ? BuiltGrammar::schema(source, options)
                           : kind == "regex" ? BuiltGrammar::regex(source)
                                             : BuiltGrammar::json(options);
    EXPECT_TRUE(grammar.valid() || grammar.empty()) << id << " " << grammar.message() << "\n" << source;
    if (!grammar.valid() && !grammar.empty()) continue;
    for (const char* verdict : {"accept", "reject"}) {
      for (const auto& text : item.value(verdict, Json::array())) {
        EXPECT_EQ(grammar.matches(text.get<std::string>()), verdict[0] == 'a') << id << " " << text << "\n" << source;
      }
    }
  }
  EXPECT_EQ(count, expected);
}

TEST(SchemaCases, VerdictsEqualThoseOfLlamaCpp) { run_cases("grammars/cases_llamacpp.json", 21); }

TEST(SchemaCases, VerdictsEqualThoseOfXgrammar) { run_cases("grammars/cases_xgrammar.json", 447); }

}  // namespace
}  // namespace sotto::test
