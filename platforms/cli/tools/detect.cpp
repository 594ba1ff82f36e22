// `sotto detect`: whether a text bears a watermark.
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/options/watermark_options.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/support/text_input.h"
#include "platforms/cli/support/token_text.h"

namespace sotto::cli {
namespace {

struct DetectOptions {
  ModelOptions model;
  TextInput input;
  std::vector<std::string> ids;
  bool has_ids = false;
  uint32_t vocabulary_size = 0;
  sotto_watermark_params watermark;
  bool json = false;

  DetectOptions() {
    sotto_watermark_params_init(&watermark, sizeof watermark);
    watermark.scheme = SOTTO_WATERMARK_LEFT_HASH;
  }
};

Tokens read_ids(const DetectOptions& options) {
  std::string list;
  for (const std::string& word : options.ids) list += word + ' ';
  const Tokens tokens = require_ids(list);
  return tokens.empty() ? require_ids(options.input.read()) : tokens;
}

sotto_watermark_result detect(const DetectOptions& options, size_t vocabulary_size, const Tokens& tokens) {
  sotto_watermark_result result = {};
  result.struct_size = sizeof result;
  sotto_error error = no_error();
  check(sotto_watermark_detect(&options.watermark, vocabulary_size, tokens.data(), tokens.size(), &result, &error),
        error, "detect");
  return result;
}

void print_result(const DetectOptions& options, const sotto_watermark_result& result, size_t token_count) {
  TextStream stream;
  if (options.json) {
    const Json object = {{"is_marked", result.is_marked != 0},
                         {"z", result.z},
                         {"p_value", result.p_value},
                         {"score", result.score},
                         {"scored_tokens", result.token_count},
                         {"tokens", token_count},
                         {"watermark", watermark_json(options.watermark)}};
    stream.write(object.dump() + '\n');
    return;
  }
  char lines[256];
  std::snprintf(lines, sizeof lines,
                "%s\n"
                "z          %.4g\n"
                "p-value    %.4g\n"
                "tokens     %s scored\n",
                result.is_marked != 0 ? "marked" : "no mark found", result.z, result.p_value,
                with_thousands(result.token_count).c_str());
  stream.write(lines);
}

int run_detect(const DetectOptions& options) {
  std::unique_ptr<Model> model;
  if (!options.model.path.empty()) model = std::make_unique<Model>(options.model);
  const Tokens tokens =
      options.has_ids ? read_ids(options) : model->tokenize(options.input.read(), false, options.input.name());
  const size_t vocabulary_size = model ? model->info().vocabulary_size : options.vocabulary_size;
  print_result(options, detect(options, vocabulary_size, tokens), tokens.size());
  return kExitOk;
}

void settle(const CLI::App& command, DetectOptions& options) {
  settle_text_input(command, options.input);
  settle_watermark_options(command, options.watermark);
  options.has_ids = is_given(command, "--ids");
  refuse_with(command, "--ids", {"TEXT"});
  const bool are_listed = options.has_ids && !options.ids.front().empty();
  if (are_listed) refuse_with(command, "--ids", {"--file"}, "they are given already");
  refuse_with(command, "--vocabulary", {"--model"}, "the model has its own");
  require_with(command, "--vocabulary", {"--ids"});
  if (is_given(command, "--watermark-delta")) {
    throw CLI::ValidationError("--watermark-delta", "finding a mark does not need it");
  }
  if (options.watermark.scheme == SOTTO_WATERMARK_NONE) {
    throw CLI::ValidationError("--watermark", "name the mark to look for");
  }
  const bool has_model = is_given(command, "--model");
  if (!has_model && !options.has_ids) {
    throw CLI::ValidationError("--model", "is needed to tokenize text; or give --ids");
  }
  if (!has_model && !is_given(command, "--vocabulary")) {
    throw CLI::ValidationError("--ids", "needs --vocabulary N or --model FILE");
  }
}

}  // namespace

void add_detect(CLI::App& app, Run& run) {
  auto options = std::make_shared<DetectOptions>();
  CLI::App* command = app.add_subcommand("detect", "Look for a watermark in a text");
  command->add_option("-m,--model", options->model.path, "The model that tokenizes the text; with --ids not needed")
      ->type_name("FILE")
      ->check(file_name());
  add_text_input(*command, options->input);
  command
      ->add_option("--ids", options->ids,
                   "Token ids in place of text; from -f or standard input if there are none here")
      ->expected(0, std::numeric_limits<int>::max())
      ->type_name("IDS...");
  add_value(*command, "--vocabulary,--vocabulary-size", options->vocabulary_size,
            "Tokens of the vocabulary they are of, without a model", "N")
      ->default_str("");
  add_watermark_options(*command, options->watermark);
  command->add_flag("--json", options->json, "One JSON object");
  command->footer(
      "The options must be those of the generation. The text's tokens are not always those that\n"
      "were generated; --ids with the \"tokens\" of sotto generate --json is exact.\n"
      "\n"
      "Examples:\n"
      "  sotto detect -m demo.sotto -f answer.txt --watermark-key 42\n"
      "  sotto detect --ids 2837 327 622 --vocabulary 50257 --watermark selfhash");
  command->callback([&run, options, command] {
    settle(*command, *options);
    run = [options] { return run_detect(*options); };
  });
}

}  // namespace sotto::cli
