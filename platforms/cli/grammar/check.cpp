// `sotto grammar check`: says whether a grammar is valid and which texts match it.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/grammar/command.h"
#include "platforms/cli/grammar/jsonl.h"
#include "platforms/cli/grammar/place.h"
#include "platforms/cli/options/cli11.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

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
  std::string name;  // "" or a path
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
      return "refused";
    case Fit::kUndecided:
      break;
  }
  return "undecided";
}

void print_verdict(const Test& test, const Verdict& verdict, TextStream& stream) {
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
  TextStream stream;
  try {
    const CompiledGrammar compiled = compile_input(options.input, input);
    GrammarTester tester(compiled.grammar);
    bool are_all_accepted = true;
    if (!options.json) {
      print_warnings(compiled);
      stream.write("valid " + to_utf8(input.source.name) + ": " + described(compiled, input.source) + '\n');
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

int run_lines(const CheckOptions& options) {
  std::optional<Vocabulary> vocabulary;
  if (!options.input.model.path.empty()) vocabulary = model_vocabulary(LoadedModel(options.input.model));
  return check_lines(vocabulary ? &*vocabulary : nullptr) ? kExitOk : kExitFailure;
}

constexpr char kFooter[] =
    "A test is accepted, or only the beginning of a text, or refused from some byte on. The exit\n"
    "code is 0 if the grammar is valid and all tests are accepted, else 1.\n"
    "\n"
    "--jsonl: a line {\"grammar\" or \"schema\" or \"regex\" or ...: ..., \"test\": [...]}; its "
    "answer:\n"
    "{\"valid\": true, \"error\": null, \"accepted\": [true, ...]}.\n"
    "  grammar          GBNF, a string; \"root\": its start rule\n"
    "  schema           a JSON Schema as it is, or a string with its text\n"
    "  regex            a string; choices: a list of strings; tools: a list of functions\n"
    "  number_range     {\"minimum\": 1, \"maximum\": 10, \"integer\": true}, each optional\n"
    "  any_json, json_object   true\n"
    "  options          as the options here, with _ for -: json_space, max_space, allow_surrounding_whitespace,\n"
    "                   closed, schema_draft, formats, distinct_names, parallel_tool_calls,\n"
    "                   trigger (a string or a list), root; also any_whitespace, separators, strict_mode\n"
    "  test             strings, each a whole text; half a surrogate pair matches no grammar\n"
    "  test_base64      bytes, for texts that are not UTF-8: the answer has \"accepted_base64\"\n"
    "  id               is repeated in the answer\n"
    "An invalid grammar accepts nothing; its \"error\" has message, line, column, offset. A text "
    "that\n"
    "takes too much memory or time is null. A line that is no such request becomes\n"
    "{\"valid\":false,\"error\":{\"message\":...},\"accepted\":[],\"line\":N}, and the exit code 1 "
    "at the end.\n"
    "\n"
    "Examples:\n"
    "  sotto grammar check answer.gbnf --test yes --test no\n"
    "  sotto grammar check --schema person.json --test-file person1.json --json\n"
    "  sotto grammar check --regex '[0-9]+(,[0-9]{3})*' --test 1,000\n"
    "  echo '{\"regex\":\"a+\",\"test\":[\"aa\",\"b\"]}' | sotto grammar check --jsonl";

}  // namespace

void add_grammar_check(CLI::App& parent, Run& run) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = parent.add_subcommand("check", "Check a grammar, and which texts match it as a whole");
  add_grammar_input(*command, options->input, "A model whose tokens the grammar may name");
  add_texts(*command, "--test", options->texts, "A text, as it is; may be given several times");
  add_texts(*command, "--test-file", options->files, "A text, all bytes of a file", "FILE")->check(file_name());
  command->add_flag("--json", options->json, "One JSON object");
  command->add_flag("--jsonl", options->jsonl, "Grammars and texts from standard input");
  command->footer(kFooter);
  command->callback([&run, options, command] {
    if (options->jsonl) {
      for (const CLI::Option* option : command->get_options()) {
        const bool is_used = option->check_lname("jsonl") || option->check_lname("model");
        if (option->count() > 0 && !is_used) {
          reject(main_names(option), "cannot be combined with --jsonl");
        }
      }
      run = [options] { return run_lines(*options); };
      return;
    }
    validate_grammar_input(*command, options->input);
    run = [options] { return run_check(*options); };
  });
}

}  // namespace sotto::cli
