// --simulate: the errors of weights at other numbers of bits.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <thread>

#include "converters/commands/commands.h"
#include "converters/commands/progress.h"
#include "converters/file.h"
#include "converters/quantize/int4.h"
#include "converters/quantize/int8.h"
#include "converters/quantize/simulate.h"

namespace sotto {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kWidths[] = {2, 3, 4, 5, 6, 8};

// The errors of a tensor, or of all tensors of a kind: one per width, and one for each of the two formats of model
// files.
struct SimulatedTensor {
  std::string name;
  std::string group;
  std::vector<uint32_t> shape;
  size_t tensor_count = 1;
  size_t weight_count = 0;
  SimulatedError plain[std::size(kWidths)];
  SimulatedError kept[std::size(kWidths)];
  SimulatedError int4;
  SimulatedError int8;
};

class Simulator {
 public:
  Simulator(double share, std::function<void()> on_tensor)
      : share_(share),
        on_tensor_(std::move(on_tensor)),
        thread_count_(std::max(1u, std::thread::hardware_concurrency())) {}

  void add(const std::string& group, const std::string& name, const FloatLinear& linear) {
    SimulatedTensor tensor;
    tensor.name = name;
    tensor.group = group;
    tensor.shape = {linear.outputs, linear.inputs};
    const std::span<const float> weights = linear.weights;
    tensor.weight_count = weights.size();
    const double kept_from = importance_threshold(weights, share_);
    for (size_t i = 0; i < std::size(kWidths); ++i) {
      tensor.plain[i] = simulate_quantization(weights, linear.inputs, kWidths[i], INFINITY, thread_count_);
      tensor.kept[i] = simulate_quantization(weights, linear.inputs, kWidths[i], kept_from, thread_count_);
    }
    const QuantizedInt4 int4 = quantize_int4(weights, linear.inputs, linear.outputs, nullptr, thread_count_);
    const QuantizedLinear int8 = quantize(weights, linear.inputs, linear.outputs);
    tensor.int4 = {int4.signal, int4.noise, int4.largest_error};
    tensor.int8 = {int8.signal, int8.noise, int8.largest_error};
    tensors_.push_back(std::move(tensor));
    on_tensor_();
  }

  const std::vector<SimulatedTensor>& tensors() const { return tensors_; }

 private:
  double share_;
  std::function<void()> on_tensor_;
  unsigned thread_count_;
  std::vector<SimulatedTensor> tensors_;
};

void simulate_all(const Checkpoint& checkpoint, Simulator& simulator) {
  const ModelShape& shape = checkpoint.info().shape;
  for (uint32_t i = 0; i < shape.layer_count; ++i) {
    const FloatLayer layer = checkpoint.layer(i);
    const auto add = [&](const std::string& name, const FloatLinear& linear) {
      simulator.add("layers." + name, "layers." + std::to_string(i) + '.' + name, linear);
    };
    add("attention_qkv", layer.attention_qkv);
    add("attention_output", layer.attention_output);
    add("feed_forward_up", layer.feed_forward_up);
    add("feed_forward_down", layer.feed_forward_down);
  }
  simulator.add("token_embedding", "token_embedding",
                {shape.embedding_size, shape.vocabulary_size, checkpoint.token_embedding(), {}});
  if (checkpoint.info().head_kind != HeadKind::kTied) simulator.add("head", "head", checkpoint.head());
}

// Returns one row per kind of tensors. The weights of all tensors of a kind count as one tensor.
std::vector<SimulatedTensor> grouped(const std::vector<SimulatedTensor>& tensors) {
  std::vector<SimulatedTensor> groups;
  for (const SimulatedTensor& tensor : tensors) {
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.group == tensor.group; });
    if (group == groups.end()) {
      groups.push_back(tensor);
      continue;
    }
    ++group->tensor_count;
    group->weight_count += tensor.weight_count;
    for (size_t i = 0; i < std::size(kWidths); ++i) {
      group->plain[i].add(tensor.plain[i]);
      group->kept[i].add(tensor.kept[i]);
    }
    group->int4.add(tensor.int4);
    group->int8.add(tensor.int8);
  }
  return groups;
}

std::string figures(const SimulatedError& error, size_t count) {
  char text[64];
  const double snr = signal_to_noise_db(error.signal, error.noise);
  std::snprintf(text, sizeof text, "%9.2e %9.2e %7.1f", error.noise / static_cast<double>(count), error.largest_error,
                snr);
  return text;
}

std::string table(const std::vector<SimulatedTensor>& tensors, double share) {
  char text[160];
  std::snprintf(text, sizeof text, "%-33s  %-27s  the largest %g%% kept\n", "", "all weights", share * 100);
  std::string rows = text;
  std::snprintf(text, sizeof text, "%-28s %4s  %9s %9s %7s  %9s %9s %7s\n", "tensors", "bits", "MSE", "largest",
                "SNR dB", "MSE", "largest", "SNR dB");
  rows += text;
  for (const SimulatedTensor& group : grouped(tensors)) {
    std::string name = group.group;
    if (group.tensor_count > 1) name += " (" + std::to_string(group.tensor_count) + ')';
    const auto add_row = [&](const std::string& bits, const std::string& columns) {
      std::snprintf(text, sizeof text, "%-28s %4s  ", name.c_str(), bits.c_str());
      rows += text + columns + '\n';
      name.clear();
    };
    for (size_t i = 0; i < std::size(kWidths); ++i) {
      add_row(std::to_string(kWidths[i]),
              figures(group.plain[i], group.weight_count) + "  " + figures(group.kept[i], group.weight_count));
    }
    add_row("int4", figures(group.int4, group.weight_count));
    add_row("int8", figures(group.int8, group.weight_count));
  }
  return rows;
}

ordered_json figures_json(const SimulatedError& error, size_t count) {
  const double snr = signal_to_noise_db(error.signal, error.noise);
  return {{"mean_squared_error", error.noise / static_cast<double>(count)},
          {"largest_error", error.largest_error},
          {"signal_to_noise_db", std::isinf(snr) ? ordered_json(nullptr) : ordered_json(snr)}};
}

std::string json(const Checkpoint& checkpoint, const std::vector<SimulatedTensor>& tensors, double share) {
  ordered_json list = ordered_json::array();
  for (const SimulatedTensor& tensor : tensors) {
    ordered_json widths = ordered_json::array();
    for (size_t i = 0; i < std::size(kWidths); ++i) {
      widths.push_back({{"bits", kWidths[i]},
                        {"all", figures_json(tensor.plain[i], tensor.weight_count)},
                        {"kept", figures_json(tensor.kept[i], tensor.weight_count)}});
    }
    list.push_back({{"name", tensor.name},
                    {"shape", tensor.shape},
                    {"widths", widths},
                    {"int4", figures_json(tensor.int4, tensor.weight_count)},
                    {"int8", figures_json(tensor.int8, tensor.weight_count)}});
  }
  const ordered_json root = {
      {"name", checkpoint.info().name}, {"block_size", kSimulatedBlock}, {"kept_share", share}, {"tensors", list}};
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void simulate(const Arguments& arguments) {
  const auto checkpoint = open_input(arguments);
  const double share = arguments.kept_percent / 100;
  std::vector<SimulatedTensor> tensors;
  {
    const Progress progress(true);
    const CheckpointInfo& info = checkpoint->info();
    const size_t total = 4 * size_t{info.shape.layer_count} + (info.head_kind == HeadKind::kTied ? 1 : 2);
    size_t done = 0;
    Simulator simulator(share, [&] { progress.show(static_cast<double>(++done) / static_cast<double>(total)); });
    simulate_all(*checkpoint, simulator);
    tensors = simulator.tensors();
  }
  print(arguments.json ? json(*checkpoint, tensors, share) : table(tensors, share));
}

}  // namespace sotto
