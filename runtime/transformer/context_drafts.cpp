// Tokens evaluated ahead of the stream. A batch of rows has the bits of its rows one by one,
// and what lies behind the stream's end in the ring is nobody's: drafts that turn out right
// are taken over as they are, and those that do not are simply left behind.
#include <algorithm>
#include <cassert>

#include "runtime/transformer/context.h"

namespace sotto {

// Once slots are overwritten, a draft would take one that the stream's own tokens still see.
size_t Context::draft_room() const {
  if (reanchor_due_ || position_ + 1 >= params_.context_tokens) return 0;
  return std::min(params_.draft_tokens, params_.context_tokens - position_ - 1);
}

Status Context::append_with_drafts(int32_t token, std::span<const int32_t> drafts,
                                   const std::atomic<uint32_t>& cancelled, bool want_logits) {
  if (drafts.empty() || is_drafted(token)) return append({&token, 1}, cancelled, want_logits);
  assert(drafts.size() <= draft_room());
  const size_t rows = drafts.size() + 1;
  draft_batch_[0] = token;
  std::copy(drafts.begin(), drafts.end(), draft_batch_ + 1);
  forget_rows();
  if (cancelled.load(std::memory_order_relaxed) != 0) return Status::kStopCancelled;
  SOTTO_TRY(forward_.evaluate({draft_batch_, rows}, position_, /*want_logits=*/false, cancelled));
  SOTTO_TRY(forward_.compute_logits(0, rows));
  draft_rows_ = rows;
  enter_draft_row(0);
  return Status::kOk;
}

// A row of the drafts' batch becomes the stream's last token.
void Context::enter_draft_row(size_t row) {
  remember(draft_batch_[row]);
  ++position_;
  batch_row_count_ = row + 1;
  logit_row_ = row;
  has_logits_ = true;
}

Status Context::draft_by_first_layers(int32_t token, uint32_t ahead, uint32_t layer_count,
                                      const std::atomic<uint32_t>& cancelled, std::span<const float>* logits) {
  assert(ahead <= draft_room());
  forget_rows();
  if (cancelled.load(std::memory_order_relaxed) != 0) return Status::kStopCancelled;
  SOTTO_TRY(forward_.evaluate_first_layers(token, position_ + ahead, layer_count, cancelled));
  *logits = forward_.logits(0);
  return Status::kOk;
}

}  // namespace sotto
