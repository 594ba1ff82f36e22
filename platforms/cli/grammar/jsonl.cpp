#include "platforms/cli/grammar/jsonl.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/options/parameters.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

struct Request {
  std::optional<GrammarSource> source;
  GrammarParams params;
  std::vector<std::string> texts;
  std::vector<std::string> byte_texts;
  Json id;
};

struct SourceName {
  std::string_view name;
  sotto_grammar_language language;
};

constexpr SourceName kSources[] = {{"grammar", SOTTO_GRAMMAR_GBNF},
                                   {"schema", SOTTO_GRAMMAR_JSON_SCHEMA},
                                   {"json_schema", SOTTO_GRAMMAR_JSON_SCHEMA},
                                   {"regex", SOTTO_GRAMMAR_REGEX},
                                   {"choices", SOTTO_GRAMMAR_CHOICES},
                                   {"tools", SOTTO_GRAMMAR_TOOLS},
                                   {"number_range", SOTTO_GRAMMAR_NUMBER},
                                   {"any_json", SOTTO_GRAMMAR_JSON},
                                   {"json_object", SOTTO_GRAMMAR_JSON_OBJECT}};

void read_source(const SourceName& known, std::string_view value, Request& request) {
  if (request.source) throw Failure("more than one grammar");
  GrammarSource source;
  source.language = known.language;
  source.name = known.name;
  const bool is_string = value.front() == '"';
  switch (known.language) {
    case SOTTO_GRAMMAR_GBNF:
    case SOTTO_GRAMMAR_REGEX:
      source.text = text_of(value);
      break;
    case SOTTO_GRAMMAR_JSON:
    case SOTTO_GRAMMAR_JSON_OBJECT:
      if (value != "true") throw Failure(source.name + " is not true");
      break;
    default:  // as it is written: the library reads it
      source.text = is_string ? text_of(value) : std::string(value);
  }
  request.source = std::move(source);
}

void read_triggers(const Json& value, Request& request) {
  if (value.is_string()) {
    request.params.triggers.push_back(value.get<std::string>());
    return;
  }
  for (const Json& text : to_list(value, "trigger")) {
    request.params.triggers.push_back(to_text(text, "trigger"));
  }
}

// The names of xgrammar: white space is free, or the separators are fixed.
struct Separation {
  std::optional<bool> is_free;
  bool is_compact = false;
};

void read_separators(const Json& value, Separation& separation) {
  if (value.is_null()) return;
  const bool is_compact = value == Json::array({",", ":"});
  if (!is_compact && value != Json::array({", ", ": "})) {
    throw Failure("separators is " + value.dump() + ", not [\",\", \":\"] or [\", \", \": \"]");
  }
  separation.is_compact = is_compact;
}

void apply(const Separation& separation, sotto_grammar_params& params) {
  if (!separation.is_free) return;
  if (*separation.is_free) {
    params.json_space = SOTTO_JSON_FLEXIBLE;
    params.maximum_space = kUnbounded;
  } else {
    params.json_space = separation.is_compact ? SOTTO_JSON_COMPACT : SOTTO_JSON_ONE_SPACE;
  }
}

void read_option(const std::string& name, const Json& value, Request& request, Separation& separation) {
  sotto_grammar_params& params = request.params;
  if (const Parameter* parameter = find_parameter(kGrammarParameters, name)) {
    const bool is_unbounded = parameter->kind == ParameterKind::kWindow && value.is_null();
    read_parameter(*parameter, is_unbounded ? Json(-1) : value, name, &params);
  } else if (name == "root") {
    request.params.root = to_text(value, name);
  } else if (name == "trigger" || name == "triggers") {
    read_triggers(value, request);
  } else if (name == "any_whitespace") {
    separation.is_free = to_bool(value, name);
  } else if (name == "separators") {
    read_separators(value, separation);
  } else if (name != "indent" || !value.is_null()) {
    throw Failure('"' + name + "\": no such option");
  }
}

void read_options(std::string_view object, Request& request) {
  Separation separation;
  for (const JsonMember& member : members_of(object)) {
    read_option(member.name, parse_json(std::string(member.value)), request, separation);
  }
  apply(separation, request.params);
}

Request read_request(std::string_view line) {
  Request request;
  for (const JsonMember& member : members_of(line)) {
    const SourceName* known = nullptr;
    for (const SourceName& source : kSources) {
      if (source.name == member.name) known = &source;
    }
    if (known != nullptr) {
      read_source(*known, member.value, request);
    } else if (member.name == "test") {
      for (const std::string_view text : elements_of(member.value)) {
        request.texts.push_back(text_of(text));
      }
    } else if (member.name == "test_base64") {
      for (const std::string_view text : elements_of(member.value)) {
        request.byte_texts.push_back(from_base64(text_of(text)));
      }
    } else if (member.name == "root") {
      request.params.root = text_of(member.value);
    } else if (member.name == "options") {
      read_options(member.value, request);
    } else if (member.name == "id") {
      request.id = parse_json(std::string(member.value));
    } else {
      throw Failure('"' + member.name + "\": no such field");
    }
  }
  if (!request.source) throw Failure("no \"grammar\", \"schema\", \"regex\" ... to check");
  return request;
}

Json verdicts(GrammarTester* tester, const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    const Fit fit = tester != nullptr ? tester->test(text).fit : Fit::kRejected;
    list.push_back(fit == Fit::kUndecided ? Json() : Json(fit == Fit::kAccepted));
  }
  return list;
}

Json answer(const Request& request, const Vocabulary* vocabulary) {
  Json object = {{"valid", true}, {"error", nullptr}};
  const auto add_verdicts = [&](GrammarTester* tester) {
    object["accepted"] = verdicts(tester, request.texts);
    if (!request.byte_texts.empty()) {
      object["accepted_base64"] = verdicts(tester, request.byte_texts);
    }
  };
  try {
    const CompiledGrammar compiled = compile_grammar(*request.source, request.params, vocabulary);
    GrammarTester tester(compiled.grammar);
    add_verdicts(&tester);
  } catch (const GrammarFailure& failure) {
    object = {{"valid", false}, {"error", error_json(failure, *request.source)}};
    add_verdicts(nullptr);
  }
  if (!request.id.is_null()) object["id"] = request.id;
  return object;
}

Json refusal(const std::string& message, uint64_t number) {
  const Json error = {{"message", to_utf8("line " + std::to_string(number) + ": " + message)},
                      {"line", nullptr},
                      {"column", nullptr},
                      {"offset", nullptr}};
  return {{"valid", false}, {"error", error}, {"accepted", Json::array()}, {"line", number}};
}

}  // namespace

bool check_lines(const Vocabulary* vocabulary) {
  const auto check_line = [&](const std::string& line) { return answer(read_request(line), vocabulary); };
  return answer_lines("-", check_line, refusal);
}

}  // namespace sotto::cli
