#include "tests/unit/grammar/schema_support.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "runtime/grammar/regex/grammar.h"

namespace sotto::test {
namespace {

constexpr size_t kWorkspaceSize = size_t{768} << 20;
constexpr size_t kMaxTries = 20000;

void* workspace_memory() {
  static const Memory memory = aligned_memory(kWorkspaceSize);
  return memory.get();
}

std::string number_text(const Json& value) {
  if (!value.is_number_float()) return value.dump();
  const double number = value.get<double>();
  if (number == 0) return "0";
  char text[400];
  const auto result = std::to_chars(text, text + sizeof text, number, std::chars_format::fixed);
  return {text, result.ptr};
}

std::string string_text(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

GrammarParams BuiltGrammar::compact() {
  GrammarParams options;
  options.json_space = JsonSpace::kCompact;
  return options;
}

BuiltGrammar::BuiltGrammar(const Build& build, std::string_view source) {
  Workspace workspace(workspace_memory(), kWorkspaceSize);
  GrammarBuilder builder(workspace);
  Error error;
  status_ = build(builder, &error);
  if (status_ == Status::kOk) {
    // After the front end has accepted a schema, the compiler rejects it only if it has no text, or for its size.
    const CompiledGrammar* grammar = nullptr;
    const std::string_view root = "root";
    status_ = compile_grammar(builder, as_span(source), builder.find_rule(as_span(root)), {}, {}, &grammar, &error);
    empty_ = status_ == Status::kGrammarSyntax;
    if (status_ == Status::kOk) {
      image_.resize((grammar->size() + 7) / 8);
      std::memcpy(image_.data(), grammar, grammar->size());
    }
  }
  message_ = error.message;
}

BuiltGrammar BuiltGrammar::schema(std::string_view text, const GrammarParams& options) {
  return BuiltGrammar(
      [&](GrammarBuilder& builder, Error* error) {
        return build_json_schema(as_span(text), options, as_span("root"), builder, error);
      },
      text);
}

BuiltGrammar BuiltGrammar::regex(std::string_view pattern) {
  return BuiltGrammar(
      [&](GrammarBuilder& builder, Error* error) {
        return build_regex_grammar(as_span(pattern), as_span("root"), builder, error);
      },
      pattern);
}

BuiltGrammar BuiltGrammar::json(const GrammarParams& params, bool only_objects) {
  return BuiltGrammar(
      [&](GrammarBuilder& builder, Error*) {
        build_json_grammar(params, only_objects, as_span("root"), builder);
        return Status::kOk;
      },
      {});
}

void BuiltGrammar::start() {
  if (!has_matcher_) {
    MatcherParams limits;
    limits.node_count = 1 << 14;
    limits.frame_count = 1 << 16;
    limits.state_set_count = 1 << 13;
    limits.state_count = 1 << 17;
    limits.visit_count = 1 << 15;
    limits.mask_bytes = 4096;
    limits.rollback_count = 20000;
    limits.step_budget = 2'000'000'000;
    EXPECT_EQ(matcher_.init(view(), nullptr, limits), Status::kOk);
    has_matcher_ = true;
  }
  matcher_->reset(0);
  fed_.clear();
  tries_ = 0;
}

Status BuiltGrammar::limit() {
  const Status limit = limit_;
  limit_ = Status::kOk;
  return limit;
}

bool BuiltGrammar::feed(std::string_view text) {
  const Status status = matcher_->accept_text(0, as_span(text));
  if (status != Status::kOk && status != Status::kInvalidArgument) limit_ = status;
  if (status == Status::kOk) fed_.emplace_back(text);
  return status == Status::kOk;
}

void BuiltGrammar::back(size_t count) {
  if (fed_.size() == count) return;
  EXPECT_EQ(matcher_->rewind(fed_.size() - count), Status::kOk);
  fed_.resize(count);
}

std::string BuiltGrammar::text() const {
  std::string text;
  for (const std::string& part : fed_) text += part;
  return text;
}

bool BuiltGrammar::matches(std::string_view text) {
  if (empty_) return false;
  start();
  return (text.empty() || feed(text)) && matcher_->may_end(0);
}

bool BuiltGrammar::accepts(const Json& value) {
  if (empty_) return false;
  if (matches(canonical(value))) return true;
  start();
  return feed_value(JsonText(value), [&] { return matcher_->may_end(0); });
}

JsonText::JsonText(const Json& value) {
  text = value.is_object() ? "{" : value.is_array() ? "[" : canonical(value);
  if (!value.is_structured()) return;
  for (const auto& [name, part] : value.items()) {
    if (value.is_object()) names.push_back(string_text(name) + ":");
    values.emplace_back(part);
  }
}

bool BuiltGrammar::feed_value(const JsonText& value, const Rest& rest) {
  const size_t before = fed_.size();
  bool fits = feed(value.text);
  if (fits && value.text == "{") {
    std::vector<bool> used(value.values.size());
    fits = feed_members(value, used, 0, rest);
  } else if (fits) {
    fits = value.text == "[" ? feed_elements(value, 0, rest) : rest();
  }
  if (!fits) back(before);
  return fits;
}

bool BuiltGrammar::feed_elements(const JsonText& array, size_t begin, const Rest& rest) {
  if (begin == array.values.size()) return feed("]") && rest();
  if (begin > 0 && !feed(",")) return false;
  return feed_value(array.values[begin], [&] { return feed_elements(array, begin + 1, rest); });
}

bool BuiltGrammar::feed_members(const JsonText& object, std::vector<bool>& used, size_t done, const Rest& rest) {
  if (done == object.values.size()) return feed("}") && rest();
  const size_t before = fed_.size();
  for (size_t i = 0; i < object.values.size(); ++i) {
    if (used[i] || ++tries_ > kMaxTries) continue;
    used[i] = true;
    if (feed((done > 0 ? "," : "") + object.names[i]) &&
        feed_value(object.values[i], [&] { return feed_members(object, used, done + 1, rest); })) {
      return true;
    }
    used[i] = false;
    back(before);
  }
  return false;
}

std::string canonical(const Json& value) {
  if (value.is_string()) return string_text(value.get<std::string>());
  if (value.is_number()) return number_text(value);
  if (!value.is_structured()) return value.dump();
  std::string text = value.is_array() ? "[" : "{";
  bool first = true;
  for (const auto& [name, member] : value.items()) {
    if (!first) text += ",";
    first = false;
    if (value.is_object()) text += string_text(name) + ":";
    text += canonical(member);
  }
  return text + (value.is_array() ? "]" : "}");
}

}  // namespace sotto::test
