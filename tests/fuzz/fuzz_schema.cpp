// Fuzzes JSON Schema, lists of tools, choices and ranges of numbers. A source is accepted or rejected with a message,
// and every text of an accepted source is JSON or one of the choices.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/grammar/json_schema/json_schema.h"
#include "tests/fuzz/fuzz_grammar.h"

namespace {

using sotto::Status;

constexpr size_t kWorkspaceSize = size_t{512} << 10;
constexpr uint32_t kSteps = 32;

enum class FrontEnd { kSchema, kTools, kChoices, kNumber, kJson };

// The parser stops at a number beyond the range of double, which is nevertheless JSON.
struct Acceptor : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) override {
    constexpr int kOutOfRange = 406;
    is_beyond_double = is_beyond_double || error.id == kOutOfRange;
    return false;
  }

  bool is_beyond_double = false;
};

bool is_json(const std::string& text) {
  Acceptor acceptor;
  return nlohmann::json::sax_parse(text, &acceptor) || acceptor.is_beyond_double;
}

sotto::GrammarParams read_options(sotto::FuzzBytes& bytes) {
  sotto::GrammarParams options;
  const uint32_t bits = bytes.byte();
  options.json_space = static_cast<sotto::JsonSpace>(bytes.below(3));
  options.max_space = (bits & 1) != 0 ? sotto::kUnbounded : bytes.below(30);
  options.allow_surrounding_whitespace = (bits & 2) != 0;
  options.schema_draft = (bits & 4) != 0 ? 7 : 2020;
  options.assert_formats = (bits & 8) == 0;
  options.forbid_additional = (bits & 16) != 0;
  options.assume_distinct_names = (bits & 32) != 0;
  options.schema_order = (bits & 64) != 0;
  return options;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Status build(FrontEnd front_end, sotto::FuzzInput& input, sotto::GrammarBuilder& builder, sotto::Error* error) {
  const auto name = sotto::as_span("root");
  const auto source = sotto::as_span(input.text);
  sotto::GrammarParams options = read_options(input.rest);
  switch (front_end) {
    case FrontEnd::kSchema:
      return sotto::build_json_schema(source, options, name, builder, error);
    case FrontEnd::kTools: {
      options.parallel_tool_calls = input.rest.below(2) == 1;
      return sotto::build_tool_calls(source, options, name, builder, error);
    }
    case FrontEnd::kChoices:
      return sotto::build_choices(split(input.text, '\n'), name, builder, error);
    case FrontEnd::kNumber: {
      const auto bounds = split(input.text, ',');
      const bool integer = input.rest.below(2) == 1;
      return sotto::build_number_range(bounds.front(), bounds.back(), integer, name, builder, error);
    }
    case FrontEnd::kJson:
      sotto::build_json_grammar(options, input.rest.below(2) == 1, name, builder);
      return Status::kOk;
  }
  return Status::kOk;
}

void check_text(FrontEnd front_end, const sotto::FuzzInput& input, const std::string& text) {
  if (front_end == FrontEnd::kChoices) {
    const auto choices = split(input.text, '\n');
    REQUIRE(std::find(choices.begin(), choices.end(), text) != choices.end());
  } else {
    REQUIRE(is_json(text));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sotto::FuzzMemory memory(kWorkspaceSize);
  sotto::FuzzInput input(data, size);
  const auto front_end = [&] {
    constexpr FrontEnd kOthers[] = {FrontEnd::kTools, FrontEnd::kChoices, FrontEnd::kNumber, FrontEnd::kJson};
    const uint32_t kind = input.rest.below(8);
    return kind < 4 ? kOthers[kind] : FrontEnd::kSchema;
  }();
  const auto block = memory.last(kWorkspaceSize >> input.rest.below(4));
  sotto::Workspace workspace(block.data(), block.size());
  sotto::GrammarBuilder builder(workspace);
  sotto::Error error;
  const sotto::CompiledGrammar* grammar =
      sotto::compile_built(build(front_end, input, builder, &error), input.text, builder, error);
  if (grammar == nullptr) return 0;
  sotto::GrammarWalk walk(*grammar, input.rest);
  for (uint32_t i = 0; i < kSteps && walk.step(); ++i) {
    if (walk.accepts()) check_text(front_end, input, walk.text());
  }
  return 0;
}
