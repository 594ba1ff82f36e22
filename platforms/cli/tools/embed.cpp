// `sotto embed`: a text as a vector, the pooled hidden states of its tokens.
#include <cmath>
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/options/session_options.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/support/text_input.h"

namespace sotto::cli {
namespace {

struct EmbedOptions {
  ModelOptions model;
  TextInput input;
  sotto_session_params session = default_session_params();
  sotto_pooling pooling = SOTTO_POOL_MEAN;
  bool normalises = false;
  bool special = false;
  bool json = false;
};

void normalise(std::vector<float>& vector) {
  double sum = 0.0;
  for (const float value : vector) sum += static_cast<double>(value) * static_cast<double>(value);
  if (sum == 0.0) return;
  for (float& value : vector) {
    value = static_cast<float>(static_cast<double>(value) / std::sqrt(sum));
  }
}

int run_embed(const EmbedOptions& options) {
  const std::string text = options.input.read();
  const Model model(options.model);
  const Session session(model, options.session);
  const Tokens tokens = model.tokenize(text, options.special, options.input.name());
  if (tokens.empty()) throw Failure(options.input.name() + ": empty");
  std::vector<float> embedding(model.info().embedding_size);
  const sotto_status status =
      sotto_session_embed(session.get(), tokens.data(), tokens.size(), options.pooling, embedding.data());
  check(status, options.input.name());
  if (status == SOTTO_STOP_CONTEXT_FULL) {
    throw Failure(options.input.name() + ": " + std::to_string(tokens.size()) + " tokens do not fit a context of " +
                  std::to_string(session.info().context_tokens));
  }
  if (options.normalises) normalise(embedding);
  Json values = Json::array();
  for (const float value : embedding) values.push_back(shortest(value));
  const Json answer = options.json ? Json{{"model", to_utf8(model.path())},
                                          {"tokens", tokens},
                                          {"pooling", name_of(pooling_names(), options.pooling)},
                                          {"normalised", options.normalises},
                                          {"embedding", std::move(values)}}
                                   : std::move(values);
  TextStream().write(answer.dump() + '\n');
  return kExitOk;
}

}  // namespace

void add_embed(CLI::App& app, Run& run) {
  auto options = std::make_shared<EmbedOptions>();
  CLI::App* command = app.add_subcommand("embed", "Turn a text into a vector");
  add_model_option(*command, options->model);
  add_text_input(*command, options->input);
  add_choice(*command, "--pool,--pooling", options->pooling, "The last token's hidden state, or the mean of all",
             pooling_names());
  command->add_flag("--normalise,--normalize", options->normalises, "Make its length 1");
  command->add_flag("--special", options->special, "<|endoftext|> and the like in the text are special tokens");
  add_thread_option(*command, options->session);
  add_context_option(*command, options->session);
  add_weight_options(*command, options->model);
  command->add_flag("--json", options->json, "A JSON object with tokens and settings, not the list of numbers alone");
  command->footer(
      "Examples:\n"
      "  sotto embed -m demo.sotto \"It was a dark and stormy night\"\n"
      "  sotto embed -m demo.sotto -f chapter.txt --pool last --normalise --json");
  command->callback([&run, options, command] {
    settle_text_input(*command, options->input);
    run = [options] { return run_embed(*options); };
  });
}

}  // namespace sotto::cli
