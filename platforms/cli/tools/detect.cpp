// `sotto detect` searches a text for a watermark.
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/watermark.h"
#include "platforms/cli/support/model.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {
namespace {

struct DetectOptions {
  ModelOptions model;
  TextInput input;
  uint32_t vocabulary_size = 0;
  WatermarkParams watermark;
  bool json = false;

  DetectOptions() { watermark.scheme = SOTTO_WATERMARK_LEFT_HASH; }
};

void print_result(const DetectOptions& options, const WatermarkResult& result, size_t token_count) {
  OutputWriter stream;
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
  std::optional<LoadedModel> model;
  if (!options.model.path.empty()) model.emplace(options.model);
  const TokenList tokens = model ? options.input.tokens(*model, false) : options.input.read_ids();
  const size_t vocabulary_size = model ? model->info().vocabulary_size : options.vocabulary_size;
  const WatermarkResult result =
      call("detect", [&] { return detect_watermark(options.watermark, vocabulary_size, tokens); });
  print_result(options, result, tokens.size());
  return kExitOk;
}

void validate(const Command& command, DetectOptions& options) {
  validate_text_input(command, options.input);
  validate_watermark_options(command, options.watermark);
  if (is_given(command, "--watermark-delta")) {
    reject("--watermark-delta", "has no effect on finding a mark");
  }
  if (options.watermark.scheme == SOTTO_WATERMARK_NONE) {
    reject("--watermark", "is none; name the mark to look for");
  }
  const bool has_model = is_given(command, "--model");
  if (!has_model && !options.input.has_ids) {
    reject("--model", "is needed to tokenize text; or give --ids");
  }
  if (!has_model && !is_given(command, "--vocabulary")) {
    reject("--ids", "needs --vocabulary N or --model FILE");
  }
}

}  // namespace

void declare_detect(Command& command, Run& run) {
  auto options = std::make_shared<DetectOptions>();
  add_optional_model(command, options->model, "The model that tokenizes the text; not needed with --ids");
  add_text_input(command, options->input);
  add_value(command, "--vocabulary,--vocabulary-size", options->vocabulary_size,
            "Size of the vocabulary of the ids, without a model", "N")
      .shown_default("")
      .needs("--ids")
      .excludes("--model", "the model has its own");
  add_watermark_options(command, options->watermark);
  command.add_flag("--json", options->json, "Print one JSON object");
  command.set_footer(
      "The options must be those of the generation. Tokenizing a text does not always restore the\n"
      "generated tokens; --ids with the \"tokens\" of sotto generate --json is exact.\n"
      "\n"
      "Examples:\n"
      "  sotto detect -m demo.sotto -f answer.txt --watermark-key 42\n"
      "  sotto detect --ids 2837 327 622 --vocabulary 50257 --watermark selfhash");
  command.on_parsed([&run, options, &command] {
    validate(command, *options);
    run = [options] { return run_detect(*options); };
  });
}

}  // namespace sotto::cli
