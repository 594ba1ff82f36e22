#include "tests/bench/options.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include "tests/bench/synthetic_model.h"
#include "tests/bench/workloads.h"

namespace sotto::bench {
namespace {

constexpr int kUsageError = 2;

constexpr char kDescription[] =
    "Measures a model's speed and memory, and compares each figure with the limit of this machine.\n";

constexpr char kFooter[] =
    "\nEvery figure is the median of --runs rounds. A round measures each figure and each limit\n"
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
    "  search         32 tokens for each of 5 sequences, in times of one greedy sequence\n"
    "  sample         one token out of the logits, without evaluating them\n"
    "  mask           with --grammar: the tokens that a grammar allows, first visits included;\n"
    "                 mask_warm: again; mask_search: of five sequences that replace each other\n"
    "  speculation    with --speculation: speed with drafts, in times of that without;\n"
    "                 accepted: drafts that came\n"
    "  tokenize       text made of the vocabulary's own tokens\n"
    "\n"
    "Examples:\n"
    "  sotto-bench -m synthetic-gpt2-124M\n"
    "  sotto-bench -m model.sotto --threads 4 --json > figures.json\n"
    "  sotto-bench -m synthetic-gpt2-124M --micro --runs 3\n"
    "  sotto-bench -m synthetic-gpt2-124M --grammar --runs 3\n"
    "  sotto-bench -m synthetic-gpt2-124M-int4 --against synthetic-gpt2-124M\n"
    "  sotto-bench --peers build/peers\n"
    "\n"
    "Exit status: 0 done; 1 it could not be measured; 2 wrong usage.\n";

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
  throw CLI::ValidationError("--isa", '"' + name + "\" is not one of " + isa_names());
}

void check_model(Options& options) {
  if (options.model.empty()) {
    if (options.peers.empty()) throw CLI::RequiredError("--model");
    options.model = options.peers + "/gpt2.sotto";
  }
  if (!options.is_synthetic()) {
    if (!options.keep.empty()) {
      throw CLI::ValidationError("--keep", "is only for synthetic models");
    }
    return;
  }
  if (synthetic_shape(options.model.substr(kSyntheticPrefix.size()))) return;
  throw CLI::ValidationError("--model", options.model + ": there are " + kSyntheticNames);
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("-m,--model", options.model,
                 std::string("a .sotto file, or synthetic-NAME for random weights; NAME: ") + kSyntheticNames +
                     "; append -int4 for weights of 4 bits")
      ->type_name("MODEL");
  app.add_flag("--json", options.json, "print everything, with every sample, as JSON");
  app.add_option("--threads", options.thread_count, "threads; above 1 also decode and prefill with fewer")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--runs", options.runs, "rounds that are counted")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--prompt-lengths", options.prompt_lengths, "prefill: tokens (default: 32,128,512)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N,...");
  app.add_option("--contexts", options.contexts, "decode: tokens before (default: 0,512,1000)")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("N,...");
  app.add_option_function<std::string>(
         "--pages",
         [&options](const std::string& pages) { options.pages = pages == "huge" ? Pages::kHuge : Pages::kSmall; },
         "memory pages under weights, sessions and limits: huge (default) or small")
      ->check(CLI::IsMember({"huge", "small"}))
      ->type_name("KIND");
  app.add_option_function<std::string>(
         "--isa", [&options](const std::string& name) { options.isa = parse_isa(name); },
         "instruction set: " + isa_names())
      ->type_name("NAME");
  app.add_flag("--micro", options.micro, "measure the kernels by themselves instead, for every instruction set");
  app.add_option_function<std::vector<std::string>>(
         "--grammar",
         [&options](const std::vector<std::string>& directory) {
           options.grammar = true;
           if (!directory.empty()) options.grammar_directory = directory.front();
         },
         "measure the grammar engine instead, also on a directory of .gbnf files and JSON\n"
         "files with \"schema\" and \"tests\"")
      ->expected(0, 1)
      ->excludes("--micro")
      ->type_name("[DIR]");
  app.add_option_function<std::vector<std::string>>(
         "--speculation",
         [&options](const std::vector<std::string>& draft) {
           options.speculation = true;
           if (!draft.empty()) options.draft_model = draft.front();
         },
         "measure speculative decoding instead, also with a smaller model that drafts")
      ->expected(0, 1)
      ->excludes("--micro")
      ->excludes("--grammar")
      ->type_name("[MODEL]");
  app.add_option("--peers", options.peers,
                 "also measure llama.cpp and CTranslate2, as tests/bench/peers/setup.sh has set\n"
                 "them up there; --model is then the model of the same weights")
      ->excludes("--micro")
      ->excludes("--grammar")
      ->excludes("--speculation")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  app.add_option("--against", options.against, "measure instead the speed relative to this model, interleaved")
      ->excludes("--micro")
      ->excludes("--grammar")
      ->excludes("--speculation")
      ->type_name("MODEL");
  app.add_option("--keep", options.keep, "write the synthetic model here and leave it")->type_name("FILE");
}

}  // namespace

bool Options::is_synthetic() const { return model.starts_with(kSyntheticPrefix); }

std::optional<Options> parse_options(int argc, char** argv, int* exit_code) {
  Options options;
  CLI::App app(kDescription, "sotto-bench");
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  add_options(app, options);
  try {
    app.parse(argc, argv);
    check_model(options);
    return options;
  } catch (const CLI::Success& success) {
    *exit_code = app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "sotto-bench: " << error.what() << "\nTry 'sotto-bench --help'.\n";
    *exit_code = kUsageError;
  }
  return std::nullopt;
}

void settle_lengths(const sotto_model_info& info, Options* options) {
  const uint32_t most = info.max_context_tokens;
  const auto resolve = [&](std::vector<uint32_t>& lengths, std::vector<uint32_t> defaults, uint32_t room,
                           const char* flag) {
    const bool given = !lengths.empty();
    if (!given) lengths = std::move(defaults);
    std::vector<uint32_t> fitting;
    for (const uint32_t length : lengths) {
      if (uint64_t{length} + room <= most) {
        fitting.push_back(length);
      } else if (given) {
        throw std::runtime_error(std::string(flag) + ": " + std::to_string(length) + " and " + std::to_string(room) +
                                 " more tokens do not fit the model's " + std::to_string(most) + " positions");
      }
    }
    lengths = fitting;
  };
  resolve(options->prompt_lengths, {32, 128, 512}, 0, "--prompt-lengths");
  resolve(options->contexts, {0, 512, 1000}, kDecodeTokens + 1, "--contexts");
}

}  // namespace sotto::bench
