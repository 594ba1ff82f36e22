#include "converters/readers/lora.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "converters/readers/config.h"
#include "converters/readers/named_checkpoint.h"

namespace sotto {
namespace {

// Settings that change what an adapter computes, so that it cannot be merged.
constexpr const char* kOtherSettings[] = {
    "use_dora",
    "use_qalora",
    "use_bdlora",
    "lora_bias",
    "layer_replication",
    "target_parameters",
    "arrow_config",
    "kasa_config",
    "velora_config",
    "monteclora_config",
    "alora_invocation_tokens",
    "trainable_token_indices",
};

// Initializations of the training that leave the weights of the base model unchanged.
constexpr const char* kInitializations[] = {"gaussian", "eva", "orthogonal"};

void check_config(const Config& config) {
  if (const std::string type = config.text("peft_type", "LORA"); type != "LORA") {
    config.fail("peft_type", "is " + in_quotes(type) + "; only \"LORA\" is supported");
  }
  for (const char* key : kOtherSettings) {
    const nlohmann::json* value = config.find(key);
    if (value == nullptr || *value == false || (value->is_structured() && value->empty())) continue;
    config.fail(key, "is set; merge such an adapter in Python with merge_and_unload()");
  }
  const nlohmann::json* start = config.find("init_lora_weights");
  if (start == nullptr || start->is_boolean()) return;
  const bool is_known =
      std::find(std::begin(kInitializations), std::end(kInitializations), *start) != std::end(kInitializations);
  if (!is_known) config.fail("init_lora_weights", "is " + start->dump() + ", which changes the base model as well");
}

// Returns the alpha of a module: that of the first matching pattern, or else the default. PEFT's patterns are regular
// expressions for the end of a module's name. Patterns with special characters other than the dot are not supported.
double alpha_of(const Config& config, const std::string& module) {
  const double otherwise = config.number("lora_alpha", 8);
  const nlohmann::json* patterns = config.find("alpha_pattern");
  if (patterns == nullptr) return otherwise;
  if (!patterns->is_object()) config.fail("alpha_pattern", "is not an object");
  for (const auto& [pattern, alpha] : patterns->items()) {
    if (pattern.find_first_of("\\^$*+?()[]{}|") != std::string::npos || !alpha.is_number()) {
      config.fail("alpha_pattern", "has " + in_quotes(pattern) + "; only names of modules with a number are supported");
    }
    if (module == pattern || module.ends_with("." + pattern)) return alpha.get<double>();
  }
  return otherwise;
}

// A low-rank matrix: the product of (rows, rank) and (rank, columns), whose elements are computed on demand.
struct LowRank {
  uint64_t columns = 0;
  uint64_t rank = 0;
  double scale = 0;
  std::vector<float> left;
  std::vector<float> right;
  std::string where;

  // Adds elements [first, first + values.size()) of the product.
  void add(uint64_t first, std::span<float> values) const {
    std::vector<float> row(columns);
    for (uint64_t done = 0; done < values.size();) {
      const uint64_t at = first + done;
      const uint64_t begin = at % columns;
      const uint64_t count = std::min<uint64_t>(columns - begin, values.size() - done);
      std::fill(row.begin(), row.end(), 0.0f);
      for (uint64_t k = 0; k < rank; ++k) {
        const float factor = left[at / columns * rank + k];
        for (uint64_t i = 0; i < count; ++i) row[i] += factor * right[k * columns + begin + i];
      }
      for (uint64_t i = 0; i < count; ++i) {
        values[done + i] = static_cast<float>(values[done + i] + scale * row[i]);
        if (!std::isfinite(values[done + i])) throw std::runtime_error(where + ": the merged weights are too large");
      }
      done += count;
    }
  }
};

class AdapterMerger {
 public:
  AdapterMerger(const Adapter& adapter, const std::function<bool(const std::string& name)>& inputs_first,
                Tensors& tensors)
      : adapter_(adapter),
        inputs_first_(inputs_first),
        tensors_(tensors),
        config_(adapter.directory / "adapter_config.json"),
        trained_(open_tensor_file(find_weights())) {
    check_config(config_);
  }

  void merge() {
    for (const std::string& name : trained_.names()) {
      constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";
      if (name.ends_with(kB) && trained_.contains(name.substr(0, name.size() - kB.size()) + std::string(kA))) continue;
      if (name.ends_with(kA)) {
        merge_module(name.substr(0, name.size() - kA.size()));
      } else if (name.find(".lora_") != std::string::npos) {
        throw std::runtime_error(trained_.where(name) +
                                 ": is not a part of a plain LoRA; merge such an adapter in "
                                 "Python with merge_and_unload()");
      } else {
        tensors_.replace(base_name(name), trained_, name);
      }
    }
  }

 private:
  std::filesystem::path find_weights() const {
    const auto safetensors = adapter_.directory / "adapter_model.safetensors";
    return std::filesystem::exists(safetensors) ? safetensors : adapter_.directory / "adapter_model.bin";
  }

  // Returns the checkpoint's name of a tensor or module that PEFT has wrapped.
  std::string base_name(std::string name) const {
    for (const std::string_view wrapper : {"base_model.model.", "modules_to_save.", "base_layer."}) {
      if (const size_t at = name.find(wrapper); at != std::string::npos) name.erase(at, wrapper.size());
    }
    constexpr std::string_view kPrefix = "transformer.";  // absent in checkpoints of a bare GPT2Model
    const std::string shorter = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
    const std::string longer = std::string(kPrefix) + name;
    for (const std::string& candidate : {name, shorter, longer}) {
      if (tensors_.contains(candidate) || tensors_.contains(candidate + ".weight")) return candidate;
    }
    return name;
  }

  void merge_module(const std::string& wrapped) {
    const std::string a = wrapped + ".lora_A.weight", b = wrapped + ".lora_B.weight";
    const std::string module = base_name(wrapped);
    const std::string weight = module + ".weight";
    const std::vector<uint64_t> a_shape = trained_.entry(a).shape, b_shape = trained_.entry(b).shape;
    const std::vector<uint64_t> shape = tensors_.entry(weight).shape;
    const bool inputs_first = inputs_first_(weight);
    const bool fits = a_shape.size() == 2 && b_shape.size() == 2 && a_shape[0] == b_shape[1] && a_shape[0] > 0 &&
                      shape == (inputs_first ? std::vector<uint64_t>{a_shape[1], b_shape[0]}
                                             : std::vector<uint64_t>{b_shape[0], a_shape[1]});
    if (!fits) {
      throw std::runtime_error(trained_.where(a) + ": its shape is " + shape_text(a_shape) + " and that of lora_B " +
                               shape_text(b_shape) + "; they do not fit " + weight + " of shape " + shape_text(shape));
    }
    const uint64_t rank = a_shape[0];
    const auto product = std::make_shared<LowRank>();
    product->columns = shape[1];
    product->rank = rank;
    const double ranks = static_cast<double>(rank);
    product->scale =
        adapter_.scale * alpha_of(config_, module) / (config_.flag("use_rslora", false) ? std::sqrt(ranks) : ranks);
    product->where = trained_.where(a);
    const std::vector<float> a_values = trained_.read(a, 0, rank * a_shape[1]);
    const std::vector<float> b_values = trained_.read(b, 0, rank * b_shape[0]);
    product->left = inputs_first ? transpose(a_values, rank, a_shape[1]) : b_values;
    product->right = inputs_first ? transpose(b_values, b_shape[0], rank) : a_values;
    tensors_.change(weight, [product](uint64_t first, std::span<float> values) { product->add(first, values); });
  }

  const Adapter& adapter_;
  const std::function<bool(const std::string& name)>& inputs_first_;
  Tensors& tensors_;
  Config config_;
  Tensors trained_;
};

}  // namespace

void merge_adapter(const Adapter& adapter, const std::function<bool(const std::string& name)>& inputs_first,
                   Tensors& tensors) {
  AdapterMerger(adapter, inputs_first, tensors).merge();
}

}  // namespace sotto
