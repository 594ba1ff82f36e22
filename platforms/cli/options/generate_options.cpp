// The options of `sotto generate`, with the spellings other programs have for them.
#include "platforms/cli/options/generate_options.h"

#include <algorithm>
#include <limits>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/help.h"
#include "platforms/cli/options/option_tools.h"

namespace sotto::cli {
namespace {

void add_text_options(CLI::App& command, GenerateOptions& options) {
  auto* prompt = command.add_option("-p,--prompt", options.prompt,
                                    "The text to continue; -: standard input; an empty one "
                                    "starts a new text");
  auto* file = command.add_option("-f,--file", options.prompt_file,
                                  "The prompt from a file; its last line end is dropped, as "
                                  "with -p -");
  prompt->type_name("TEXT")->excludes(file);
  file->type_name("FILE")->check(file_name());
  command.add_flag("--special", options.parse_special, "<|endoftext|> and the like in the prompt are special tokens");
  add_value(command, "-n,--max-tokens,--max-new-tokens,--num-predict,--n-predict", options.token_limit,
            "Tokens to generate; -1: until a stop", "N")
      ->check(CLI::Range(int64_t{-1}, std::numeric_limits<int64_t>::max()).description(""));
}

void add_output_options(CLI::App& command, GenerateOptions& options) {
  constexpr char kGroup[] = "Output";
  command.add_flag(spellings("--no-echo"), options.hide_prompt, "Print the continuation only")->group(kGroup);
  add_value(command, "--logprobs,--top-logprobs,--n-probs", options.alternative_count,
            "One token a line: id, ln p under the model, ln p as sampled, text, and the N "
            "likeliest tokens; with --json lists",
            "[N]")
      ->expected(0, 1)
      ->default_str("0")
      ->group(kGroup);
  command
      .add_flag(spellings("--echo-scores,--prompt-logprobs"), options.scores_prompt,
                "The prompt's tokens too, each with its ln p after those before it")
      ->group(kGroup);
  command.add_flag("-q,--quiet", options.quiet, "No timings on standard error")->group(kGroup);
  command
      .add_flag("--json", options.json, "One JSON object at the end: text, tokens, stop reason, timings, parameters")
      ->group(kGroup);
}

void settle_state_options(const CLI::App& command, GenerateOptions& options) {
  if (!is_given(command, "--load-state")) return;
  refuse_with(command, "--load-state", {"--guidance-scale", "--negative-prompt", "--amateur", "--forced-last-token"});
  if (!options.has_prompt) {
    refuse_with(command, "--heal", {"--load-state"}, "there is no new prompt");
    refuse_with(command, "--echo-scores", {"--load-state"}, "there is no new prompt");
  }
}

}  // namespace

void add_generate_options(CLI::App& command, GenerateOptions& options) {
  add_model_option(command, options.model);
  add_text_options(command, options);
  add_sampler_options(command, options.sampler);
  add_stop_options(command, options.stops);
  add_grammar_options(command, options.grammar);
  add_search_options(command, options.search);
  add_guide_options(command, options.guide);
  add_draft_options(command, options.drafts);
  add_session_options(command, options.session);
  add_weight_options(command, options.model);
  add_state_options(command, options.state);
  add_output_options(command, options);
  command.footer(other_spellings(command) +
                 "\n\nExamples:\n"
                 "  sotto generate -m demo.sotto -p \"Once upon a time\" -n 200\n"
                 "  sotto generate -m demo.sotto -p \"It was\" --temp 1.1 --top-k 0 --seed random\n"
                 "  sotto generate -m demo.sotto -p \"It was\" --mirostat 2 --dry-multiplier 0.8\n"
                 "  sotto generate -m demo.sotto -p \"She said\" --stop '\"\\n\"' --ban Mr --bad-word the\n"
                 "  sotto generate -m demo.sotto -p \"The end\" --num-beams 4 --n 2 -n 40\n"
                 "  sotto generate -m demo.sotto -p \"The end\" --n 8 --vote ngram --json\n"
                 "  sotto generate -m demo.sotto -p \"Her answer: \" --choices yes,no,perhaps\n"
                 "  sotto generate -m demo.sotto -p \"\" --json-schema person.json --json-space compact\n"
                 "  sotto generate -m demo.sotto -p \"It was \" --regex '[0-9]{1,2}:[0-9]{2}' --n 4\n"
                 "  sotto generate -m demo.sotto -f chapter.txt --draft lookup --draft lookahead\n"
                 "  sotto generate -m demo.sotto -f chapter.txt -n -1 --overflow ring\n"
                 "  echo \"She said\" | sotto generate -m demo.sotto -p - --greedy --json");
}

void settle_generate_options(const CLI::App& command, GenerateOptions& options) {
  options.has_prompt = !first_given(command, {"--prompt", "--file"}).empty();
  if (!options.has_prompt && !is_given(command, "--load-state")) {
    throw CLI::ValidationError("Give a prompt with -p TEXT, -p - or -f FILE");
  }
  options.log_probabilities = is_given(command, "--logprobs") || options.scores_prompt;
  sotto_sampler_params& sampler = options.sampler.settings.params;
  settle_sampler_options(command, options.sampler);
  settle_stop_options(command, options.stops);
  settle_grammar_options(command, options.grammar);
  settle_guide_options(command, options.guide);
  settle_search_options(command, options.token_limit, options.search, sampler, options.session);
  settle_draft_options(command, options.search.is_on, options.grammar.is_on(), options.drafts, options.session);
  settle_state_options(command, options);
  if (reads_standard_input(options.grammar) && options.prompt == "-") {
    throw CLI::ValidationError("--prompt", "standard input cannot be the grammar and the prompt");
  }
  refuse_with(command, "--heal", {"--guidance-scale", "--negative-prompt"});
  if (options.search.is_on && options.alternative_count > 0) {
    throw CLI::ValidationError("--logprobs", "has no alternatives to tell for several sequences");
  }
  sampler.log_probabilities = options.log_probabilities ? 1 : 0;
  sampler.alternative_count = options.alternative_count;
  if (is_given(command, "--forced-last-token")) {
    if (options.token_limit < 1) {
      throw CLI::ValidationError("--forced-last-token", "needs --max-tokens of at least 1");
    }
    options.stops.params.max_tokens = static_cast<uint64_t>(options.token_limit);
  }
  if (sampler.dola != SOTTO_DOLA_OFF) options.session.features |= SOTTO_FEATURE_DOLA;
  if (options.guide.is_on()) options.session.features |= SOTTO_FEATURE_GUIDE;
}

void read_generate_texts(GenerateOptions& options, const Model& model) {
  read_sampler_texts(options.sampler, model);
  read_stop_texts(options.stops, model);
  read_trigger_tokens(options.grammar, model);
  read_search_texts(options.search, model);
  options.session.list_bytes = std::max(options.sampler.settings.list_bytes(), options.stops.list_bytes());
}

}  // namespace sotto::cli
