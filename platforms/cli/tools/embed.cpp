// `sotto embed` computes the vector of a text: the pooled hidden states of its tokens.
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/parameters.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/support/unit_vector.h"

namespace sotto::cli {
namespace {

struct EmbedOptions {
  ModelOptions model;
  TextInput input;
  SessionParams session;
  sotto_pooling pooling = SOTTO_POOL_MEAN;
  bool normalizes = false;
  bool special = false;
  bool json = false;
  bool jsonl = false;
};

// Returns the list of numbers, or with `is_whole` an object that also has tokens and settings.
Json embedding_json(const EmbedOptions& options, const TokenList& tokens, const std::string& name,
                    const LoadedModel& model, Session& session, bool is_whole) {
  if (tokens.empty()) throw Failure(name + ": empty");
  session.reset();
  std::vector<float> embedding;
  call(name, [&] { embedding = session.embed(tokens, options.pooling); });
  if (options.normalizes) normalize(embedding);
  Json values = Json::array();
  for (const float value : embedding) values.push_back(shortest(value));
  if (!is_whole) return values;
  return {{"model", to_utf8(model.path())},
          {"tokens", tokens},
          {"pooling", name_of(kPoolingNames, options.pooling)},
          {"normalized", options.normalizes},
          {"embedding", std::move(values)}};
}

int run_embed(const EmbedOptions& options) {
  const LoadedModel model(options.model);
  Session session = model.new_session(options.session);
  if (options.jsonl) {
    const bool all_valid = answer_requests([&](const Json& request) {
      const TokenList tokens = tokens_of_request(request, model, options.special);
      return embedding_json(options, tokens, "text", model, session, true);
    });
    return all_valid ? kExitOk : kExitFailure;
  }
  const TokenList tokens = options.input.tokens(model, options.special);
  const Json answer = embedding_json(options, tokens, options.input.name(), model, session, options.json);
  OutputWriter().write(answer.dump() + '\n');
  return kExitOk;
}

}  // namespace

void declare_embed(Command& command, Run& run) {
  auto options = std::make_shared<EmbedOptions>();
  add_model_option(command, options->model);
  add_text_input(command, options->input);
  add_choice(command, "--pool,--pooling", options->pooling, "The last token's hidden state, or the mean of all",
             kPoolingNames);
  command.add_flag("--normalize", options->normalizes, "Scale the vector to length 1");
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  command.add_flag("--json", options->json,
                   "Print a JSON object with tokens and settings instead of only the list of numbers");
  add_text_lines(command, options->jsonl);
  command.set_footer(
      "Examples:\n"
      "  sotto embed -m demo.sotto \"It was a dark and stormy night\"\n"
      "  sotto embed -m demo.sotto -f chapter.txt --pool last --normalize --json\n"
      "  sotto embed -m demo.sotto --jsonl < texts.jsonl > vectors.jsonl");
  command.on_parsed([&run, options, &command] {
    validate_text_input(command, options->input);
    run = [options] { return run_embed(*options); };
  });
}

}  // namespace sotto::cli
