#include "tests/bench/models/fresh_process.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

#include "tests/bench/machine/clock.h"
#include "tests/bench/models/child.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr double kMiB = 1 << 20;

// Returns the peak resident memory of this process since exec. Linux's ru_maxrss would include the memory before exec,
// which for this child is that of the benchmark itself; VmHWM starts again at exec.
uint64_t peak_resident_bytes() {
#if defined(__linux__)
  if (FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    unsigned long long kilobytes = 0;
    while (kilobytes == 0 && std::fgets(line, sizeof line, status) != nullptr) {
      std::sscanf(line, "VmHWM: %llu kB", &kilobytes);
    }
    std::fclose(status);
    if (kilobytes > 0) return kilobytes * 1024;
  }
#endif
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

// The ways of the new process to open the model.
struct Opening {
  const char* name;
  bool verifies_checksums;
  bool copies_weights;
};

constexpr Opening kOpenings[] = {{"unchecked", false, false}, {"checked", true, false}, {"copied", true, true}};
constexpr const char* kDefaultOpening = kOpenings[0].name;

const char* flag(bool value) { return value ? "1" : "0"; }

}  // namespace

int fresh_process_main(int argc, char** argv) {
  const uint64_t main_ns = now_ns();
  if (argc != 7) throw std::runtime_error("this command is for the program's own use");
  LoadOptions options;
  options.path = argv[2];
  options.isa = std::stoi(argv[3]);
  options.verify_checksums = std::strcmp(argv[5], flag(true)) == 0;
  options.copy_weights = std::strcmp(argv[6], flag(true)) == 0;
  const LoadedModel model(options);
  const uint64_t ready_ns = now_ns();
  Session session(model, 0, static_cast<uint32_t>(std::stoul(argv[4])));
  const uint64_t session_ns = now_ns();
  const uint32_t prompt = std::min(kFirstTokenPrompt, model.info().max_context_tokens - 1);
  session.set_sampler(greedy_sampler());
  session.prefill(arbitrary_tokens(model.info(), prompt));
  session.next();
  const uint64_t token_ns = now_ns();
  std::cout << nlohmann::json{{"main_ns", main_ns},
                              {"ready_ns", ready_ns},
                              {"session_ns", session_ns},
                              {"token_ns", token_ns},
                              {"peak_bytes", peak_resident_bytes()}};
  return 0;
}

void add_fresh_process(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  const std::string path = model.path();
  const std::string isa = std::to_string(model.info().isa);
  const std::string threads = std::to_string(thread_count);
  const uint32_t prompt = std::min(kFirstTokenPrompt, model.info().max_context_tokens - 1);
  for (const Opening& opening : kOpenings) {
    const std::string suffix = std::string("/") + opening.name;
    plan->probes.push_back(
        {"fresh process", [=](Recorder& recorder) {
           const auto result = run_child(
               {kFreshProcess, path, isa, threads, flag(opening.verifies_checksums), flag(opening.copies_weights)});
           const auto ms = [&](const char* from, const char* to) {
             return (result.at(to).get<double>() - result.at(from).get<double>()) / 1e6;
           };
           recorder.record("process_first_token" + suffix, ms("started_ns", "token_ns"));
           recorder.record("process_start" + suffix, ms("started_ns", "main_ns"));
           recorder.record("model_ready" + suffix, ms("main_ns", "ready_ns"));
           recorder.record("session_ready" + suffix, ms("ready_ns", "session_ns"));
           recorder.record("process_peak_memory" + suffix, result.at("peak_bytes").get<double>() / kMiB);
         }});

    FigureSpec first =
        first_token_figure(model, prompt, thread_count, "process_first_token" + suffix, "process_first_token");
    first.parameters["opening"] = opening.name;
    plan->figures.push_back(first);

    FigureSpec ready{"model_ready" + suffix, "model_ready"};
    ready.parameters = {{"opening", opening.name}};
    ready.unit = "ms";
    ready.higher_is_better = false;
    plan->figures.push_back(ready);
  }
  for (const char* name : {"process_start", "session_ready"}) {
    FigureSpec figure{std::string(name) + "/" + kDefaultOpening, name};
    if (std::strcmp(name, "session_ready") == 0) figure.parameters = {{"threads", thread_count}};
    figure.unit = "ms";
    figure.higher_is_better = false;
    plan->figures.push_back(figure);
  }

  const double kv_bytes = static_cast<double>(Session(model, 0, 1).info().kv_bytes);
  const double min_mebibytes = (static_cast<double>(model.info().weight_bytes) + kv_bytes) / kMiB;
  for (const Opening& opening : kOpenings) {
    FigureSpec memory{std::string("process_peak_memory/") + opening.name, "process_peak_memory"};
    memory.parameters = {{"threads", thread_count}, {"opening", opening.name}};
    memory.unit = "MiB";
    memory.higher_is_better = false;
    memory.limit_name = "weights_and_kv";
    memory.limit = [min_mebibytes](double) { return min_mebibytes; };
    plan->figures.push_back(memory);
  }
}

}  // namespace sotto::bench
