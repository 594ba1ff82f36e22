// `sotto grammar check` reports whether a grammar is valid and which texts match it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/grammar/command.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/help.h"

namespace sotto::cli {
namespace {

struct CheckOptions {
  GrammarInput input;
  std::vector<std::string> texts;
  std::vector<std::string> files;
  bool json = false;
  bool jsonl = false;
};

struct Test {
  std::string name;  // empty or a path
  std::string text;
};

std::vector<Test> read_tests(const CheckOptions& options) {
  std::vector<Test> tests;
  for (const std::string& text : options.texts) tests.push_back({"", text});
  for (const std::string& path : options.files) tests.push_back({path, read_all(path)});
  return tests;
}

const char* word_of(Fit fit) {
  switch (fit) {
    case Fit::kAccepted:
      return "accepted";
    case Fit::kBeginning:
      return "beginning";
    case Fit::kRejected:
      return "rejected";
    case Fit::kUndecided:
      break;
  }
  return "undecided";
}

void print_verdict(const Test& test, const Verdict& verdict, OutputWriter& stream) {
  constexpr size_t kShown = 60;
  const bool is_long = test.text.size() > kShown;
  std::string name = test.name;
  if (name.empty()) name = in_quotes(test.text.substr(0, kShown)) + (is_long ? "..." : "");
  std::string line = std::string(word_of(verdict.fit)) + ' ' + name;
  switch (verdict.fit) {
    case Fit::kAccepted:
      break;
    case Fit::kBeginning:
      line += ": only the beginning of a text";
      break;
    case Fit::kRejected: {
      const Place place = place_of(test.text, verdict.offset);
      line += ": at byte " + std::to_string(verdict.offset) + ", " + std::to_string(place.line) + ':' +
              std::to_string(place.column) + '\n' + shown_line(test.text, verdict.offset);
      break;
    }
    case Fit::kUndecided:
      line += ": beyond the memory and the steps allowed";
  }
  stream.write(line + '\n');
}

Json verdict_json(const Test& test, const Verdict& verdict) {
  Json object = text_json(test.text);
  if (!test.name.empty()) object = {{"file", to_utf8(test.name)}};
  object["verdict"] = word_of(verdict.fit);
  if (verdict.fit == Fit::kRejected) object["offset"] = verdict.offset;
  return object;
}

int run_check(CheckOptions options) {
  const LoadedInput input(options.input);
  const std::vector<Test> tests = read_tests(options);
  OutputWriter stream;
  try {
    const LoadedGrammar compiled = compile_input(options.input, input);
    GrammarTester tester(compiled.grammar);
    bool are_all_accepted = true;
    if (!options.json) {
      print_warnings(compiled);
      const bool is_language = find_value(kGrammarLanguageNames, input.source.name).has_value();
      const std::string name = is_language ? "grammar" : to_utf8(input.source.name);
      stream.write("valid " + name + ": " + described(compiled, input.source) + '\n');
    }
    Json verdicts = Json::array();
    for (const Test& test : tests) {
      const Verdict verdict = tester.test(test.text);
      are_all_accepted &= verdict.fit == Fit::kAccepted;
      if (options.json) {
        verdicts.push_back(verdict_json(test, verdict));
      } else {
        print_verdict(test, verdict, stream);
      }
    }
    if (options.json) {
      Json object = {{"valid", true}, {"error", nullptr}};
      object.update(described_json(compiled, input.source));
      object["matcher_bytes"] = tester.memory_size();
      object["tests"] = std::move(verdicts);
      stream.write(object.dump() + '\n');
    }
    return are_all_accepted ? kExitOk : kExitFailure;
  } catch (const GrammarFailure& failure) {
    if (!options.json) throw;
    stream.write(Json{{"valid", false}, {"error", error_json(failure, input.source)}}.dump() + '\n');
    return kExitFailure;
  }
}

// JSON lines: a request contains a grammar and texts, and the answer lists which of the texts the grammar accepts.
constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

struct Request {
  std::optional<GrammarText> source;
  GrammarParams params;
  std::vector<std::string> texts;
  std::vector<std::string> byte_texts;
  Json id;
};

// Reads the grammar of a request. `known` is its language.
void read_source(const Name& known, std::string_view value, Request& request) {
  if (request.source) throw Failure("more than one grammar");
  GrammarText source;
  source.language = known.value;
  source.name = known.name;
  const bool is_string = value.front() == '"';
  switch (known.value) {
    case SOTTO_GRAMMAR_GBNF:
    case SOTTO_GRAMMAR_REGEX:
      source.text = text_of(value);
      break;
    case SOTTO_GRAMMAR_JSON:
    case SOTTO_GRAMMAR_JSON_OBJECT:
      if (value != "true") throw Failure(source.name + " is not true");
      break;
    default:  // the exact bytes of the JSON value, which the library parses
      source.text = is_string ? text_of(value) : std::string(value);
  }
  request.source = std::move(source);
}

void read_triggers(const Json& value, Request& request) {
  if (value.is_string()) {
    request.params.triggers.push_back(value.text());
    return;
  }
  for (const Json& text : to_list(value, "trigger")) {
    request.params.triggers.push_back(to_text(text, "trigger"));
  }
}

// xgrammar's parameters of white space: either it is unrestricted, or the separators are fixed.
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
    params.max_space = kUnbounded;
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
    throw Failure("unknown option: \"" + name + '"');
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
    const Name* known = nullptr;
    for (const Name& language : kGrammarLanguageNames) {
      if (language.name == member.name) known = &language;
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
      throw Failure("unknown field: \"" + member.name + '"');
    }
  }
  if (!request.source) throw Failure("no \"grammar\", \"schema\", \"regex\" ... to check");
  return request;
}

Json accepted_json(GrammarTester* tester, const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    const Fit fit = tester != nullptr ? tester->test(text).fit : Fit::kRejected;
    list.push_back(fit == Fit::kUndecided ? Json() : Json(fit == Fit::kAccepted));
  }
  return list;
}

Json answer_request(const Request& request, const Vocabulary* vocabulary) {
  Json object = {{"valid", true}, {"error", nullptr}};
  const auto add_verdicts = [&](GrammarTester* tester) {
    object["accepted"] = accepted_json(tester, request.texts);
    if (!request.byte_texts.empty()) {
      object["accepted_base64"] = accepted_json(tester, request.byte_texts);
    }
  };
  try {
    const LoadedGrammar compiled = compile_grammar(*request.source, request.params, vocabulary);
    GrammarTester tester(compiled.grammar);
    add_verdicts(&tester);
  } catch (const GrammarFailure& failure) {
    object = {{"valid", false}, {"error", error_json(failure, *request.source)}};
    add_verdicts(nullptr);
  }
  if (!request.id.is_null()) object["id"] = request.id;
  return object;
}

Json rejected_line(const std::string& message, uint64_t number) {
  const Json error = {{"message", to_utf8("line " + std::to_string(number) + ": " + message)},
                      {"line", nullptr},
                      {"column", nullptr},
                      {"offset", nullptr}};
  return {{"valid", false}, {"error", error}, {"accepted", Json::array()}, {"line", number}};
}

// Answers the requests on standard input. `vocabulary` resolves token literals and may be null. Returns false if a line
// was not a valid request.
bool check_lines(const Vocabulary* vocabulary) {
  const auto check_line = [&](const std::string& line) { return answer_request(read_request(line), vocabulary); };
  return answer_lines("-", check_line, rejected_line);
}

int run_lines(const CheckOptions& options) {
  std::optional<Vocabulary> vocabulary;
  if (!options.input.model.path.empty()) vocabulary = model_vocabulary(LoadedModel(options.input.model));
  return check_lines(vocabulary ? &*vocabulary : nullptr) ? kExitOk : kExitFailure;
}

// Returns a line for each language: the names of its member in JSON lines, and what their value is.
std::string languages_help() {
  constexpr size_t kColumn = 25;
  std::string text;
  for (const ValueOption& row : kGrammarLanguageOptions) {
    std::string line = "  " + names_of(kGrammarLanguageNames, row.value);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += line + row.json + '\n';
  }
  return text;
}

std::string footer() {
  return "A test is accepted, or the beginning of an accepted text, or rejected at some byte. The exit\n"
         "code is 0 if the grammar is valid and all tests are accepted, else 1.\n"
         "\n"
         "--jsonl: a line {\"grammar\" or \"schema\" or \"regex\" or ...: ..., \"test\": [...]}; its answer:\n"
         "{\"valid\": true, \"error\": null, \"accepted\": [true, ...]}. One of its members is the grammar:\n" +
         languages_help() +
         "The others are optional:\n"
         "  options                the options above, with _ for -: json_space, max_space,\n"
         "                         allow_surrounding_whitespace, forbid_additional, schema_draft, formats,\n"
         "                         assume_distinct_names, parallel_tool_calls, schema_order, trigger (a string\n"
         "                         or a list), root; also any_whitespace, separators, strict_mode\n"
         "  test                   strings, each a whole text; half a surrogate pair matches no grammar\n"
         "  test_base64            bytes, for texts that are not UTF-8: the answer has \"accepted_base64\"\n"
         "  id                     is repeated in the answer\n"
         "An invalid grammar accepts nothing; its \"error\" has message, line, column, offset. A text that\n"
         "takes too much memory or time is null. A line that is no such request becomes\n"
         "{\"valid\":false,\"error\":{\"message\":...},\"accepted\":[],\"line\":N}, and the exit code 1 at the end.\n"
         "\n"
         "Examples:\n"
         "  sotto grammar check answer.gbnf --test yes --test no\n"
         "  sotto grammar check --json-schema person.json --test-file person1.json --json\n"
         "  sotto grammar check --regex '[0-9]+(,[0-9]{3})*' --test 1,000\n"
         "  echo '{\"regex\":\"a+\",\"test\":[\"aa\",\"b\"]}' | sotto grammar check --jsonl";
}

}  // namespace

void declare_grammar_check(Command& command, Run& run) {
  auto options = std::make_shared<CheckOptions>();
  add_grammar_input(command, options->input, "A model whose tokens the grammar may name");
  add_texts(command, "--test", options->texts, "A text to match; repeatable");
  add_texts(command, "--test-file", options->files, "A file with a text to match; repeatable", "FILE")
      .check(check_file_name);
  command.add_flag("--json", options->json, "Print one JSON object");
  command.add_flag("--jsonl", options->jsonl, "Read grammars and texts from standard input");
  command.set_footer(footer());
  command.on_parsed([&run, options, &command] {
    if (options->jsonl) {
      for (const auto& option : command.options()) {
        const bool is_used = option->is_named("--jsonl") || option->is_named("--model");
        if (option->is_given() && !is_used) reject(main_names(*option), "cannot be combined with --jsonl");
      }
      run = [options] { return run_lines(*options); };
      return;
    }
    validate_grammar_input(command, options->input);
    run = [options] { return run_check(*options); };
  });
}

}  // namespace sotto::cli
