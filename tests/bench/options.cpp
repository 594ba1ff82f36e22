#include "tests/bench/options.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "platforms/command_line/help.h"
#include "platforms/command_line/parser.h"
#include "tests/bench/models/synthetic_model.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr char kDescription[] =
    "Measures a model's speed and memory, and compares each figure with the limit of this machine.";

constexpr char kFooter[] =
    "Every figure is the median of --runs rounds. A round measures each figure and each limit\n"
    "once, one after the other, so that a change of the machine's speed hits all alike; a first\n"
    "round warms up and is not counted. \"of limit\" is the median over rounds of how much of its\n"
    "limit a figure reached in the same round: 100% cannot be improved on.\n"
    "\n"
    "  decode         generating one token after the other; limit: reading the weights, and keys\n"
    "                 and values of the context, from memory on pages of the same kind\n"
    "  prefill        evaluating a prompt; limit: the multiply-adds of the linear layers at the\n"
    "                 peak rate of int8 dot products of the instruction set\n"
    "  first_token    a prompt of 64 tokens and one token, in this process\n"
    "  process_...    the same in a new process, from before it is started, that maps the file\n"
    "                 (unchecked), verifies it (checked), and copies the weights (copied);\n"
    "                 its peak resident memory, compared with int8 weights and KV ring\n"
    "  batch          1, 2, 4, 8 sessions in one batch, in times of one after the other\n"
    "  search         32 tokens for each of 5 sequences, in times of one greedy sequence\n"
    "  sample         one token out of the logits, without evaluating them\n"
    "  mask           with --grammar: the tokens that a grammar allows, first visits included;\n"
    "                 mask_warm: again; mask_search: of five sequences that replace each other\n"
    "  speculation    with --speculation: speed with drafts, in times of that without;\n"
    "                 accepted: drafts that came\n"
    "  with_cache     with --no-cache: one token, from the KV ring; without_cache: the same with an\n"
    "                 evaluation of the whole text\n"
    "  tokenize       text made of the vocabulary's own tokens\n"
    "\n"
    "Examples:\n"
    "  sotto-bench -m synthetic-gpt2-124M\n"
    "  sotto-bench -m model.sotto --threads 4 --json > figures.json\n"
    "  sotto-bench -m synthetic-gpt2-124M --micro --runs 3\n"
    "  sotto-bench -m synthetic-gpt2-124M --grammar --runs 3\n"
    "  sotto-bench -m synthetic-gpt2-124M-int4 --against synthetic-gpt2-124M\n"
    "  sotto-bench -m synthetic-gpt2-124M --no-cache --runs 3\n"
    "  sotto-bench -m synthetic-gpt2-124M --threads 4 --report\n"
    "  sotto-bench --peers build/peers\n"
    "\n"
    "Exit status: 0 done; 1 it could not be measured; 2 wrong usage.";

std::string isa_names() {
  std::string names;
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    names += (names.empty() ? "" : ", ") + std::string(sotto_isa_text(isa));
  }
  return names;
}

sotto_isa parse_isa(const std::string& name) {
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    if (name == sotto_isa_text(isa)) return isa;
  }
  cli::reject("--isa", '"' + name + "\" is not one of " + isa_names());
}

void check_model(Options& options) {
  if (options.model.empty()) {
    if (options.peers.empty()) throw cli::UsageError("--model is required");
    options.model = options.peers + "/gpt2.sotto";
  }
  if (!options.is_synthetic()) {
    if (!options.keep.empty()) cli::reject("--keep", "is only for synthetic models");
    return;
  }
  if (synthetic_shape(options.model.substr(kSyntheticPrefix.size()))) return;
  cli::reject("--model", options.model + ": there are " + kSyntheticNames);
}

void check_range(const char* option, uint32_t value, uint32_t min, uint32_t max) {
  if (value >= min && value <= max) return;
  cli::reject(option,
              "is " + std::to_string(value) + "; it must be " + std::to_string(min) + " to " + std::to_string(max));
}

void validate(Options& options) {
  constexpr uint32_t kMaxTokens = 1 << 20;
  check_range("--threads", options.thread_count, 1, 64);
  check_range("--runs", options.runs, 1, 1000);
  for (const uint32_t length : options.prompt_lengths) check_range("--prompt-lengths", length, 1, kMaxTokens);
  for (const uint32_t context : options.contexts) check_range("--contexts", context, 0, kMaxTokens);
  if (!options.peers.empty() && !std::filesystem::is_directory(options.peers)) {
    cli::reject("--peers", options.peers + " is not a directory");
  }
  check_model(options);
}

void add_options(cli::Command& command, Options& options) {
  command
      .add_option("-m,--model", options.model,
                  std::string("A .sotto file, or synthetic-NAME for random weights; NAME: ") + kSyntheticNames +
                      "; append -int4 for weights of 4 bits")
      .metavar("MODEL")
      .completes({}, ".sotto");
  command.add_flag("--json", options.json, "Print everything, with every sample, as JSON");
  cli::add_value(command, "--threads", options.thread_count, "Threads; above 1 also decode and prefill with fewer",
                 "N");
  cli::add_value(command, "--runs", options.runs, "Rounds that are counted", "N");
  const auto add_list = [&](const char* name, std::vector<uint32_t>& values, const char* help) {
    const auto set = [name, &values](const std::string& list) {
      for (const std::string& number : cli::split_names(list)) {
        values.push_back(cli::parse_number<uint32_t>(name, number));
      }
    };
    command.add_option(name, set, help).metavar("N,...");
  };
  add_list("--prompt-lengths", options.prompt_lengths, "Prefill: tokens (default: 32,128,512)");
  add_list("--contexts", options.contexts, "Decode: tokens before (default: 0,512,1000; more with --no-cache)");
  command
      .add_option(
          "--pages",
          [&options](const std::string& pages) { options.pages = pages == "huge" ? Pages::kHuge : Pages::kSmall; },
          "Memory pages under weights, sessions and limits: huge (default) or small")
      .choices({"huge", "small"})
      .metavar("KIND");
  command
      .add_option(
          "--isa", [&options](const std::string& name) { options.isa = parse_isa(name); },
          "Instruction set: " + isa_names())
      .metavar("NAME");
  constexpr char kOtherModes[] = "--micro,--grammar,--speculation,--no-cache";
  command.add_flag("--micro", options.micro, "Measure the kernels by themselves instead, for every instruction set");
  const auto add_mode = [&](const char* name, bool& is_on, std::string& value, const char* help) -> cli::Option& {
    const auto set = [&is_on, &value](const std::string& text) {
      is_on = true;
      value = text;
    };
    return command.add_option(name, set, help, cli::Values::kOptional);
  };
  add_mode("--grammar", options.grammar, options.grammar_directory,
           "Measure the grammar engine instead, also on a directory of .gbnf files and JSON files with \"schema\" and "
           "\"tests\"")
      .metavar("[DIR]")
      .excludes("--micro");
  add_mode("--speculation", options.speculation, options.draft_model,
           "Measure speculative decoding instead, also with a smaller model that drafts")
      .metavar("[MODEL]")
      .excludes("--micro,--grammar");
  command
      .add_flag("--no-cache", options.no_cache,
                "Measure instead the time per token with and without the KV ring, after --contexts tokens")
      .excludes("--micro,--grammar,--speculation");
  command
      .add_option(
          "--peers", options.peers,
          "Also measure other runtimes, as tests/bench/peers/setup.sh has set them up there; --model is then the model "
          "of the same weights")
      .metavar("DIR")
      .excludes(kOtherModes);
  command.add_option("--against", options.against, "Measure instead the speed relative to this model, interleaved")
      .metavar("MODEL")
      .excludes(kOtherModes);
  command
      .add_flag("--report", options.report,
                "Measure only decode, prefill and their limits, as a block to paste into a report about a machine")
      .excludes("--micro,--grammar,--speculation,--no-cache,--peers,--against");
  command.add_option("--keep", options.keep, "Write the synthetic model here and leave it").metavar("FILE");
}

}  // namespace

bool Options::is_synthetic() const { return model.starts_with(kSyntheticPrefix); }

std::optional<Options> parse_options(int argc, char** argv, int* exit_code) {
  Options options;
  cli::Command command("sotto-bench", kDescription);
  command.set_footer(kFooter);
  add_options(command, options);
  cli::add_documentation(command);
  command.on_parsed([&] { validate(options); });
  const std::optional<int> code = cli::parse_command_line(command, argc, argv);
  if (!code) return options;
  *exit_code = *code;
  return std::nullopt;
}

void set_default_lengths(const sotto_model_info& info, Options* options) {
  const uint32_t max_tokens = info.max_context_tokens;
  const auto resolve = [&](std::vector<uint32_t>& lengths, std::vector<uint32_t> defaults, uint32_t extra,
                           const char* flag) {
    const bool given = !lengths.empty();
    if (!given) lengths = std::move(defaults);
    std::vector<uint32_t> fitting;
    for (const uint32_t length : lengths) {
      if (uint64_t{length} + extra <= max_tokens) {
        fitting.push_back(length);
      } else if (given) {
        throw std::runtime_error(std::string(flag) + ": " + std::to_string(length) + " and " + std::to_string(extra) +
                                 " more tokens do not fit the model's " + std::to_string(max_tokens) + " positions");
      }
    }
    lengths = fitting;
  };
  resolve(options->prompt_lengths, {32, 128, 512}, 0, "--prompt-lengths");
  const std::vector<uint32_t> contexts = {0, 512, 1000}, many_contexts = {16, 32, 64, 128, 256, 512, 1000};
  resolve(options->contexts, options->no_cache ? many_contexts : contexts, kDecodeTokens + 1, "--contexts");
}

}  // namespace sotto::bench
