// `sotto sample`: what a chain of settings makes of given logits; needs no model.
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/tools/sample_jsonl.h"

namespace sotto::cli {
namespace {

struct SampleOptions {
  ModelOptions model;
  std::string path = "-";
};

int run_sample(const SampleOptions& options) {
  std::unique_ptr<Model> model;
  if (!options.model.path.empty()) model = std::make_unique<Model>(options.model);
  ChainRunner runner(model.get());
  return sample_lines(options.path, runner) ? kExitOk : kExitFailure;
}

}  // namespace

void add_sample(CLI::App& app, Run& run) {
  auto options = std::make_shared<SampleOptions>();
  CLI::App* command = app.add_subcommand("sample", "Show which tokens settings leave of given logits, and how likely");
  command->add_option("--jsonl", options->path, "Lines of JSON from FILE; -: standard input")
      ->type_name("[FILE]")
      ->expected(0, 1)
      ->default_str("-")
      ->required();
  command
      ->add_option("-m,--model", options->model.path,
                   "A model for the texts of tokens and the end of text; without it no token "
                   "has a text or ends one")
      ->type_name("FILE")
      ->check(file_name());
  command->footer(
      "A line: {\"logits\": [...], \"history\": [...], \"params\": {...}}; its answer:\n"
      "{\"kept\": {id: probability}}, the distribution that the chain leaves.\n"
      "  logits or probs  a number for each token; null, \"-inf\", \"nan\" are possible logits\n"
      "  history          the tokens before; \"generated\": how many of them, at the end, were\n"
      "                   generated [0]\n"
      "  mask             true or false for each token: whether it may come\n"
      "  params           as the options of sotto generate, with _ for -; what is not given is\n"
      "                   off (temperature 1, no truncation)\n"
      "  draws            so many tokens are drawn as well: {\"counts\": {id: number}}\n"
      "  id               is repeated in the answer\n"
      "A bad line becomes {\"error\":...,\"line\":N}, and the exit code is 1 at the end.\n"
      "\n"
      "Examples:\n"
      "  echo '{\"probs\":[0.1,0.2,0.3,0.4],\"params\":{\"top_p\":0.8}}' | sotto sample --jsonl\n"
      "  sotto sample --jsonl cases.jsonl > kept.jsonl");
  command->callback([&run, options] { run = [options] { return run_sample(*options); }; });
}

}  // namespace sotto::cli
