#include "runtime/grammar/json_schema/json_schema.h"

#include "runtime/grammar/compiler/source_error.h"
#include "runtime/grammar/json_schema/compiler.h"
#include "runtime/grammar/json_schema/decimal.h"
#include "runtime/grammar/regex/grammar.h"

namespace sotto {

Status build_json_schema(std::span<const char> schema, const GrammarParams& options, std::span<const char> name,
                         GrammarBuilder& builder, Error* error) {
  JsonDocument document(builder.workspace());
  SOTTO_TRY(document.parse(schema, error));
  SchemaCompiler compiler(document, options, builder, error);
  uint32_t expression = kNoIndex;
  SOTTO_TRY(compiler.compile(0, &expression));
  builder.define(builder.rule(name, 0), expression, 0);
  return Status::kOk;
}

Status build_choices(std::span<const std::string_view> choices, std::span<const char> name, GrammarBuilder& builder,
                     Error* error) {
  if (choices.empty()) {
    return fail(error, Status::kInvalidArgument, "choices is empty; it must contain at least one text");
  }
  GrammarBuilder::List list;
  for (const auto choice : choices) builder.append(list, builder.text(choice));
  builder.define(builder.rule(name, 0), builder.choice(list), 0);
  return Status::kOk;
}

Status build_choice_list(std::span<const char> list, std::span<const char> name, GrammarBuilder& builder,
                         Error* error) {
  Workspace& workspace = builder.workspace();
  JsonDocument document(workspace);
  SOTTO_TRY(document.parse(list, error));
  if (document.kind(0) != JsonKind::kArray || document[0].count == 0) {
    return fail_in_source(error, list, document[0].offset, "expected an array of at least one string");
  }
  auto* choices = workspace.take<std::string_view>(document[0].count);
  if (choices == nullptr) return fail_too_large(error);
  for (const uint32_t node : document.children(0)) {
    if (document.kind(node) != JsonKind::kString) {
      return fail_in_source(error, list, document[node].offset, "expected a string");
    }
    choices[document[node].index] = document.text(node);
  }
  return build_choices({choices, document[0].count}, name, builder, error);
}

Status build_number_range(std::string_view minimum, std::string_view maximum, bool integer, std::span<const char> name,
                          GrammarBuilder& builder, Error* error) {
  Workspace& workspace = builder.workspace();
  CharacterAutomaton numbers;
  const NumberShape shape = integer ? NumberShape::kInteger : NumberShape::kNumber;
  bool fits = automaton_of_shape(shape, workspace, &numbers);
  for (const bool upper : {false, true}) {
    const std::string_view text = upper ? maximum : minimum;
    if (text.empty()) continue;
    JsonDocument document(workspace);
    Decimal bound(workspace);
    const char* const name_of_bound = upper ? "the maximum" : "the minimum";
    const Status parsed = document.parse(text, nullptr);
    if (workspace.exhausted()) return fail_too_large(error);
    if (parsed != Status::kOk || document.kind(0) != JsonKind::kNumber) {
      return fail(error, Status::kInvalidArgument, name_of_bound, " is ", text, "; it must be a number");
    }
    if (!bound.parse(text)) {
      return fail(error, Status::kGrammarUnsupported, name_of_bound, " is ", text,
                  "; its exponent must be at most a million");
    }
    CharacterAutomaton side;
    CharacterAutomaton both;
    fits = fits && automaton_of_bound(bound, upper, false, workspace, &side) &&
           intersect_automata(numbers, false, side, false, workspace, &both);
    if (fits) numbers = both;
  }
  if (workspace.exhausted()) return fail_too_large(error);
  if (!fits) return fail(error, Status::kGrammarUnsupported, "the bounds have too many digits");
  RegexGrammar grammar(builder, CharacterForm::kRaw);
  builder.define(builder.rule(name, 0), grammar.automaton(numbers), 0);
  return Status::kOk;
}

Status build_number_object(std::span<const char> object, std::span<const char> name, GrammarBuilder& builder,
                           Error* error) {
  JsonDocument document(builder.workspace());
  SOTTO_TRY(document.parse(object, error));
  const auto reject = [&](uint32_t node, std::string_view what) {
    return fail_in_source(error, object, document[node].offset, what);
  };
  if (document.kind(0) != JsonKind::kObject) return reject(0, "expected an object");
  std::string_view minimum;
  std::string_view maximum;
  bool integer = false;
  for (const uint32_t node : document.children(0)) {
    const std::string_view member = document.name(node);
    const JsonKind kind = document.kind(node);
    if (member == "minimum" || member == "maximum") {
      if (kind != JsonKind::kNumber) return reject(node, "expected a number");
      (member == "minimum" ? minimum : maximum) = document.text(node);
    } else if (member == "integer") {
      if (kind != JsonKind::kTrue && kind != JsonKind::kFalse) return reject(node, "expected true or false");
      integer = kind == JsonKind::kTrue;
    } else {
      return fail_at_name(error, object, document[node].offset, "unknown key (expected minimum, maximum or integer)",
                          member);
    }
  }
  return build_number_range(minimum, maximum, integer, name, builder, error);
}

namespace {

Status call_of(const JsonDocument& functions, uint32_t item, const GrammarParams& options, JsonGrammar& json,
               GrammarBuilder& builder, uint32_t* call, Error* error) {
  const uint32_t wrapped = functions.member(item, "function");
  const uint32_t function = wrapped == kNoIndex ? item : wrapped;
  const uint32_t name = functions.member(function, "name");
  if (name == kNoIndex || functions.kind(name) != JsonKind::kString) {
    return fail_at(error, Status::kGrammarSyntax, functions[item].offset, "function ", functions[item].index,
                   " has no \"name\"");
  }
  const uint32_t parameters = functions.member(function, "parameters");
  uint32_t arguments = kNoIndex;
  if (parameters == kNoIndex) {
    arguments = json.any(JsonType::kObject);
  } else {
    SchemaCompiler compiler(functions, options, builder, error);
    SOTTO_TRY(compiler.compile(parameters, &arguments));
  }
  const uint32_t name_key = json.sequence(json.text("\"name\""), json.colon());
  const uint32_t name_value = json.quoted(functions.text(name));
  const uint32_t name_member = json.item(json.sequence(name_key, name_value));
  const uint32_t comma = json.comma();
  const uint32_t key = json.sequence(json.text("\"arguments\""), json.colon());
  const uint32_t arguments_member = json.item(json.sequence(key, arguments));
  *call = json.container('{', json.sequence(name_member, comma, arguments_member));
  return Status::kOk;
}

}  // namespace

Status build_tool_calls(std::span<const char> functions, const GrammarParams& options, std::span<const char> name,
                        GrammarBuilder& builder, Error* error) {
  JsonDocument document(builder.workspace());
  SOTTO_TRY(document.parse(functions, error));
  if (document.kind(0) != JsonKind::kArray || document[0].count == 0) {
    return fail_in_source(error, functions, document[0].offset, "expected an array of at least one function");
  }
  GrammarParams inner = options;
  inner.allow_surrounding_whitespace = false;
  JsonGrammar json(builder, options);
  GrammarBuilder::List list;
  for (const uint32_t item : document.children(0)) {
    uint32_t call = kNoIndex;
    SOTTO_TRY(call_of(document, item, inner, json, builder, &call, error));
    builder.append(list, call);
  }
  uint32_t expression = builder.choice(list);
  if (options.parallel_tool_calls) {
    const uint32_t rule = builder.anonymous_rule(json.item(expression));
    const uint32_t comma = json.comma();
    const uint32_t more = builder.repeat(json.sequence(comma, json.reference(rule)), 0, kUnbounded);
    expression = json.container('[', json.sequence(json.reference(rule), more));
  }
  builder.define(builder.rule(name, 0), json.outer(expression), 0);
  return Status::kOk;
}

}  // namespace sotto
