// Runs the published suites of JSON Schema and JSON. Invalid documents must be rejected, and valid documents accepted
// if the schema is supported. The number of supported schemas must not decrease.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

// Prints the rejected schemas and the reasons.
const char* const kDetails = std::getenv("SOTTO_SCHEMA_DETAILS");

// Returns whether a valid text lies outside the documented forms of formats (format.h).
bool is_documented(const std::string& where) { return where.find("A-label") != std::string::npos; }

struct Counts {
  size_t schemas = 0;
  size_t supported = 0;
  size_t valid = 0;
  size_t valid_rejected = 0;
  size_t undocumented = 0;  // number of those outside the documented forms
  size_t invalid = 0;
  size_t invalid_accepted = 0;
  std::map<std::string, size_t> reasons;

  void refuse(const std::string& where, const std::string& message) {
    std::string reason = message.substr(std::min(message.find(": "), message.size()));
    if (message.rfind("#", 0) == 0) {
      const size_t end = std::min(message.find_first_of(": "), message.size());
      const std::string pointer = message.substr(0, end);
      reason = pointer.substr(pointer.rfind('/') + 1) + message.substr(end);
    }
    ++reasons[reason];
    if (kDetails != nullptr) std::cout << "REFUSED " << where << ": " << message << "\n";
  }
  // More schemas may be supported than the committed figures state, but never fewer.
  void check(const std::string& suite) const {
    std::cout << suite << ": " << supported << " of " << schemas << " schemas, " << valid - valid_rejected << " of "
              << valid << " valid accepted, " << invalid_accepted << " of " << invalid << " invalid accepted\n";
    for (const auto& [reason, count] : reasons) std::cout << "  " << count << " " << reason << "\n";
    const Json expected =
        Json::parse(read_file(SOTTO_SOURCE_DIR "/tests/unit/grammar/data/schema_expectations.json")).at(suite);
    EXPECT_EQ(schemas, expected.at("schemas").get<size_t>());
    EXPECT_GE(supported, expected.at("supported").get<size_t>());
    EXPECT_LE(valid_rejected, expected.at("valid_rejected").get<size_t>());
    EXPECT_EQ(undocumented, 0u);
    EXPECT_EQ(invalid_accepted, 0u);
  }
};

void run(const std::string& where, const Json& schema, const Json& tests, const GrammarParams& options,
         Counts& counts) {
  ++counts.schemas;
  BuiltGrammar grammar = BuiltGrammar::schema(schema.dump(), options);
  if (!grammar.valid() && !grammar.empty()) {
    counts.refuse(where, grammar.message());
    return;
  }
  ++counts.supported;
  for (const auto& test : tests) {
    const bool valid = test.at("valid");
    const bool accepted = grammar.accepts(test.at("data"));
    ++(valid ? counts.valid : counts.invalid);
    const Status limit = grammar.limit();
    EXPECT_EQ(limit, Status::kOk) << where;
    if (accepted == valid) continue;
    ++(valid ? counts.valid_rejected : counts.invalid_accepted);
    if (valid && is_documented(where)) continue;
    if (valid) ++counts.undocumented;
    std::cout << (valid ? "VALID REJECTED " : "INVALID ACCEPTED ") << where << ": " << test.value("description", "")
              << ": " << test.at("data").dump().substr(0, 300) << "\n  " << schema.dump().substr(0, 600) << "\n";
  }
}

constexpr char kSchemaSuite[] = "grammars/json-schema-test-suite";
constexpr char kSchemaBench[] = "grammars/jsonschemabench";
constexpr char kJsonSuite[] = "grammars/json-test-suite";

void run_suite(const std::string& folder) {
  Counts counts;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data() / kSchemaSuite / folder)) {
    // Keywords about content are annotations unless an application decides otherwise.
    const bool content = folder == "draft7" && entry.path().filename() == "content.json";
    if (entry.path().extension() == ".json" && !content) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    GrammarParams options = BuiltGrammar::compact();
    // The mandatory part treats formats as annotations.
    options.assert_formats = file.string().find("/optional/format/") != std::string::npos;
    if (folder == "draft7") options.schema_draft = 7;
    for (const auto& group : Json::parse(read_file(file))) {
      const std::string where =
          folder + "/" + file.filename().string() + ": " + group.at("description").get<std::string>();
      run(where, group.at("schema"), group.at("tests"), options, counts);
    }
  }
  counts.check(folder);
}

TEST(SchemaSuites, Draft7SuiteHolds) {
  SOTTO_REQUIRE_DATA(kSchemaSuite);
  run_suite("draft7");
}

TEST(SchemaSuites, Draft202012SuiteHolds) {
  SOTTO_REQUIRE_DATA(kSchemaSuite);
  run_suite("draft2020-12");
}

TEST(SchemaSuites, JsonSchemaBenchHolds) {
  SOTTO_REQUIRE_DATA(kSchemaBench);
  Counts counts;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(shared_data() / kSchemaBench)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const Json document = Json::parse(read_file(file));
    run(file.filename().string(), document.at("schema"), document.at("tests"), BuiltGrammar::compact(), counts);
  }
  counts.check("jsonschemabench");
}

// Writes the value with the most white space that the grammar allows everywhere.
std::string spaced(std::string_view json) {
  const std::string space(20, ' ');
  std::string text;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string || c == '"' || std::string_view("{}[],:").find(c) == std::string_view::npos) {
      text += c;
      if (in_string && c == '\\') text += json[++i];
      if (c == '"') in_string = !in_string;
      continue;
    }
    const bool is_first = c == '{' || c == '[';
    const bool is_last = c == '}' || c == ']';
    if (!is_first && !text.ends_with(' ')) text += space;
    text += c;
    if (!is_last) text += space;
  }
  return text;
}

// Long white space has the largest number of simultaneous states, and each can be rolled back.
TEST(SchemaSuites, BenchFitsTheDefaultLimits) {
  SOTTO_REQUIRE_DATA(kSchemaBench);
  const TestVocabulary vocabulary = small_vocabulary({"  ", "    ", "{\"", "\":", "\",", "[]"});
  GrammarParams options;
  options.json_space = JsonSpace::kFlexible;
  size_t texts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_data() / kSchemaBench)) {
    if (entry.path().extension() != ".json") continue;
    const Json document = Json::parse(read_file(entry.path()));
    BuiltGrammar grammar = BuiltGrammar::schema(document.at("schema").dump(), options);
    if (!grammar.valid()) continue;
    OwnedMatcher matcher;
    ASSERT_EQ(matcher.init(grammar.view(), &vocabulary.view()), Status::kOk);
    for (const auto& test : document.at("tests")) {
      if (!test.at("valid") || !grammar.accepts(test.at("data"))) continue;
      matcher->reset(0);
      for (const char c : spaced(grammar.text()).substr(0, 2000)) {
        TokenMask mask;
        ASSERT_EQ(matcher->mask(0, &mask), Status::kOk) << entry.path().filename();
        ASSERT_EQ(matcher->accept_text(0, {&c, 1}), Status::kOk) << entry.path().filename();
      }
      ++texts;
    }
  }
  EXPECT_GT(texts, 300u);
}

TEST(SchemaSuites, JsonTestSuite) {
  SOTTO_REQUIRE_DATA(kJsonSuite);
  GrammarParams params;
  params.json_space = JsonSpace::kFlexible;
  params.max_space = kUnbounded;
  params.allow_surrounding_whitespace = true;
  BuiltGrammar grammar = BuiltGrammar::json(params);
  ASSERT_TRUE(grammar.valid()) << grammar.message();
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_data() / kJsonSuite)) {
    const std::string name = entry.path().filename().string();
    if (name[0] != 'y' && name[0] != 'n') continue;
    ++files;
    const std::string text = read_file(entry.path());
    EXPECT_EQ(grammar.matches(text), name[0] == 'y') << name;
    static std::vector<uint64_t> memory(1 << 20);
    Workspace workspace(memory.data(), memory.size() * 8);
    JsonDocument document(workspace);
    Error error;
    // A schema must not name a member twice.
    const bool reads = name[0] == 'y' && name.find("duplicated_key") == std::string::npos;
    EXPECT_EQ(document.parse(as_span(text), &error) == Status::kOk, reads) << name << " " << error.message;
  }
  EXPECT_EQ(files, 141u);
}

}  // namespace
}  // namespace sotto::test
