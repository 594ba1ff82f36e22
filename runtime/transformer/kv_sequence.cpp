#include "runtime/transformer/kv_sequence.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "runtime/base/clock.h"

namespace sotto {

void KvSequence::layout(Arena& arena, const ModelConfig& config, const ResolvedSessionParams& params) {
  params_ = params;
  position_limit_ = params.overflow == Overflow::kRing ? config.position_count : params.context_tokens;
  position_count_ = config.position_count;
  history_size_ = size_t{2} * params.context_tokens;
  history_ = arena.take<int32_t>(history_size_);
  sinks_ = arena.take<int32_t>(params.sink_tokens);
  kept_batch_ = arena.take<int32_t>(params.batch_tokens);
  embedding_size_ = config.embedding_size;
  newest_embedding_ = arena.take<float>(embedding_size_);
  const bool has_layers = (params.features & kFeatureDola) != 0;
  const bool has_history = (params.features & kFeatureHiddenHistory) != 0;
  const size_t slots = size_t{params.context_tokens} + params.sequence_count * params.sequence_tokens;
  layer_states_.layout(arena, has_layers ? config.layer_count : 0, size_t{params.draft_tokens} + 1, embedding_size_);
  hidden_history_.layout(arena, has_history ? slots : 0, embedding_size_);
  forward_.layout(arena, config, params,
                  {has_layers ? &layer_states_ : nullptr, has_history ? &hidden_history_ : nullptr});
}

void KvSequence::clear() {
  cursor_ = {.reanchor_count = cursor_.reanchor_count};
  embedded_count_ = 0;
  forget_rows();
}

void KvSequence::forget_logits() {
  logits_ = {};
  draft_rows_ = 0;
}

void KvSequence::forget_rows() {
  forget_logits();
  batch_row_count_ = 0;
}

// Returns whether `count` more tokens fit, or may replace the oldest tokens.
bool KvSequence::fits(size_t count) const {
  return params_.overflow != Overflow::kStop || count <= position_limit_ - cursor_.position;
}

void KvSequence::remember(int32_t token) {
  if (cursor_.token_count < params_.sink_tokens) sinks_[cursor_.token_count] = token;
  history_[cursor_.token_count % history_size_] = token;
  ++cursor_.token_count;
}

Status KvSequence::append(std::span<const int32_t> tokens, const Cancellation& cancellation,
                          std::span<const int32_t> drafts, bool want_logits) {
  if (tokens.empty()) return Status::kOk;
  if (!fits(tokens.size())) return Status::kStopContextFull;
  // The token has been evaluated as a draft, so it only has to be appended.
  if (tokens.size() == 1 && is_drafted(tokens[0])) {
    if (cancellation.is_requested()) return Status::kStopCancelled;
    accept_draft(batch_row_count_);
    return Status::kOk;
  }
  if (!drafts.empty()) {
    assert(tokens.size() == 1);
    return append_with_drafts(tokens[0], drafts, cancellation);
  }
  while (!tokens.empty()) {
    size_t count;
    SOTTO_TRY(append_batch(tokens, want_logits, &count, cancellation));
    tokens = tokens.subspan(count);
  }
  return Status::kOk;
}

void KvSequence::append_each(std::span<const Appended> tokens, ThreadPool* pool) {
  std::array<TokenRow, kMaxSequences> rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    KvSequence& sequence = *tokens[i].sequence;
    assert(sequence.can_append_with_others(tokens[i].token));
    rows[i] = {&sequence.forward_, tokens[i].token, sequence.cursor_.position};
  }
  rows[0].forward->evaluate_streams({rows.data(), tokens.size()}, pool);
  for (const auto& [sequence, token] : tokens) {
    sequence->forget_rows();
    sequence->remember(token);
    ++sequence->cursor_.position;
    sequence->batch_row_count_ = 1;
    sequence->logits_ = sequence->forward_.logits(0);
  }
}

Status KvSequence::append_batch(std::span<const int32_t> tokens, bool want_logits, size_t* count,
                                const Cancellation& cancellation) {
  *count = 0;
  if (tokens.empty()) return Status::kOk;
  if (!fits(tokens.size())) return Status::kStopContextFull;
  if (cursor_.reanchor_due || cursor_.position == position_limit_) SOTTO_TRY(reanchor(cancellation));
  const size_t taken =
      std::min({tokens.size(), size_t{params_.batch_tokens}, size_t{position_limit_ - cursor_.position}});
  const bool wanted = want_logits && taken == tokens.size();
  SOTTO_TRY(evaluate_batch(tokens.first(taken), wanted, cancellation));
  for (const int32_t token : tokens.first(taken)) remember(token);
  if (wanted) logits_ = forward_.logits(0);
  *count = taken;
  return Status::kOk;
}

Status KvSequence::append_embeddings(const float* embeddings, size_t count, const Cancellation& cancellation) {
  assert(cursor_.token_count == 0 && params_.overflow == Overflow::kStop);
  if (!fits(count)) return Status::kStopContextFull;
  clear();
  // Only the number of these tokens matters, because rows of embeddings take the place of theirs.
  std::fill_n(kept_batch_, params_.batch_tokens, 0);
  while (count > 0) {
    const size_t taken = std::min(count, size_t{params_.batch_tokens});
    const Status status = evaluate_batch({kept_batch_, taken}, taken == count, cancellation, embeddings);
    if (status != Status::kOk) {
      clear();
      return status;
    }
    for (size_t i = 0; i < taken; ++i) remember(0);
    embedded_count_ = cursor_.token_count;
    embeddings += taken * embedding_size_;
    count -= taken;
    std::copy_n(embeddings - embedding_size_, embedding_size_, newest_embedding_);
  }
  logits_ = forward_.logits(0);
  return Status::kOk;
}

Status KvSequence::evaluate_batch(std::span<const int32_t> tokens, bool want_logits, const Cancellation& cancellation,
                                  const float* embeddings) {
  forget_rows();
  SOTTO_TRY(forward_.evaluate({.tokens = tokens, .first_position = cursor_.position, .embeddings = embeddings},
                              cancellation));
  if (want_logits) forward_.compute_logits(tokens.size() - 1, 1);
  cursor_.position += static_cast<uint32_t>(tokens.size());
  batch_row_count_ = tokens.size();
  return Status::kOk;
}

Status KvSequence::ensure_logits(const Cancellation& cancellation) {
  if (has_logits()) return Status::kOk;
  SOTTO_TRY(ensure_last_row(cancellation));
  compute_row_logits(batch_row_count_ - 1, 1);
  return Status::kOk;
}

Status KvSequence::compute_allowed_logits(const TokenMask& mask, const Cancellation& cancellation,
                                          std::span<const float>* logits) {
  SOTTO_TRY(ensure_last_row(cancellation));
  forget_logits();
  forward_.compute_allowed_logits(batch_row_count_ - 1, mask);
  *logits = forward_.logits(0);
  return Status::kOk;
}

Status KvSequence::take_logits(const Cancellation& cancellation) {
  SOTTO_TRY(ensure_logits(cancellation));
  const std::span<float> first = forward_.logits(0);
  if (logits_.data() != first.data()) std::copy(logits_.begin(), logits_.end(), first.begin());
  forget_logits();
  return Status::kOk;
}

Status KvSequence::evaluate_rows(std::span<const TokenRow> rows, const Cancellation& cancellation) {
  forget_rows();
  SOTTO_TRY(forward_.evaluate({.rows = rows}, cancellation));
  forward_.compute_logits(0, rows.size());
  return Status::kOk;
}

Status KvSequence::ensure_last_row(const Cancellation& cancellation) {
  assert(cursor_.token_count > 0);
  if (cursor_.reanchor_due) return reanchor(cancellation);
  if (batch_row_count_ > 0) return Status::kOk;
  const int32_t last = token_at(cursor_.token_count - 1);
  const float* embedding = cursor_.token_count == embedded_count_ ? newest_embedding_ : nullptr;
  // The token keeps its position, and its slot is filled with the same bytes again. (can_rewind() has an exception.)
  --cursor_.position;
  const Status status = evaluate_batch({&last, 1}, /*want_logits=*/false, cancellation, embedding);
  if (status != Status::kOk) ++cursor_.position;
  return status;
}

void KvSequence::compute_row_logits(size_t first_row, size_t count) {
  assert(count > 0 && first_row + count <= batch_row_count_);
  forget_logits();
  forward_.compute_logits(first_row, count);
  if (first_row + 1 == batch_row_count_) logits_ = forward_.logits(0);
}

// Returns 0 once slots have been overwritten, because tokens of the stream still attend to the slots that drafts would
// take.
size_t KvSequence::draft_capacity() const {
  if (cursor_.reanchor_due || cursor_.position + 1 >= params_.context_tokens) return 0;
  return std::min(params_.draft_tokens, params_.context_tokens - cursor_.position - 1);
}

std::span<const int32_t> KvSequence::drafts() const {
  if (draft_rows_ == 0) return {};
  return {draft_batch_ + batch_row_count_, draft_rows_ - batch_row_count_};
}

Status KvSequence::append_with_drafts(int32_t token, std::span<const int32_t> drafts,
                                      const Cancellation& cancellation) {
  assert(drafts.size() <= draft_capacity());
  const size_t rows = drafts.size() + 1;
  draft_batch_[0] = token;
  std::copy(drafts.begin(), drafts.end(), draft_batch_ + 1);
  forget_rows();
  SOTTO_TRY(forward_.evaluate({.tokens = {draft_batch_, rows}, .first_position = cursor_.position}, cancellation));
  // Every row needs logits, because the next token is drawn from those after the last accepted draft.
  forward_.compute_logits(0, rows);
  draft_rows_ = rows;
  accept_draft(0);
  return Status::kOk;
}

// Appends the draft in a row of the last batch to the stream.
void KvSequence::accept_draft(size_t row) {
  remember(draft_batch_[row]);
  ++cursor_.position;
  batch_row_count_ = row + 1;
  logits_ = forward_.logits(row);
}

Status KvSequence::draft_by_first_layers(int32_t token, uint32_t ahead, uint32_t layer_count,
                                         const Cancellation& cancellation, std::span<const float>* logits) {
  assert(ahead <= draft_capacity());
  forget_rows();
  const TokenBatch batch = {
      .tokens = {&token, 1}, .first_position = cursor_.position + ahead, .layer_count = layer_count};
  SOTTO_TRY(forward_.evaluate(batch, cancellation));
  forward_.compute_logits(0, 1);
  *logits = forward_.logits(0);
  return Status::kOk;
}

// Returns how many of the newest tokens re-anchoring keeps in addition to the sinks: about half of the context, so that
// many tokens can follow before the next re-anchoring. As sotto_overflow promises, kRing keeps half of the context
// including the sinks, and kShift keeps the sinks and half of the other tokens.
uint32_t KvSequence::newest_kept() const {
  return params_.overflow == Overflow::kRing ? params_.context_tokens / 2 - params_.sink_tokens
                                             : (params_.context_tokens - params_.sink_tokens) / 2;
}

// Evaluates the sinks and the newest tokens again from position 0.
Status KvSequence::reanchor(const Cancellation& cancellation) {
  Stopwatch stopwatch(&reanchor_timings_.ns);
  const uint32_t newest = newest_kept();
  const uint32_t kept = params_.sink_tokens + newest;
  const auto kept_token = [&](uint32_t index) {
    if (index < params_.sink_tokens) return sinks_[index];
    return token_at(cursor_.token_count - newest + (index - params_.sink_tokens));
  };
  cursor_.reanchor_due = true;
  cursor_.position = 0;
  while (cursor_.position < kept) {
    const uint32_t count = std::min(params_.batch_tokens, kept - cursor_.position);
    for (uint32_t i = 0; i < count; ++i) kept_batch_[i] = kept_token(cursor_.position + i);
    SOTTO_TRY(evaluate_batch({kept_batch_, count}, /*want_logits=*/false, cancellation));
  }
  cursor_.reanchor_due = false;
  cursor_.anchor = cursor_.token_count;
  ++cursor_.reanchor_count;
  reanchor_timings_.tokens += kept;
  return Status::kOk;
}

bool KvSequence::can_rewind(uint64_t count) const {
  if (count > cursor_.token_count || count < embedded_count_) return false;
  if (count == cursor_.token_count) return true;
  const uint64_t dropped = cursor_.token_count - count;
  // Re-anchoring replaces all keys and values, so no rewind crosses it, nor begins while it is due. In a full ring,
  // each token overwrites the oldest slot, which is then lost to the tokens that attended to it. So only the newest
  // token can be dropped, and another one must take its slot before a second token is dropped or logits are requested.
  if (cursor_.reanchor_due || count < cursor_.anchor) return false;
  return cursor_.position <= params_.context_tokens || dropped == 1;
}

void KvSequence::rewind(uint64_t count) {
  assert(can_rewind(count));
  cursor_.position -= static_cast<uint32_t>(cursor_.token_count - count);
  cursor_.token_count = count;
  forget_rows();
}

void KvSequence::newest(uint64_t count, std::span<const int32_t>* older, std::span<const int32_t>* newer) const {
  const auto wanted =
      static_cast<size_t>(std::min({count, uint64_t{params_.context_tokens}, cursor_.token_count - embedded_count_}));
  const auto end = static_cast<size_t>(cursor_.token_count % history_size_);
  const size_t newer_count = std::min(wanted, end);
  const size_t older_count = wanted - newer_count;
  *newer = {history_ + (end - newer_count), newer_count};
  *older = {history_ + (history_size_ - older_count), older_count};
}

uint32_t KvSequence::cached_tokens() const { return std::min(cursor_.position, params_.context_tokens); }

}  // namespace sotto
