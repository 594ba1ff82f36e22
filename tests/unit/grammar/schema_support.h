// Helpers for tests of the front ends: compile a JSON Schema or a regular expression, and match texts.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/grammar/json_schema/json_schema.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {

using Json = nlohmann::ordered_json;

// The texts of the parts of a value. They are made once, although the members of an object are tried in many orders.
struct JsonText {
  explicit JsonText(const Json& value);

  std::string text;                // of a scalar, or the opening bracket
  std::vector<std::string> names;  // of the members of an object, with the colons
  std::vector<JsonText> values;    // members or elements
};

// A grammar that a front end builds as the rule "root", and a matcher for its texts.
class BuiltGrammar {
 public:
  static BuiltGrammar schema(std::string_view text, const GrammarParams& options = compact());
  static BuiltGrammar regex(std::string_view pattern);
  static BuiltGrammar json(const GrammarParams& params, bool only_objects = false);
  // `build` defines the rule "root".
  using Build = std::function<Status(GrammarBuilder&, Error*)>;
  static BuiltGrammar from(const Build& build) { return BuiltGrammar(build, {}); }
  static GrammarParams compact();

  bool valid() const { return status_ == Status::kOk; }
  Status status() const { return status_; }
  const std::string& message() const { return message_; }
  // A schema that no value satisfies has no grammar. This is not an error.
  bool empty() const { return empty_; }
  size_t size() const { return image_.size() * 8; }

  bool matches(std::string_view text);
  // Returns whether the value, written compactly, is accepted with its members in some order.
  bool accepts(const Json& value);
  // Returns the text of the value that was accepted last.
  std::string text() const;
  const CompiledGrammar& view() const { return *reinterpret_cast<const CompiledGrammar*>(image_.data()); }
  // Returns a matcher limit that was reached since the last call, if any.
  Status limit();

 private:
  BuiltGrammar(const Build& build, std::string_view source);

  void start();
  bool feed(std::string_view text);
  void back(size_t count);
  // These try every order of members until the rest of the value also matches.
  using Rest = std::function<bool()>;
  bool feed_value(const JsonText& value, const Rest& rest);
  bool feed_elements(const JsonText& array, size_t begin, const Rest& rest);
  bool feed_members(const JsonText& object, std::vector<bool>& used, size_t done, const Rest& rest);

  Status status_ = Status::kOk;
  std::string message_;
  bool empty_ = false;
  std::vector<uint64_t> image_;
  OwnedMatcher matcher_;
  bool has_matcher_ = false;
  std::vector<std::string> fed_;
  size_t tries_ = 0;
  Status limit_ = Status::kOk;
};

// Returns the value in the form that json_schema.h documents, apart from the order of members.
std::string canonical(const Json& value);

}  // namespace sotto::test
