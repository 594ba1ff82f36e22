// `sotto generate`: continues a prompt, streaming, or searches for several continuations.
#include "platforms/cli/generate/generate.h"

#include <cstdint>
#include <cstdio>
#include <memory>

#include "platforms/cli/commands.h"
#include "platforms/cli/generate/json_lines.h"
#include "platforms/cli/generate/prompt.h"
#include "platforms/cli/generate/report.h"
#include "platforms/cli/generate/worker.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Saves the session. After a search the best sequence is the one to continue.
void save_state(const std::string& path, const GenerateOptions& options, const Generation& generation,
                Session& session) {
  if (options.search.is_on && !generation.tokens.empty()) {
    const Status status = call("--save-state", [&] { return session.prefill(generation.tokens); });
    if (status == Status::cancelled) throw Failure("--save-state: interrupted", kExitInterrupted);
  }
  const std::vector<uint8_t> bytes = call(path, [&] { return session.save(); });
  write_all(path, {bytes.begin(), bytes.end()});
}

void print(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
           const Session& session) {
  if (options.json) {
    OutputWriter().write(result_json(generation, options, model, session).dump() + '\n');
    return;
  }
  if (options.search.is_on) {
    OutputWriter stream;
    print_sequences(generation, options, model, stream);
  }
  if (!options.quiet) print_timings(generation, options, model, session);
}

int run_generate(GenerateOptions options) {
  Generation generation;
  if (options.has_prompt && options.ids.empty()) generation.prompt = read_prompt(options);
  const Clock::time_point load_start = Clock::now();
  Engine engine(options);
  Worker worker(engine);
  const LoadedModel& model = engine.model();
  generation.prints_ids = !options.ids.empty() || model.info().has_tokenizer == 0;
  if (options.has_prompt) generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  if (!options.ids.empty()) generation.prompt = model.text_of(generation.prompt_tokens);
  worker.run(options, load_start, generation);
  Session& session = worker.session();
  print(generation, options, model, session);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  if (!options.save_state.empty()) save_state(options.save_state, options, generation, session);
  if (generation.stop == Status::cancelled) return kExitInterrupted;
  if (generation.is_complete) return kExitOk;
  std::fprintf(stderr, "sotto: the text is not complete under the grammar; it was stopped by %s\n",
               name_of_stop(generation.stop));
  return kExitIncomplete;
}

}  // namespace

Generation generate(GenerateOptions options, TokenList prompt,
                    const std::function<void(Session&, const Generation&)>& look) {
  options.json = true;  // collects the text
  const Clock::time_point load_start = Clock::now();
  Engine engine(options);
  Worker worker(engine);
  Generation generation;
  generation.prompt_tokens = std::move(prompt);
  worker.run(options, load_start, generation);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  look(worker.session(), generation);
  return generation;
}

void declare_generate(Command& command, Run& run) {
  auto options = std::make_shared<GenerateOptions>();
  add_generate_options(command, *options);
  command.on_parsed([&run, options, &command] {
    GenerateOptions validated = *options;
    validate_generate_options(command, validated);
    run = [options, validated, &command] {
      return options->jsonl ? run_generate_lines(command, *options, validated) : run_generate(validated);
    };
  });
}

}  // namespace sotto::cli
