#include "runtime/transformer/kv_sequence_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sotto {
namespace {

bool is_scale(float value) { return std::isfinite(value) && value >= 0; }

bool verify_floats(ByteReader* reader, size_t count, bool (*is_right)(float)) {
  constexpr size_t kChunk = 256;
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
  int8_t row[kMaxHeadSize];
  for (size_t i = 0; i < rows && !reader->failed(); ++i) {
    reader->get_array(row, width);
    // The kernels add pairs of products in 16 bits; with -128 they would overflow.
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

void KvSequenceImage::write(const KvSequence& sequence, const ModelConfig& config, ByteWriter* writer) {
  writer->put(sequence.token_count_);
  writer->put(sequence.anchor_);
  writer->put(sequence.reanchor_count_);
  writer->put(sequence.position_);
  writer->put(uint32_t{sequence.reanchor_due_ ? 1u : 0u});
  const uint64_t known = std::min<uint64_t>(sequence.token_count_, sequence.history_size_);
  for (uint64_t i = sequence.token_count_ - known; i < sequence.token_count_; ++i) {
    writer->put(sequence.token_at(i));
  }
  const uint64_t sinks = std::min<uint64_t>(sequence.token_count_, sequence.params_.sink_tokens);
  writer->put_array(sequence.sinks_, static_cast<size_t>(sinks));
  const uint32_t slots = slots_in_use(sequence.position_, sequence.params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const KvRing::Head rows = sequence.forward_.ring().head_of(layer, h);
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
  if ((sequence.params_.features & kFeatureHiddenHistory) == 0) return;
  const std::span<const float> states = sequence.hidden_history_.states(slots);
  writer->put_array(states.data(), states.size());
}

KvSequencePosition KvSequenceImage::read_position(ByteReader* reader) {
  KvSequencePosition saved;
  saved.token_count = reader->get<uint64_t>();
  saved.anchor = reader->get<uint64_t>();
  saved.reanchor_count = reader->get<uint64_t>();
  saved.position = reader->get<uint32_t>();
  saved.reanchor_due = reader->get<uint32_t>();
  return saved;
}

// Returns whether some sequence of calls leads to this position.
bool KvSequenceImage::is_possible(const KvSequence& sequence, const ModelConfig& config,
                                  const KvSequencePosition& saved) {
  const SessionParams& params = sequence.params_;
  if (saved.token_count > UINT64_MAX / 2 || saved.reanchor_due > 1) return false;
  if (saved.position > sequence.position_limit_) return false;
  const bool moved = saved.anchor > 0 || saved.reanchor_due != 0;
  if (!moved) return saved.position == saved.token_count;
  const uint64_t kept = uint64_t{params.sink_tokens} + sequence.newest_kept();
  if (params.overflow == Overflow::kStop || saved.token_count < params.context_tokens) return false;
  if (saved.anchor > saved.token_count) return false;
  if (saved.anchor > 0 && saved.anchor < params.context_tokens) return false;
  if (saved.reanchor_due != 0) return saved.position <= kept;
  return saved.token_count - saved.anchor <= config.position_count &&
         saved.position == saved.token_count - saved.anchor + kept;
}

bool KvSequenceImage::verify(const KvSequence& sequence, const ModelConfig& config, ByteReader* reader,
                             KvSequencePosition* saved) {
  *saved = read_position(reader);
  if (reader->failed() || !is_possible(sequence, config, *saved)) return false;
  const uint32_t vocabulary = config.vocabulary_size;
  const uint64_t known = std::min<uint64_t>(saved->token_count, sequence.history_size_);
  const uint64_t sinks = std::min<uint64_t>(saved->token_count, sequence.params_.sink_tokens);
  if (!verify_tokens(reader, known + sinks, vocabulary)) return false;
  const uint32_t slots = slots_in_use(saved->position, sequence.params_.context_tokens);
  for (uint32_t i = 0; i < config.layer_count * config.head_count; ++i) {
    if (!verify_rows(reader, size_t{2} * slots, config.head_size)) return false;
    if (!verify_floats(reader, size_t{2} * slots, is_scale)) return false;
  }
  if ((sequence.params_.features & kFeatureHiddenHistory) == 0) return true;
  const size_t count = sequence.hidden_history_.states(slots).size();
  return verify_floats(reader, count, [](float value) { return std::isfinite(value); });
}

void KvSequenceImage::read(KvSequence* sequence, const ModelConfig& config, ByteReader* reader) {
  const KvSequencePosition saved = read_position(reader);
  sequence->clear();
  sequence->token_count_ = saved.token_count;
  sequence->anchor_ = saved.anchor;
  sequence->reanchor_count_ = saved.reanchor_count;
  sequence->position_ = saved.position;
  sequence->reanchor_due_ = saved.reanchor_due != 0;
  const uint64_t known = std::min<uint64_t>(saved.token_count, sequence->history_size_);
  for (uint64_t i = saved.token_count - known; i < saved.token_count; ++i) {
    sequence->history_[i % sequence->history_size_] = reader->get<int32_t>();
  }
  const uint64_t sinks = std::min<uint64_t>(saved.token_count, sequence->params_.sink_tokens);
  reader->get_array(sequence->sinks_, static_cast<size_t>(sinks));
  const uint32_t slots = slots_in_use(saved.position, sequence->params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const KvRing::Head rows = sequence->forward_.ring().head_of(layer, h);
      std::memset(rows.keys, 0, slots * rows.stride);  // clears the padding after each row as well
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
  if ((sequence->params_.features & kFeatureHiddenHistory) == 0) return;
  const std::span<float> states = sequence->hidden_history_.states(slots);
  reader->get_array(states.data(), states.size());
}

void KvSequenceImage::copy(const KvSequence& from, const ModelConfig& config, KvSequence* to) {
  to->clear();
  to->token_count_ = from.token_count_;
  to->embedded_count_ = from.embedded_count_;
  to->anchor_ = from.anchor_;
  to->reanchor_count_ = from.reanchor_count_;
  to->position_ = from.position_;
  to->reanchor_due_ = from.reanchor_due_;
  std::copy_n(from.history_, from.history_size_, to->history_);
  std::copy_n(from.sinks_, from.params_.sink_tokens, to->sinks_);
  std::copy_n(from.newest_embedding_, from.embedding_size_, to->newest_embedding_);
  const uint32_t slots = slots_in_use(from.position_, from.params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const KvRing::Head source = from.forward_.ring().head_of(layer, h);
      const KvRing::Head target = to->forward_.ring().head_of(layer, h);
      std::copy_n(source.keys, slots * source.stride, target.keys);
      std::copy_n(source.values, slots * source.stride, target.values);
      std::copy_n(source.key_scales, slots, target.key_scales);
      std::copy_n(source.value_scales, slots, target.value_scales);
    }
  }
  if ((to->params_.features & from.params_.features & kFeatureHiddenHistory) != 0) {
    const std::span<const float> states = from.hidden_history_.states(slots);
    std::copy(states.begin(), states.end(), to->hidden_history_.states(slots).begin());
  }
  if (!from.has_logits()) return;
  std::copy(from.logits_.begin(), from.logits_.end(), to->forward_.logits(0).begin());
  to->logits_ = to->forward_.logits(0);
}

}  // namespace sotto
