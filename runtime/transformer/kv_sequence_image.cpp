#include "runtime/transformer/kv_sequence_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/range_check.h"

namespace sotto {
namespace {

bool is_finite_number(float value) { return std::isfinite(value); }
bool is_slot_scale(float value) { return std::isfinite(value) && value >= 0; }
// The kernels add pairs of products in 16 bits; with -128 they would overflow.
bool is_weight(int8_t value) { return value != -128; }

uint32_t slots_in_use(uint32_t position, uint32_t context_tokens) { return std::min(position, context_tokens); }

}  // namespace

// Returns whether some sequence of calls leads to this position.
bool KvSequenceImage::is_possible(const KvSequence& sequence, const ModelConfig& config, const Cursor& saved) {
  const SessionParams& params = sequence.params_;
  if (saved.token_count > UINT64_MAX / 2) return false;
  if (saved.position > sequence.position_limit_) return false;
  const bool moved = saved.anchor > 0 || saved.reanchor_due;
  if (!moved) return saved.position == saved.token_count;
  const uint64_t kept = uint64_t{params.sink_tokens} + sequence.newest_kept();
  if (params.overflow == Overflow::kStop || saved.token_count < params.context_tokens) return false;
  if (saved.anchor > saved.token_count) return false;
  if (saved.anchor > 0 && saved.anchor < params.context_tokens) return false;
  if (saved.reanchor_due) return saved.position <= kept;
  return saved.token_count - saved.anchor <= config.position_count &&
         saved.position == saved.token_count - saved.anchor + kept;
}

template <typename Sequence, typename Bytes>
uint64_t KvSequenceImage::visit(Sequence& sequence, const ModelConfig& config, Bytes* bytes) {
  Cursor cursor = sequence.cursor_;
  bytes->field(cursor.token_count);
  bytes->field(cursor.anchor);
  bytes->field(cursor.reanchor_count);
  bytes->field(cursor.position);
  bytes->flag(cursor.reanchor_due);
  if (!bytes->require(is_possible(sequence, config, cursor))) return 0;
  if constexpr (Bytes::kStores) {
    sequence.clear();
    sequence.cursor_ = cursor;
  }
  const auto is_known = [&](int32_t token) { return is_token(token, config.vocabulary_size); };
  const uint64_t known = std::min<uint64_t>(cursor.token_count, sequence.history_size_);
  for (uint64_t i = cursor.token_count - known; i < cursor.token_count; ++i) {
    bytes->array(sequence.history_ + i % sequence.history_size_, 1, is_known);
  }
  const uint64_t sinks = std::min<uint64_t>(cursor.token_count, sequence.params_.sink_tokens);
  bytes->array(sequence.sinks_, static_cast<size_t>(sinks), is_known);
  const uint32_t slots = slots_in_use(cursor.position, sequence.params_.context_tokens);
  for (uint32_t layer = 0; layer < config.layer_count; ++layer) {
    for (uint32_t h = 0; h < config.head_count; ++h) {
      const KvRing::Head head = sequence.forward_.ring().head_of(layer, h);
      for (int8_t* const rows : {head.keys, head.values}) {
        // The padding after each row must be 0.
        if constexpr (Bytes::kStores) std::memset(rows, 0, slots * head.stride);
        for (size_t i = 0; i < slots; ++i) bytes->array(rows + i * head.stride, config.head_size, is_weight);
      }
      bytes->array(head.key_scales, slots, is_slot_scale);
      bytes->array(head.value_scales, slots, is_slot_scale);
    }
  }
  if ((sequence.params_.features & kFeatureHiddenHistory) == 0) return cursor.token_count;
  const std::span<float> states = sequence.hidden_history_.states(slots);
  bytes->array(states.data(), states.size(), is_finite_number);
  return cursor.token_count;
}

template uint64_t KvSequenceImage::visit(const KvSequence&, const ModelConfig&, ByteWriter*);
template uint64_t KvSequenceImage::visit(const KvSequence&, const ModelConfig&, ByteChecker*);
template uint64_t KvSequenceImage::visit(KvSequence&, const ModelConfig&, ByteReader*);

void KvSequenceImage::copy(const KvSequence& from, const ModelConfig& config, KvSequence* to) {
  to->clear();
  to->cursor_ = from.cursor_;
  to->embedded_count_ = from.embedded_count_;
  std::copy_n(from.history_, from.history_size_, to->history_);
  std::copy_n(from.sinks_, from.params_.sink_tokens, to->sinks_);
  std::copy_n(from.newest_embedding_, from.embedding_size_, to->newest_embedding_);
  const uint32_t slots = slots_in_use(from.cursor_.position, from.params_.context_tokens);
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
