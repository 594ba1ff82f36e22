#include "tests/bench/workloads/micro.h"

#include <iostream>
#include <stdexcept>
#include <string>

#include "kernels/kernels.h"
#include "tests/bench/models/child.h"
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
  const std::string unknown = "unknown";
  for (int32_t number = 1; unknown != isa_name(static_cast<Isa>(number)); ++number) {
    const Isa isa = static_cast<Isa>(number);
    if (find_kernels(isa) == nullptr) continue;
    const std::vector<std::string> arguments = {kMicro,
                                                std::to_string(static_cast<int32_t>(isa)),
                                                std::to_string(info.embedding_size),
                                                std::to_string(info.head_count),
                                                std::to_string(info.feed_forward_size),
                                                std::to_string(info.vocabulary_size),
                                                std::to_string(info.layer_count),
                                                std::to_string(info.max_context_tokens),
                                                std::to_string(thread_count),
                                                model.pages() == Pages::kHuge ? "huge" : "small"};
    const std::string name = isa_name(isa);
    add_figures(run_child(arguments).at("cases"), name, plan);  // lists the cases
    plan->probes.push_back({"kernels, " + name, [arguments, name](Recorder& recorder) {
                              record_cases(run_child(arguments).at("cases"), name, recorder);
                            }});
  }
}

int micro_main(int argc, char** argv) {
  if (argc != 11) throw std::runtime_error("this command is for the program's own use");
  const auto number = [&](int index) { return static_cast<uint32_t>(std::stoul(argv[index])); };
  MicroShape shape;
  shape.embedding_size = number(3);
  shape.head_count = number(4);
  shape.feed_forward_size = number(5);
  shape.vocabulary_size = number(6);
  shape.layer_count = number(7);
  shape.position_count = number(8);
  shape.thread_count = number(9);
  shape.pages = std::string(argv[10]) == "huge" ? Pages::kHuge : Pages::kSmall;
  const Isa isa = static_cast<Isa>(std::stoi(argv[2]));
  std::cout << nlohmann::json{{"cases", run_micro_cases(isa, shape)}};
  return 0;
}

}  // namespace sotto::bench
