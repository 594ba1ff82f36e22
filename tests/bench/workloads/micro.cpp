#include "tests/bench/workloads/micro.h"

#include <string>

#include "kernels/kernels.h"
#include "tests/bench/workloads/micro_cases.h"

namespace sotto::bench {
namespace {

void record_cases(const nlohmann::json& cases, const std::string& isa, Recorder& recorder) {
  for (const auto& entry : cases) {
    const std::string series = isa + '/' + entry.at("name").get<std::string>();
    recorder.record(series, entry.at("ns").get<double>());
    if (entry.contains("limit_ns")) {
      recorder.record(series + "/limit", entry.at("limit_ns").get<double>());
    }
  }
}

void add_figures(const nlohmann::json& cases, const std::string& isa, Plan* plan) {
  for (const auto& entry : cases) {
    const std::string name = entry.at("name");
    FigureSpec figure{isa + '/' + name, "micro"};
    figure.parameters = {{"isa", isa}, {"kernel", name}};
    figure.unit = "ns/call";
    figure.higher_is_better = false;
    if (entry.contains("limit_ns")) {
      figure.limit_name = entry.at("limit_name");
      figure.limit_series = figure.series + "/limit";
      figure.limit = [](double ns) { return ns; };
    }
    plan->figures.push_back(figure);
  }
}

}  // namespace

void add_micro(const LoadedModel& model, uint32_t thread_count, Plan* plan) {
  const sotto_model_info& info = model.info();
  const MicroShape shape = {.embedding_size = info.embedding_size,
                            .head_count = info.head_count,
                            .feed_forward_size = info.feed_forward_size,
                            .vocabulary_size = info.vocabulary_size,
                            .layer_count = info.layer_count,
                            .position_count = info.max_context_tokens,
                            .thread_count = thread_count,
                            .pages = model.pages()};
  const std::string unknown = "unknown";
  for (int32_t number = 1; unknown != isa_name(static_cast<Isa>(number)); ++number) {
    const Isa isa = static_cast<Isa>(number);
    if (find_kernels(isa) == nullptr) continue;
    const std::string name = isa_name(isa);
    add_figures(run_micro_cases(isa, shape), name, plan);  // lists the cases
    plan->probes.push_back({"kernels, " + name, [isa, shape, name](Recorder& recorder) {
                              record_cases(run_micro_cases(isa, shape), name, recorder);
                            }});
  }
}

}  // namespace sotto::bench
