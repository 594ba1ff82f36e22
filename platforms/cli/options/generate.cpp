#include "platforms/cli/options/generate.h"

#include <algorithm>
#include <limits>
#include <string>

#include "platforms/cli/options/cli11.h"

namespace sotto::cli {
namespace {

void add_text_options(CLI::App& command, GenerateOptions& options) {
  auto* prompt = command.add_option("-p,--prompt", options.prompt,
                                    "The text to continue; -: standard input; an empty one starts a new text");
  auto* file = command.add_option("-f,--file", options.prompt_file,
                                  "Read the prompt from a file, without its last line end, as with -p -");
  prompt->type_name("TEXT")->excludes(file);
  file->type_name("FILE")->check(file_name());
  command.add_flag(with_underscores("--parse-special"), options.parse_special, kSpecialHelp);
  add_value(command, "-n,--max-tokens,--max-new-tokens,--num-predict,--n-predict", options.token_limit,
            "Number of tokens to generate; -1: until a stop", "N")
      ->check(CLI::Range(int64_t{-1}, std::numeric_limits<int64_t>::max()).description(""));
}

void add_output_options(CLI::App& command, GenerateOptions& options) {
  constexpr char kGroup[] = "Output";
  command.add_flag(with_underscores("--no-echo"), options.hide_prompt, "Print the continuation only")->group(kGroup);
  add_value(command, "--logprobs,--top-logprobs,--n-probs", options.alternative_count,
            "One line per token: id, ln p under the model, ln p as sampled, text, and the N most likely tokens; with "
            "--json lists",
            "[N]")
      ->expected(0, 1)
      ->default_str("0")
      ->group(kGroup);
  command
      .add_flag(with_underscores("--echo-scores,--prompt-logprobs"), options.scores_prompt,
                "Also the tokens of the prompt, each with its ln p after those before it")
      ->group(kGroup);
  command.add_flag("-q,--quiet", options.quiet, "No timings on standard error")->group(kGroup);
  command
      .add_flag("--json", options.json, "One JSON object at the end: text, tokens, stop reason, timings, parameters")
      ->group(kGroup);
}

void add_state_options(CLI::App& command, GenerateOptions& options) {
  add_value(command, "--load-state", options.load_state,
            "Continue where --save-state ended; needs the same model, --ctx and --overflow, and for the same text the "
            "same options; a grammar starts again, and a prompt is appended",
            "FILE")
      ->check(file_name())
      ->group(kSessionGroup);
  add_value(command, "--save-state", options.save_state, "Write the state of the session at the end", "FILE")
      ->check(file_name())
      ->group(kSessionGroup);
}

void validate_state_options(const CLI::App& command, const GenerateOptions& options) {
  if (!is_given(command, "--load-state")) return;
  reject_with(command, "--load-state",
              {"--guidance-scale", "--negative-prompt", "--contrastive-model", "--forced-last-token"});
  if (!options.has_prompt) {
    reject_with(command, "--token-healing", {"--load-state"}, "there is no new prompt");
    reject_with(command, "--echo-scores", {"--load-state"}, "there is no new prompt");
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
  add_state_options(command, options);
  add_output_options(command, options);
  command.footer(other_spellings(command) +
                 "\n\nExamples:\n"
                 "  sotto generate -m demo.sotto -p \"Once upon a time\" -n 200\n"
                 "  sotto generate -m demo.sotto -p \"It was\" --temp 1.1 --top-k 0 --seed random\n"
                 "  sotto generate -m demo.sotto -p \"It was\" --mirostat 2 --dry-multiplier 0.8\n"
                 "  sotto generate -m demo.sotto -p \"She said\" --stop '\"\\n\"' --banned-string Mr --bad-word the\n"
                 "  sotto generate -m demo.sotto -p \"The end\" --num-beams 4 --n 2 -n 40\n"
                 "  sotto generate -m demo.sotto -p \"The end\" --n 8 --vote ngram --json\n"
                 "  sotto generate -m demo.sotto -p \"Her answer: \" --choices yes,no,perhaps\n"
                 "  sotto generate -m demo.sotto -p \"\" --json-schema person.json --json-space compact\n"
                 "  sotto generate -m demo.sotto -p \"It was \" --regex '[0-9]{1,2}:[0-9]{2}' --n 4\n"
                 "  sotto generate -m demo.sotto -f chapter.txt --draft lookup --draft lookahead\n"
                 "  sotto generate -m demo.sotto -f chapter.txt -n -1 --overflow ring\n"
                 "  echo \"She said\" | sotto generate -m demo.sotto -p - --greedy --json");
}

void validate_generate_options(const CLI::App& command, GenerateOptions& options) {
  options.has_prompt = !first_given(command, {"--prompt", "--file"}).empty();
  if (!options.has_prompt && !is_given(command, "--load-state")) {
    throw CLI::ValidationError("Give a prompt with -p TEXT, -p - or -f FILE");
  }
  options.log_probabilities = is_given(command, "--logprobs") || options.scores_prompt;
  SamplerParams& sampler = options.sampler.params;
  validate_sampler_options(command, options.sampler);
  validate_stop_options(command, options.stops);
  validate_grammar_options(command, options.grammar);
  validate_guide_options(command, options.guide);
  validate_search_options(command, options);
  validate_draft_options(command, options);
  validate_state_options(command, options);
  if (reads_standard_input(options.grammar) && options.prompt == "-") {
    reject("--prompt", "standard input cannot be both the grammar and the prompt");
  }
  reject_with(command, "--token-healing", {"--guidance-scale", "--negative-prompt"});
  if (options.search.is_on && options.alternative_count > 0) {
    reject("--logprobs", "has no alternatives for several sequences; it must be 0");
  }
  sampler.log_probabilities = options.log_probabilities ? 1 : 0;
  sampler.alternative_count = options.alternative_count;
  if (is_given(command, "--forced-last-token")) {
    if (options.token_limit < 1) reject("--forced-last-token", "needs --max-tokens of at least 1");
    options.stops.params.max_tokens = static_cast<uint64_t>(options.token_limit);
  }
  if (sampler.dola != SOTTO_DOLA_OFF) options.session.features |= SOTTO_FEATURE_DOLA;
  if (options.guide.is_on()) options.session.features |= SOTTO_FEATURE_GUIDE;
}

void read_generate_texts(GenerateOptions& options, const LoadedModel& model) {
  read_sampler_texts(options.sampler, model);
  read_stop_texts(options.stops, model);
  read_trigger_tokens(options.grammar, model);
  read_search_texts(options.search, model);
  options.session.list_bytes = std::max(list_bytes(options.sampler.params), list_bytes(options.stops.params));
}

}  // namespace sotto::cli
