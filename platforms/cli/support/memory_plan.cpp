#include "platforms/cli/support/memory_plan.h"

#include <sotto_memory.h>

#include <algorithm>

#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Bytes of weights, by where the kernels read them.
struct WeightBytes {
  uint64_t in_memory = 0;
  uint64_t in_file = 0;

  WeightBytes& operator+=(const WeightBytes& other) {
    in_memory += other.in_memory;
    in_file += other.in_file;
    return *this;
  }
};

uint64_t padded(uint64_t count, uint64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

// Returns whether a layer has 4-bit weights: they come in blocks of 32 inputs, and the converter gives smaller layers 8
// bits.
bool has_tiles(uint32_t inputs, uint32_t bits) { return bits == 4 && inputs >= 32; }

// Returns the bytes of a linear layer. A tile of 4-bit weights has 16 outputs: 192 bytes for their scales, biases and
// sums, a block scale per 32 inputs and output, and half a byte per weight.
WeightBytes linear(const PlannedModel& model, uint32_t inputs, uint32_t outputs, uint32_t bits) {
  if (has_tiles(inputs, bits)) {
    const uint64_t block_count = padded(inputs, 32) / 32;
    return {0, padded(outputs, 16) / 16 * (192 + padded(block_count * 16, 64) + block_count * 256)};
  }
  const uint64_t size = SOTTO_PACKED_(inputs, outputs);
  return model.is_packed ? WeightBytes{0, size} : WeightBytes{size, 0};
}

WeightBytes layer(const PlannedModel& model) {
  const uint32_t embedding = model.embedding_size, feed_forward = model.feed_forward_size;
  WeightBytes bytes;
  bytes += linear(model, embedding, 3 * embedding, model.layer_bits);
  bytes += linear(model, embedding, embedding, model.layer_bits);
  bytes += linear(model, embedding, feed_forward, model.layer_bits);
  bytes += linear(model, feed_forward, embedding, model.layer_bits);
  return bytes;
}

uint64_t session_bytes(const PlannedModel& model, const SessionParams& params, uint32_t sequence_count,
                       uint32_t features, uint32_t draft_tokens) {
  const uint32_t sequence_tokens = sequence_count == 0 ? 0 : params.sequence_tokens;
  return SOTTO_DRAFT_SESSION_MEMORY_BYTES(model.vocabulary_size, model.embedding_size, model.head_count,
                                          model.layer_count, model.feed_forward_size, params.context_tokens,
                                          params.batch_tokens, params.sink_tokens, sequence_count, sequence_tokens,
                                          features, params.list_bytes, draft_tokens);
}

void check_range(const char* option, uint32_t value, uint32_t min, uint32_t max) {
  if (value >= min && value <= max) return;
  throw Failure(std::string(option) + " is " + std::to_string(value) + "; it must be from " + std::to_string(min) +
                " to " + std::to_string(max));
}

// Returns the largest use of memory while the model is loaded. Each int8 layer is packed from pages of the file, which
// are then released; the head, the last one, is often the largest.
uint64_t loading_bytes(const PlannedModel& model, const WeightBytes& weights, uint64_t object, uint64_t norms) {
  const uint64_t embedding = model.embedding_size, feed_forward = model.feed_forward_size;
  uint64_t last = 0;  // size of the weights that the last layers are packed from
  if (!model.is_packed && !has_tiles(model.embedding_size, model.head_bits)) {
    last = embedding * model.vocabulary_size;
  } else if (!model.is_packed && !has_tiles(model.feed_forward_size, model.layer_bits)) {
    last = embedding * feed_forward;
  }
  const uint64_t outputs = model.layer_count * (5 * embedding + feed_forward);
  const uint64_t scales = has_tiles(model.embedding_size, model.layer_bits) ? 0 : outputs * 8;  // also of biases
  const uint64_t positions = embedding * model.max_context_tokens * 4;
  return weights.in_memory + weights.in_file + object + norms + positions + scales + last;
}

}  // namespace

PlannedModel planned_model(const ModelInfo& info) {
  return {.vocabulary_size = info.vocabulary_size,
          .max_context_tokens = info.max_context_tokens,
          .embedding_size = info.embedding_size,
          .head_count = info.head_count,
          .layer_count = info.layer_count,
          .feed_forward_size = info.feed_forward_size,
          .layer_bits = info.layer_weight_bits,
          .head_bits = info.head_weight_bits};
}

uint64_t model_object_bytes(const PlannedModel& model) {
  return SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(model.vocabulary_size, model.embedding_size, model.head_count,
                                           model.layer_count, model.feed_forward_size);
}

uint64_t MemoryPlan::sum(bool is_in_file) const {
  uint64_t bytes = 0;
  for (const MemoryPart& part : parts) bytes += part.is_in_file == is_in_file ? part.bytes : 0;
  return bytes;
}

uint64_t MemoryPlan::peak_bytes() const { return std::max(total_bytes(), loading_bytes); }

SessionParams resolved_session(const PlannedModel& model, SessionParams params) {
  const uint32_t positions = model.max_context_tokens;
  if (params.context_tokens == 0) params.context_tokens = positions;
  check_range("--ctx", params.context_tokens, std::min(16u, positions), positions);
  check_range("--batch", params.batch_tokens, 1, 4096);
  params.batch_tokens = std::min(params.batch_tokens, params.context_tokens);
  const bool stops = params.overflow == SOTTO_OVERFLOW_STOP;
  const uint32_t max_sinks = stops ? 0 : params.context_tokens / 4;
  if (params.sink_tokens == UINT32_MAX) params.sink_tokens = std::min(4u, max_sinks);
  check_range("--sink-tokens", params.sink_tokens, 0, max_sinks);
  check_range("--num-beams", params.sequence_count, 0, 64);
  if (params.sequence_count == 0) params.sequence_tokens = 0;
  check_range("--max-tokens", params.sequence_tokens, 0, positions);
  check_range("--draft-tokens", params.draft_tokens, 0, 15);
  return params;
}

MemoryPlan plan_memory(const PlannedModel& model, const SessionParams& params) {
  MemoryPlan plan;
  const auto add = [&plan](const char* json_name, std::string name, uint64_t bytes, bool is_in_file = false) {
    if (bytes != 0) plan.parts.push_back({json_name, std::move(name), bytes, is_in_file});
  };
  const auto add_weights = [&add](const char* json_name, const std::string& name, const WeightBytes& bytes) {
    add(json_name, name, bytes.in_memory);
    add(json_name, name, bytes.in_file, true);
  };
  WeightBytes layers = layer(model);
  layers.in_memory *= model.layer_count;
  layers.in_file *= model.layer_count;
  const WeightBytes head = linear(model, model.embedding_size, model.vocabulary_size, model.head_bits);
  const uint64_t object = model_object_bytes(model);
  const uint64_t width = model.embedding_size;
  uint64_t norms = (2 * model.layer_count + 1) * 2 * width * 4;
  if (!has_tiles(model.embedding_size, model.head_bits)) norms += model.vocabulary_size * uint64_t{4};  // scales
  // All positions count, also those beyond the context, because systems map pages of a file in groups.
  const uint64_t positions = model.max_context_tokens;
  add_weights("layers", std::to_string(model.layer_bits) + "-bit layers", layers);
  add_weights("head", std::to_string(model.head_bits) + "-bit head", head);
  add("positions_and_norms", "positions and norms", positions * width * 4 + norms, true);
  add("model_object", "the model's description", object);

  const uint32_t context = params.context_tokens;
  const uint64_t ring = SOTTO_KV_BYTES_(model.embedding_size, model.head_count, model.layer_count, context);
  const uint64_t plain = session_bytes(model, params, 0, 0, 0);
  const uint64_t with_search = session_bytes(model, params, params.sequence_count, 0, 0);
  const uint64_t with_features = session_bytes(model, params, params.sequence_count, params.features, 0);
  const uint64_t all = session_bytes(model, params, params.sequence_count, params.features, params.draft_tokens);
  add("kv_ring", "KV ring, " + with_thousands(context) + " tokens", ring);
  add("search",
      "search, " + std::to_string(params.sequence_count) + " x " + with_thousands(params.sequence_tokens) + " tokens",
      with_search - plain);
  add("contrastive", "contrastive search", with_features - with_search);
  add("drafts", "drafts, " + std::to_string(params.draft_tokens) + " tokens", all - with_features);
  add("session", "rest of the session", plain - ring);
  plan.loading_bytes =
      loading_bytes(model, {layers.in_memory + head.in_memory, layers.in_file + head.in_file}, object, norms);
  return plan;
}

}  // namespace sotto::cli
