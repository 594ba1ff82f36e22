#include "runtime/transformer/context_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sotto {
namespace {

bool is_scale(float value) { return std::isfinite(value) && value >= 0; }

// Rows and floats pass through buffers of this size.
constexpr size_t kMaxRow = 256;
constexpr size_t kChunk = 256;

bool verify_floats(ByteReader* reader, size_t count, bool (*is_right)(float)) {
  float chunk[kChunk];
  for (size_t done = 0; done < count && !reader->failed();) {
    const size_t size = std::min(kChunk, count - done);
    reader->get_array(chunk, size);
    if (!std::all_of(chunk, chunk + size, is_right)) return false;
    done += size;
  }
  return !reader->failed();
}

bool verify_rows(ByteReader* reader, size_t rows, size_t width) {
  int8_t row[kMaxRow];
  for (size_t i = 0; i < rows && !reader->failed(); ++i) {
    reader->get_array(row, width);
    // Kernels multiply pairs in 16 bits.
    if (std::any_of(row, row + width, [](int8_t value) { return value == -128; })) return false;
  }
  return !reader->failed();
}

bool verify_tokens(ByteReader* reader, uint64_t count, uint32_t vocabulary) {
  for (uint64_t i = 0; i < count && !reader->failed(); ++i) {
    if (reader->get<uint32_t>() >= vocabulary) return false;
  }
  return !reader->failed();
}

uint32_t slots_in_use(uint32_t position, uint32_t context_tokens) { return std::min(position, context_tokens); }

}  // namespace

// Of one head of one layer, (slot, row_stride) and (slot).
struct ContextImage::Head {
  int8_t* keys;
  int8_t* values;
  float* key_scales;
  float* value_scales;
  size_t stride;
};

ContextImage::Head ContextImage::head(const Context& context, uint32_t layer, uint32_t head) {
  const KvRing& ring = context.forward_.ring_;
  const size_t index = ring.index_of(layer, head, 0);
  return {ring.keys_ + index * ring.row_stride_, ring.values_ + index * ring.row_stride_, ring.key_scales_ + index,
          ring.value_scales_ + index, ring.row_stride_};
}

void ContextImage::write(const Context& context, const ModelConfig& config, ByteWriter* writer) {
  writer->put(context.token_count_);
  writer->put(context.anchor_);
  writer->put(context.reanchor_count_);
  writer->put(context.position_);
  writer->put(uint32_t{context.reanchor_due_ ? 1u : 0u});
  const uint64_t known = std::min<uint64_t>(context.token_count_, context.history_size_);
  for (uint64_t i = context.token_count_ - known; i < context.token_count_; ++i) {
    writer->put(context.token_at(i));
  }
  const uint64_t sinks = std::min<uint64_t>(context.token_count_, context.params_.sink_tokens);
  writer->put_array(context.sinks_, static_cast<size_t>(sinks));
  const uint32_t slots = slots_in_use(context.position_, context.params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const Head rows = head(context, layer, h);
      for (size_t i = 0; i < slots; ++i) {
        writer->put_array(rows.keys + i * rows.stride, config.head_size);
      }
      for (size_t i = 0; i < slots; ++i) {
        writer->put_array(rows.values + i * rows.stride, config.head_size);
      }
      writer->put_array(rows.key_scales, slots);
      writer->put_array(rows.value_scales, slots);
    }
  }
  if ((context.params_.features & kFeatureHiddenHistory) == 0) return;
  const HiddenHistory& history = context.forward_.hidden_history_;
  writer->put_array(history.states_, slots * history.width_);
}

ContextPlace ContextImage::read_place(ByteReader* reader) {
  ContextPlace place;
  place.token_count = reader->get<uint64_t>();
  place.anchor = reader->get<uint64_t>();
  place.reanchor_count = reader->get<uint64_t>();
  place.position = reader->get<uint32_t>();
  place.reanchor_due = reader->get<uint32_t>();
  return place;
}

// Whether evaluating tokens could have led there.
bool ContextImage::is_possible(const Context& context, const ModelConfig& config, const ContextPlace& place) {
  const ContextParams& params = context.params_;
  if (place.token_count > UINT64_MAX / 2 || place.reanchor_due > 1) return false;
  if (place.position > context.position_limit_) return false;
  const bool moved = place.anchor > 0 || place.reanchor_due != 0;
  if (!moved) return place.position == place.token_count;
  const uint64_t kept = uint64_t{params.sink_tokens} + context.newest_kept();
  if (params.overflow == Overflow::kStop || place.token_count < params.context_tokens) return false;
  if (place.anchor > place.token_count) return false;
  if (place.anchor > 0 && place.anchor < params.context_tokens) return false;
  if (place.reanchor_due != 0) return place.position <= kept;
  return place.token_count - place.anchor <= config.position_count &&
         place.position == place.token_count - place.anchor + kept;
}

bool ContextImage::verify(const Context& context, const ModelConfig& config, ByteReader* reader, ContextPlace* place) {
  *place = read_place(reader);
  if (reader->failed() || !is_possible(context, config, *place)) return false;
  const uint32_t vocabulary = config.vocabulary_size;
  const uint64_t known = std::min<uint64_t>(place->token_count, context.history_size_);
  const uint64_t sinks = std::min<uint64_t>(place->token_count, context.params_.sink_tokens);
  if (!verify_tokens(reader, known + sinks, vocabulary)) return false;
  const uint32_t slots = slots_in_use(place->position, context.params_.context_tokens);
  for (uint32_t i = 0; i < config.layer_count * config.head_count; ++i) {
    if (!verify_rows(reader, size_t{2} * slots, config.head_size)) return false;
    if (!verify_floats(reader, size_t{2} * slots, is_scale)) return false;
  }
  if ((context.params_.features & kFeatureHiddenHistory) == 0) return true;
  const size_t width = context.forward_.hidden_history_.width_;
  return verify_floats(reader, slots * width, [](float value) { return std::isfinite(value); });
}

void ContextImage::read(Context* context, const ModelConfig& config, ByteReader* reader) {
  const ContextPlace place = read_place(reader);
  context->clear();
  context->token_count_ = place.token_count;
  context->anchor_ = place.anchor;
  context->reanchor_count_ = place.reanchor_count;
  context->position_ = place.position;
  context->reanchor_due_ = place.reanchor_due != 0;
  const uint64_t known = std::min<uint64_t>(place.token_count, context->history_size_);
  for (uint64_t i = place.token_count - known; i < place.token_count; ++i) {
    context->history_[i % context->history_size_] = reader->get<int32_t>();
  }
  const uint64_t sinks = std::min<uint64_t>(place.token_count, context->params_.sink_tokens);
  reader->get_array(context->sinks_, static_cast<size_t>(sinks));
  const uint32_t slots = slots_in_use(place.position, context->params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const Head rows = head(*context, layer, h);
      std::memset(rows.keys, 0, slots * rows.stride);  // also behind each row
      std::memset(rows.values, 0, slots * rows.stride);
      for (size_t i = 0; i < slots; ++i) {
        reader->get_array(rows.keys + i * rows.stride, config.head_size);
      }
      for (size_t i = 0; i < slots; ++i) {
        reader->get_array(rows.values + i * rows.stride, config.head_size);
      }
      reader->get_array(rows.key_scales, slots);
      reader->get_array(rows.value_scales, slots);
    }
  }
  if ((context->params_.features & kFeatureHiddenHistory) == 0) return;
  const HiddenHistory& history = context->forward_.hidden_history_;
  reader->get_array(history.states_, slots * history.width_);
}

void ContextImage::copy(const Context& from, const ModelConfig& config, Context* to) {
  to->clear();
  to->token_count_ = from.token_count_;
  to->anchor_ = from.anchor_;
  to->reanchor_count_ = from.reanchor_count_;
  to->position_ = from.position_;
  to->reanchor_due_ = from.reanchor_due_;
  std::copy_n(from.history_, from.history_size_, to->history_);
  std::copy_n(from.sinks_, from.params_.sink_tokens, to->sinks_);
  const uint32_t slots = slots_in_use(from.position_, from.params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const Head source = head(from, layer, h);
      const Head target = head(*to, layer, h);
      std::copy_n(source.keys, slots * source.stride, target.keys);
      std::copy_n(source.values, slots * source.stride, target.values);
      std::copy_n(source.key_scales, slots, target.key_scales);
      std::copy_n(source.value_scales, slots, target.value_scales);
    }
  }
  if ((to->params_.features & from.params_.features & kFeatureHiddenHistory) != 0) {
    const HiddenHistory& history = from.forward_.hidden_history_;
    std::copy_n(history.states_, slots * history.width_, to->forward_.hidden_history_.states_);
  }
  if (!from.has_logits_) return;
  const std::span<const float> logits = from.logits();
  std::copy(logits.begin(), logits.end(), to->forward_.logits(0).begin());
  to->has_logits_ = true;
}

}  // namespace sotto
