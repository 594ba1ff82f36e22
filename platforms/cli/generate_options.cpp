// The options of `sotto generate`, with the spellings other programs have for them.
#include "platforms/cli/generate_options.h"

#include <charconv>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include "platforms/cli/commands.h"
#include "platforms/cli/help.h"

namespace sotto::cli {
namespace {

uint64_t parse_seed(const std::string& text) {
  if (text == "random" || text == "-1") {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, seed);
  if (result.ec != std::errc() || result.ptr != end) {
    throw CLI::ValidationError("--seed", '"' + text + "\" is neither a 64-bit number nor \"random\"");
  }
  return seed;
}

sotto_overflow parse_overflow(const std::string& name) {
  for (const sotto_overflow overflow :
       {SOTTO_OVERFLOW_STOP, SOTTO_OVERFLOW_RING, SOTTO_OVERFLOW_SHIFT}) {
    if (name == overflow_name(overflow)) return overflow;
  }
  throw CLI::ValidationError("--overflow", '"' + name + "\" is not one of stop, ring, shift");
}

// -1: everything, 0 ... UINT32_MAX - 1: so many.
uint32_t parse_window(int64_t count) {
  if (count < -1 || count >= std::numeric_limits<uint32_t>::max()) {
    throw CLI::ValidationError("--repeat-last-n", "must be -1, 0 or a number of tokens");
  }
  return count == -1 ? std::numeric_limits<uint32_t>::max() : static_cast<uint32_t>(count);
}

template <typename T>
CLI::Option* add_number(CLI::App& command, const char* names, T& value, const char* description,
                        const char* type) {
  return command.add_option(names, value, description)->type_name(type)->capture_default_str();
}

// For values that need translating; `standard` is what help shows as the default.
template <typename T, typename Set>
void add_translated(CLI::App& command, const char* names, Set set, const char* description,
                    const char* type, const std::string& standard) {
  command.add_option_function<T>(names, set, description)->type_name(type)->default_str(standard);
}

void add_text_options(CLI::App& command, GenerateOptions& options) {
  auto* prompt = command.add_option("-p,--prompt", options.prompt,
                                    "The text to continue; -: standard input; an empty one "
                                    "starts a new text");
  auto* file = command.add_option("-f,--file", options.prompt_file,
                                  "The prompt from a file; its last line end is dropped, as "
                                  "with -p -");
  prompt->type_name("TEXT")->excludes(file);
  file->type_name("FILE");
  command.add_flag("--special", options.parse_special,
                   "<|endoftext|> and the like in the prompt are special tokens");
  add_number(command,
             "-n,--max-tokens,--max_tokens,--max-new-tokens,--max_new_tokens,--num-predict,"
             "--num_predict",
             options.token_limit, "Tokens to generate; -1: until a stop", "N")
      ->check(CLI::Range(int64_t{-1}, std::numeric_limits<int64_t>::max()).description(""));
}

void add_sampler_options(CLI::App& command, sotto_sampler_params& sampler) {
  add_number(command, "--temp,--temperature", sampler.temperature,
             "Temperature; 0 takes the most likely token", "T");
  command.add_flag_callback(
      "--greedy", [&sampler] { sampler.temperature = 0.0f; }, "The same as --temp 0");
  add_number(command, "--top-k,--top_k", sampler.top_k,
             "Keep the K most likely tokens; 0: off", "K");
  add_number(command, "--top-p,--top_p", sampler.top_p,
             "Keep the fewest tokens that have probability P together; 1: off", "P");
  add_number(command, "--min-p,--min_p", sampler.min_p,
             "Keep tokens at least P times as likely as the likeliest; 0: off", "P");
  add_number(command,
             "--repeat-penalty,--repeat_penalty,--repetition-penalty,--repetition_penalty",
             sampler.repetition_penalty, "Make tokens seen before less likely; 1: off", "R");
  add_translated<int64_t>(
      command, "--repeat-last-n,--repeat_last_n",
      [&sampler](int64_t count) { sampler.repetition_window = parse_window(count); },
      "Tokens the penalty looks back on; -1: all in the context", "N",
      std::to_string(sampler.repetition_window));
  add_translated<std::string>(
      command, "-s,--seed",
      [&sampler](const std::string& text) { sampler.seed = parse_seed(text); },
      "Same seed, same text; \"random\": another each time", "N", std::to_string(sampler.seed));
}

void add_session_options(CLI::App& command, sotto_session_params& session) {
  add_translated<uint32_t>(
      command, "-t,--threads",
      [&session](uint32_t count) {
        const unsigned cpus = std::thread::hardware_concurrency();
        session.thread_count = count != 0 ? count : cpus != 0 ? cpus : 1;
      },
      "Threads; 0: one for each CPU; the text stays the same", "N",
      std::to_string(session.thread_count));
  add_number(command, "-c,--ctx,--num-ctx,--num_ctx", session.context_tokens,
             "Tokens the context holds", "N")
      ->default_str("the model's maximum");
  add_number(command, "-b,--batch", session.batch_tokens, "Prompt tokens evaluated at once", "N");
  add_translated<std::string>(
      command, "--overflow",
      [&session](const std::string& name) { session.overflow = parse_overflow(name); },
      "When the context is full: stop, ring (overwrite the oldest tokens) or shift (forget the "
      "older half)",
      "NAME", overflow_name(session.overflow));
  add_number(command, "--sinks,--num-keep,--num_keep", session.sink_tokens,
             "First tokens that ring and shift never forget", "N")
      ->default_str("4");
}

void add_output_options(CLI::App& command, GenerateOptions& options) {
  command.add_flag("--no-echo", options.hide_prompt, "Print the continuation only");
  command.add_flag("--logprobs", options.log_probabilities,
                   "One token a line: id, ln p under the model, text; with --json a list");
  command.add_flag("-q,--quiet", options.quiet, "No timings on standard error");
  command.add_flag("--json", options.json,
                   "One JSON object at the end: text, tokens, stop reason, timings, parameters");
}

}  // namespace

const char* overflow_name(sotto_overflow overflow) {
  switch (overflow) {
    case SOTTO_OVERFLOW_RING: return "ring";
    case SOTTO_OVERFLOW_SHIFT: return "shift";
    default: return "stop";
  }
}

void add_generate_options(CLI::App& command, GenerateOptions& options) {
  add_model_option(command, options.model);
  add_text_options(command, options);
  add_sampler_options(command, options.sampler);
  add_session_options(command, options.session);
  add_isa_option(command, options.model);
  add_output_options(command, options);
  command.footer(
      other_spellings(command) +
      "\n\nExamples:\n"
      "  sotto generate -m demo.sotto -p \"Once upon a time\" -n 200\n"
      "  sotto generate -m demo.sotto -p \"It was\" --temp 1.1 --top-k 0 --seed random\n"
      "  sotto generate -m demo.sotto -f chapter.txt -n -1 --overflow ring\n"
      "  echo \"She said\" | sotto generate -m demo.sotto -p - --greedy --json");
}

}  // namespace sotto::cli
