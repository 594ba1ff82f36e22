#include "tests/bench/workloads/micro_cases.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/thread_pool.h"
#include "tests/bench/machine/clock.h"

namespace sotto::bench {
namespace {

std::vector<float> random_floats(size_t count) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<int8_t> random_bytes(size_t count) {
  std::mt19937 random(5);
  std::vector<int8_t> values(count);
  for (int8_t& value : values) value = static_cast<int8_t>(random() % 255 - 127);
  return values;
}

class Cases {
 public:
  explicit Cases(nlohmann::json* list) : list_(list) {}

  template <typename F>
  void time(const std::string& name, F&& body) {
    body();  // warms up
    list_->push_back({{"name", name}, {"ns", fastest_call(body) * 1e9}});
  }

 private:
  nlohmann::json* list_;
};

void run_row_cases(const Kernels& kernels, const MicroShape& shape, Cases& cases) {
  const size_t width = shape.embedding_size;
  const size_t inner = shape.feed_forward_size;
  const size_t head_size = width / shape.head_count;
  const auto x = random_floats(inner), gain = random_floats(width), bias = random_floats(width);
  std::vector<float> y(inner);
  std::vector<int8_t> q(inner);
  RowQuantization quantization;
  cases.time("layer_norm", [&] { kernels.layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, width, y.data()); });
  cases.time("quantize_row, embedding", [&] { kernels.quantize_row(x.data(), width, q.data(), &quantization); });
  cases.time("quantize_row, feed_forward", [&] { kernels.quantize_row(x.data(), inner, q.data(), &quantization); });
  cases.time("quantize_symmetric, head", [&] { kernels.quantize_symmetric(x.data(), head_size, q.data()); });
  cases.time("embed", [&] { kernels.embed(q.data(), 0.01f, x.data(), width, y.data()); });
  std::fill(y.begin(), y.end(), 0.0f);
  cases.time("add", [&] { kernels.add(x.data(), width, y.data()); });
  // The kernels work in place, so each call gets a new copy. Otherwise values would shrink until they are denormal.
  cases.time("gelu_tanh", [&] {
    std::copy(x.begin(), x.end(), y.begin());
    kernels.activate(Activation::kGeluTanh, y.data(), inner);
  });
  cases.time("gelu_erf", [&] {
    std::copy(x.begin(), x.end(), y.begin());
    kernels.activate(Activation::kGeluErf, y.data(), inner);
  });
}

void run_logits_cases(const Kernels& kernels, const MicroShape& shape, Cases& cases) {
  const size_t count = shape.vocabulary_size;
  const auto logits = random_floats(count);
  std::vector<float> y(count);
  volatile float sink = 0;
  const float max = kernels.max(logits.data(), count);
  cases.time("max, vocabulary", [&] { sink = kernels.max(logits.data(), count); });
  cases.time("argmax, vocabulary", [&] { sink = static_cast<float>(kernels.argmax(logits.data(), count)); });
  cases.time("exp_shifted, vocabulary", [&] { sink = kernels.exp_shifted(logits.data(), count, max, y.data()); });
  cases.time("exp_weights, vocabulary",
             [&] { sink = static_cast<float>(kernels.exp_weights(logits.data(), count, max, 1.0f, y.data())); });
  std::vector<int32_t> ids(count);
  std::vector<float> numbers(count);
  cases.time("keep_from, vocabulary", [&] {
    sink = static_cast<float>(
        kernels.keep_from(logits.data(), 0.0f, logits.data(), nullptr, 0, count, numbers.data(), ids.data()));
  });
  cases.time("sum_and_collect, vocabulary", [&] {
    sink = static_cast<float>(kernels.sum_and_collect(logits.data(), -0.1f, 0.1f, y.data(), 0, count, ids.data()).sum);
  });
}

// Times the attention of one query in one head, whose keys and values stay in the cache.
void run_attention_cases(const Kernels& kernels, const MicroShape& shape, Cases& cases) {
  const size_t head_size = shape.embedding_size / shape.head_count;
  const size_t stride = (head_size + kHeadAlignment - 1) / kHeadAlignment * kHeadAlignment;
  const size_t slots = shape.position_count;
  const auto keys = random_bytes(slots * stride), values = random_bytes(slots * stride);
  const std::vector<float> scales(slots, 0.01f);
  const auto query = random_floats(head_size);
  std::vector<float> scores(slots), output(head_size);
  for (const uint32_t context : {1u, 64u, 256u, 512u, 1024u}) {
    if (context > slots) continue;
    const SlotSpan span = {0, context};
    const AttentionArgs args = {
        query.data(),  keys.data(), scales.data(), values.data(),
        scales.data(), head_size,   stride,        1.0f / std::sqrt(static_cast<float>(head_size)),
        &span,         1,           scores.data(), output.data()};
    cases.time("attention, " + std::to_string(context) + " slots", [&] { kernels.attention(args); });
  }
}

}  // namespace

nlohmann::json run_micro_cases(Isa isa, const MicroShape& shape) {
  nlohmann::json list = nlohmann::json::array();
  Cases cases(&list);
  const Kernels& kernels = *find_kernels(isa);
  run_row_cases(kernels, shape, cases);
  run_logits_cases(kernels, shape, cases);
  run_attention_cases(kernels, shape, cases);
  if (shape.thread_count > 1 && threads_available()) {
    alignas(kThreadPoolAlignment) uint8_t memory[kThreadPoolBytes];
    ThreadPool* pool = create_thread_pool(memory, shape.thread_count, nullptr);
    cases.time("fork and join", [&] { parallel_for(pool, shape.thread_count, [](size_t) {}); });
    destroy_thread_pool(pool);
  }
  run_linear_cases(isa, shape, &list);
  return list;
}

}  // namespace sotto::bench
