// `sotto tokenize` converts text to token ids and back.
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/model.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {
namespace {

struct TokenizeOptions {
  ModelOptions model;
  std::string text;
  std::vector<std::string> ids;
  bool has_text = false;
  bool decode = false;
  bool special = false;
  bool pieces = false;
  bool json = false;
  bool jsonl = false;
};

void print_line(const std::string& line) { std::printf("%s\n", line.c_str()); }

void print_pieces(const LoadedModel& model, const TokenList& tokens) {
  for (const Token token : tokens) {
    print_line(std::to_string(token) + '\t' + in_quotes(model.detokenize({token})));
  }
}

void encode(const TokenizeOptions& options, const LoadedModel& model) {
  const std::string text = options.has_text ? options.text : read_all("-");
  const TokenList tokens = model.tokenize(text, options.special, options.has_text ? "text" : "standard input");
  if (options.pieces) return print_pieces(model, tokens);
  if (options.json) {
    return print_line(Json{{"text", text}, {"ids", tokens}, {"count", tokens.size()}}.dump());
  }
  std::string line;
  for (const Token token : tokens) {
    line += (line.empty() ? "" : " ") + std::to_string(token);
  }
  print_line(line);
}

void decode(const TokenizeOptions& options, const LoadedModel& model) {
  std::string list;
  for (const std::string& word : options.ids) list += word + ' ';
  TokenList tokens = require_ids(list);
  if (tokens.empty()) tokens = require_ids(read_all("-"));
  if (options.pieces) return print_pieces(model, tokens);
  const std::string bytes = model.detokenize(tokens);
  if (options.json) {
    Json object = {{"ids", tokens}};
    object.update(text_json(bytes));
    return print_line(object.dump());
  }
  if (is_terminal(stdout)) return print_line(for_terminal(bytes));
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);  // the exact bytes, for pipes and files
}

Json convert(const LoadedModel& model, bool special, const Json& request) {
  const Json* text = request.find("text");
  const Json* ids = request.find("ids");
  if ((text == nullptr) == (ids == nullptr)) throw Failure("needs to be an object with \"text\" or with \"ids\"");
  reject_other_members(request, {"text", "ids", "id"});
  if (ids != nullptr) return text_json(model.detokenize(to_tokens(*ids, "ids")));
  if (!text->is_string()) throw Failure("\"text\" is not a string");
  return {{"ids", model.tokenize(text->text(), special, "text")}};
}

int run_tokenize(const TokenizeOptions& options) {
  const LoadedModel model(options.model);
  bool good = true;
  if (options.jsonl) {
    good = answer_requests([&](const Json& request) { return convert(model, options.special, request); });
  } else if (options.decode) {
    decode(options, model);
  } else {
    encode(options, model);
  }
  flush_output();
  return good ? kExitOk : kExitFailure;
}

void check_combination(const TokenizeOptions& options) {
  const int forms = options.pieces + options.json + options.jsonl;
  if (forms > 1) throw UsageError("Give one of --pieces, --json and --jsonl");
  if (options.has_text && (options.decode || options.jsonl)) {
    throw UsageError("TEXT cannot be combined with --decode or --jsonl");
  }
  if (options.decode && options.special) {
    reject("--parse-special", "has no effect with --decode");
  }
  if (options.decode && options.jsonl) {
    throw UsageError("--decode cannot be combined with --jsonl, which decodes the lines that have ids");
  }
}

}  // namespace

void declare_tokenize(Command& command, Run& run) {
  auto options = std::make_shared<TokenizeOptions>();
  add_model_option(command, options->model);
  command.add_option("TEXT", options->text, "The text; standard input if absent");
  command.add_option("--decode", options->ids, "Convert ids to text; without values, read them from standard input")
      .metavar("IDS...");
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  command.add_flag("--pieces", options->pieces, "One line per token: id, tab, text");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.add_flag(
      "--jsonl", options->jsonl,
      "Answer each line {\"text\":...} of standard input with {\"ids\":[...]} and vice versa, and an invalid "
      "line with {\"error\":...,\"line\":N}");
  command.set_footer(
      "Examples:\n"
      "  sotto tokenize -m demo.sotto \"Once upon a time\"\n"
      "  sotto tokenize -m demo.sotto --decode 2837 327 622\n"
      "  sotto tokenize -m demo.sotto < book.txt | sotto tokenize -m demo.sotto --decode\n"
      "  sotto tokenize -m demo.sotto --jsonl < texts.jsonl > ids.jsonl");
  command.on_parsed([&run, options, &command] {
    options->has_text = is_given(command, "TEXT");
    options->decode = is_given(command, "--decode");
    check_combination(*options);
    run = [options] { return run_tokenize(*options); };
  });
}

}  // namespace sotto::cli
