// The program sotto-bench.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "platforms/command_line/help.h"
#include "tests/bench/figures/plan.h"
#include "tests/bench/figures/report.h"
#include "tests/bench/machine/machine.h"
#include "tests/bench/models/fresh_process.h"
#include "tests/bench/models/loaded_model.h"
#include "tests/bench/models/synthetic_model.h"
#include "tests/bench/options.h"
#include "tests/bench/workloads/micro.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

// A line of progress on standard error if that is a terminal. The destructor removes it.
class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) const {
    if (shown_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }
  void clear() const {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool shown_;
};

std::string make_model(const Options& options, const std::string& model, const std::filesystem::path& path,
                       const ProgressLine& line) {
  const std::string name = model.substr(kSyntheticPrefix.size());
  std::string isa = options.isa == SOTTO_ISA_AUTO ? "native" : sotto_isa_text(options.isa);
  if (options.isa == SOTTO_ISA_REFERENCE) isa = "none";
  write_synthetic_model(name, *synthetic_shape(name), isa, path, [&](double part) {
    const int percent = static_cast<int>(part * 100);
    line.show("making " + model + ": " + std::to_string(percent) + '%');
  });
  return path.string();
}

// Loads a model by path or, for a synthetic one, by name. A synthetic model is created at `keep` or, if that is empty,
// in `folder`.
std::unique_ptr<LoadedModel> load_model(const Options& options, const std::string& model, const std::string& keep,
                                        std::optional<TemporaryFolder>* folder, const ProgressLine& line) {
  LoadOptions load;
  load.path = model;
  if (model.starts_with(kSyntheticPrefix)) {
    if (!folder->has_value()) folder->emplace();
    const auto made = (*folder)->path() / (model + ".sotto");
    load.path = make_model(options, model, keep.empty() ? made.string() : keep, line);
  }
  load.isa = options.isa;
  load.pages = options.pages;
  load.copy_weights = options.pages == Pages::kHuge;
  line.show("loading");
  return std::make_unique<LoadedModel>(load);
}

// Returns 1, 2, 4, ... below `thread_count`.
std::vector<uint32_t> fewer_threads(uint32_t thread_count) {
  std::vector<uint32_t> counts;
  for (uint32_t count = 1; count < thread_count; count *= 2) counts.push_back(count);
  return counts;
}

// Returns the plan of the run. `other_model` is the model of --speculation or --against, and may be null.
Plan make_plan(const LoadedModel& model, const LoadedModel* other_model, const Options& options) {
  Plan plan;
  const uint32_t threads = options.thread_count;
  if (options.micro) {
    add_micro(model, threads, &plan);
    return plan;
  }
  if (options.grammar) {
    add_grammars(model, options.grammar_directory, &plan);
    return plan;
  }
  if (options.speculation) {
    add_speculation(model, other_model, threads, &plan);
    return plan;
  }
  if (options.no_cache) {
    for (const uint32_t context : options.contexts) add_no_cache(model, context, threads, &plan);
    return plan;
  }
  if (!options.against.empty()) {
    add_against(model, *other_model, {options.contexts, options.prompt_lengths, threads}, &plan);
    return plan;
  }
  add_limits(model, threads, &plan);
  for (const uint32_t context : options.contexts) add_decode(model, context, threads, &plan);
  for (const uint32_t length : options.prompt_lengths) add_prefill(model, length, threads, &plan);
  for (const uint32_t fewer : fewer_threads(threads)) {
    add_limits(model, fewer, &plan);
    for (const uint32_t context : options.contexts) add_decode(model, context, fewer, &plan);
    for (const uint32_t length : options.prompt_lengths) add_prefill(model, length, fewer, &plan);
  }
  if (options.report) return plan;
  if (threads > 1) add_contended_decode(model, threads, &plan);
  add_first_token(model, threads, &plan);
  add_fresh_process(model, threads, &plan);
  if (!options.peers.empty()) {
    add_peers(options.peers, {options.contexts, options.prompt_lengths, threads}, &plan);
    return plan;
  }
  add_batches(model, threads, &plan);
  add_searches(model, threads, &plan);
  add_samplers(model, &plan);
  add_sampler_modes(model, &plan);
  add_tokenizer(model, &plan);
  return plan;
}

void add_library_size(std::vector<Figure>* figures) {
  const auto size = library_size();
  if (!size) return;
  Figure figure;
  figure.name = "library_size";
  figure.parameters = nlohmann::ordered_json::object();
  figure.unit = "MiB";
  figure.higher_is_better = false;
  figure.samples = {static_cast<double>(*size) / (1 << 20)};
  figures->push_back(figure);
}

nlohmann::ordered_json describe_model(const LoadedModel& model, const Options& options) {
  const sotto_model_info& info = model.info();
  return {{"name", options.model},
          {"parameter_count", info.parameter_count},
          {"weight_bytes", info.weight_bytes},
          {"layer_weight_bits", info.layer_weight_bits},
          {"head_weight_bits", info.head_weight_bits},
          {"kv_bytes", Session(model, 0, 1).info().kv_bytes},
          {"vocabulary_size", info.vocabulary_size},
          {"max_context_tokens", info.max_context_tokens},
          {"layer_count", info.layer_count},
          {"head_count", info.head_count},
          {"embedding_size", info.embedding_size},
          {"feed_forward_size", info.feed_forward_size},
          {"packed_in_place", info.packed_in_place != 0},
          {"has_tokenizer", info.has_tokenizer != 0}};
}

nlohmann::ordered_json describe_settings(const LoadedModel& model, const Options& options) {
  return {{"version", cli::version_text()},
          {"isa", sotto_isa_text(model.info().isa)},
          {"threads", options.thread_count},
          {"runs", options.runs},
          {"prompt_lengths", options.prompt_lengths},
          {"contexts", options.contexts},
          {"micro", options.micro},
          {"grammar", options.grammar},
          {"speculation", options.speculation},
          {"no_cache", options.no_cache},
          {"report", options.report},
          {"peers", !options.peers.empty()},
          {"against", options.against}};
}

int measure(Options options) {
  const ProgressLine line;
  std::optional<TemporaryFolder> folder;
  const auto loaded = load_model(options, options.model, options.keep, &folder, line);
  const LoadedModel& model = *loaded;
  std::unique_ptr<LoadedModel> other_model;
  const std::string& other = options.speculation ? options.draft_model : options.against;
  if (!other.empty()) other_model = load_model(options, other, "", &folder, line);
  set_default_lengths(model.info(), &options);

  Report report;
  report.machine = describe_machine(options.pages);
  report.model = describe_model(model, options);
  report.settings = describe_settings(model, options);
  line.show("preparing");
  const Plan plan = make_plan(model, other_model.get(), options);
  const Samples samples = run(plan, options.runs, [&](size_t round, size_t rounds, const std::string& probe) {
    const std::string when =
        round == 0 ? "warming up" : "round " + std::to_string(round) + " of " + std::to_string(rounds);
    line.show(when + ": " + probe);
  });
  line.clear();
  for (const auto& [series, values] : samples) {
    if (series.starts_with("memory_read/") || series.starts_with("int8_dot/") || series.starts_with("int8_tiles/")) {
      report.limits[series] = values;
    }
  }
  report.figures = make_figures(plan, samples);
  if (!options.micro && !options.grammar && !options.speculation && !options.no_cache && !options.report &&
      options.against.empty()) {
    add_library_size(&report.figures);
  }
  if (options.json) {
    std::cout << report_json(report).dump(2) << '\n';
  } else {
    std::cout << report_table(report);
  }
  if (!std::cout.flush()) throw std::runtime_error("standard output: cannot write");
  return 0;
}

int run_program(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], kFreshProcess) == 0) return fresh_process_main(argc, argv);
  int exit_code = 0;
  const auto options = parse_options(argc, argv, &exit_code);
  return options ? measure(*options) : exit_code;
}

}  // namespace
}  // namespace sotto::bench

int main(int argc, char** argv) {
  try {
    return sotto::bench::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sotto-bench: " << error.what() << '\n';
    return 1;
  }
}
