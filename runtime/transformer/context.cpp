#include "runtime/transformer/context.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/clock.h"

namespace sotto {

void Context::lay_out(const ModelConfig& config, const ContextParams& params, Arena* arena) {
  params_ = params;
  position_limit_ = params.overflow == Overflow::kRing ? config.position_count : params.context_tokens;
  history_size_ = size_t{2} * params.context_tokens;
  history_ = arena->take<int32_t>(history_size_);
  sinks_ = arena->take<int32_t>(params.sink_tokens);
  chunk_tokens_ = arena->take<int32_t>(params.batch_tokens);
  forward_.lay_out(config,
                   {params.context_tokens, params.sink_tokens, params.batch_tokens, params.sequence_count,
                    params.sequence_tokens, params.features, params.draft_tokens},
                   arena);
  position_count_ = config.position_count;
  branches_.lay_out(params.sequence_count, params.sequence_tokens, arena);
  branch_rows_ = arena->take<BranchRow>(params.sequence_count);
}

Status Context::init(const Model& model, ThreadPool* pool, Error* error) { return forward_.init(model, pool, error); }

void Context::clear() {
  token_count_ = 0;
  position_ = 0;
  anchor_ = 0;
  reanchor_due_ = false;
  forget_rows();
}

void Context::forget_rows() {
  has_logits_ = false;
  batch_row_count_ = logit_row_ = draft_rows_ = 0;
}

void Context::remember(int32_t token) {
  if (token_count_ < params_.sink_tokens) sinks_[token_count_] = token;
  history_[token_count_ % history_size_] = token;
  ++token_count_;
}

Status Context::append(std::span<const int32_t> tokens, const std::atomic<uint32_t>& cancelled, bool want_logits) {
  if (tokens.empty()) return Status::kOk;
  if (params_.overflow == Overflow::kStop && tokens.size() > position_limit_ - position_) {
    return Status::kStopContextFull;
  }
  if (tokens.size() == 1 && is_drafted(tokens[0])) {
    if (cancelled.load(std::memory_order_relaxed) != 0) return Status::kStopCancelled;
    enter_draft_row(batch_row_count_);
    return Status::kOk;
  }
  while (!tokens.empty()) {
    size_t count;
    SOTTO_TRY(append_batch(tokens, want_logits, &count, cancelled));
    tokens = tokens.subspan(count);
  }
  return Status::kOk;
}

Status Context::append_batch(std::span<const int32_t> tokens, bool want_logits, size_t* count,
                             const std::atomic<uint32_t>& cancelled) {
  *count = 0;
  if (tokens.empty()) return Status::kOk;
  if (params_.overflow == Overflow::kStop && tokens.size() > position_limit_ - position_) {
    return Status::kStopContextFull;
  }
  if (reanchor_due_ || position_ == position_limit_) SOTTO_TRY(reanchor(cancelled));
  const size_t taken = std::min({tokens.size(), size_t{params_.batch_tokens}, size_t{position_limit_ - position_}});
  const bool wanted = want_logits && taken == tokens.size();
  SOTTO_TRY(evaluate_chunk(tokens.first(taken), wanted, cancelled));
  for (const int32_t token : tokens.first(taken)) remember(token);
  has_logits_ = wanted;
  *count = taken;
  return Status::kOk;
}

Status Context::evaluate_chunk(std::span<const int32_t> tokens, bool want_logits,
                               const std::atomic<uint32_t>& cancelled) {
  forget_rows();
  if (cancelled.load(std::memory_order_relaxed) != 0) return Status::kStopCancelled;
  SOTTO_TRY(forward_.evaluate(tokens, position_, want_logits, cancelled));
  position_ += static_cast<uint32_t>(tokens.size());
  batch_row_count_ = tokens.size();
  return Status::kOk;
}

Status Context::ensure_logits(const std::atomic<uint32_t>& cancelled) {
  if (has_logits_) return Status::kOk;
  SOTTO_TRY(ensure_last_row(cancelled));
  return compute_row_logits(batch_row_count_ - 1, 1);
}

Status Context::compute_allowed_logits(const TokenMask& mask, const std::atomic<uint32_t>& cancelled,
                                       std::span<const float>* logits) {
  SOTTO_TRY(ensure_last_row(cancelled));
  has_logits_ = false;
  logit_row_ = draft_rows_ = 0;
  forward_.compute_allowed_logits(batch_row_count_ - 1, mask);
  *logits = forward_.logits(0);
  return Status::kOk;
}

Status Context::ensure_last_row(const std::atomic<uint32_t>& cancelled) {
  assert(token_count_ > 0);
  if (reanchor_due_) return reanchor(cancelled);
  if (batch_row_count_ > 0) return Status::kOk;
  const int32_t last = token_at(token_count_ - 1);
  --position_;  // the token keeps its place; its slot receives the same bytes again
  const Status status = evaluate_chunk({&last, 1}, /*want_logits=*/false, cancelled);
  if (status != Status::kOk) ++position_;
  return status;
}

Status Context::compute_row_logits(size_t first_row, size_t count) {
  assert(count > 0 && first_row + count <= batch_row_count_);
  has_logits_ = false;
  logit_row_ = draft_rows_ = 0;
  SOTTO_TRY(forward_.compute_logits(first_row, count));
  has_logits_ = first_row + 1 == batch_row_count_;
  return Status::kOk;
}

void Context::begin_branches() {
  assert(token_count_ > 0 && !reanchor_due_);
  if (has_logits_ && logit_row_ != 0) {
    std::copy_n(logits().data(), logits().size(), forward_.logits(0).data());
  }
  has_logits_ = false;
  logit_row_ = draft_rows_ = 0;
  branches_.begin(params_.context_tokens, forward_.ring().window_of(position_ - 1));
}

Status Context::grow_branches(std::span<const BranchStep> steps, const std::atomic<uint32_t>& cancelled) {
  forget_rows();
  if (cancelled.load(std::memory_order_relaxed) != 0) return Status::kStopCancelled;
  branches_.grow(steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    branch_rows_[i] = {steps[i].token, position_ + branches_.grown_depth(i), branches_.grown_slot(i),
                       branches_.grown_window(i)};
    assert(branch_rows_[i].position < position_count_);
  }
  const Status status = forward_.evaluate_branches({branch_rows_, steps.size()}, cancelled);
  if (status == Status::kOk) {
    branches_.commit();
  } else {
    branches_.roll_back();
  }
  return status;
}

float Context::branch_similarity(uint32_t step) const {
  return forward_.hidden_history().max_similarity(branch_rows_[step].slot, branch_rows_[step].window);
}

// How many tokens beside the sinks survive a re-anchoring.
uint32_t Context::newest_kept() const {
  return params_.overflow == Overflow::kRing ? params_.context_tokens / 2 - params_.sink_tokens
                                             : (params_.context_tokens - params_.sink_tokens) / 2;
}

int32_t Context::kept_token(uint32_t index, uint32_t newest) const {
  if (index < params_.sink_tokens) return sinks_[index];
  return token_at(token_count_ - newest + (index - params_.sink_tokens));
}

// Evaluates the sinks and the newest tokens again from position 0.
Status Context::reanchor(const std::atomic<uint32_t>& cancelled) {
  Stopwatch stopwatch(&reanchor_timings_.ns);
  const uint32_t newest = newest_kept();
  const uint32_t kept = params_.sink_tokens + newest;
  reanchor_due_ = true;
  position_ = 0;
  while (position_ < kept) {
    const uint32_t count = std::min(params_.batch_tokens, kept - position_);
    for (uint32_t i = 0; i < count; ++i) chunk_tokens_[i] = kept_token(position_ + i, newest);
    SOTTO_TRY(evaluate_chunk({chunk_tokens_, count}, /*want_logits=*/false, cancelled));
  }
  reanchor_due_ = false;
  anchor_ = token_count_;
  ++reanchor_count_;
  reanchor_timings_.tokens += kept;
  return Status::kOk;
}

bool Context::can_rewind(uint64_t count) const {
  if (count > token_count_) return false;
  if (count == token_count_) return true;
  const uint64_t dropped = token_count_ - count;
  // What the stream saw before the last re-anchoring is gone; and a token that has
  // overwritten a slot took it from the windows of all tokens before it.
  if (reanchor_due_ || count < anchor_) return false;
  return position_ <= params_.context_tokens || dropped == 1;
}

void Context::rewind(uint64_t count) {
  assert(can_rewind(count));
  position_ -= static_cast<uint32_t>(token_count_ - count);
  token_count_ = count;
  forget_rows();
}

void Context::newest(uint64_t count, std::span<const int32_t>* older, std::span<const int32_t>* newer) const {
  const auto wanted = static_cast<size_t>(std::min({count, uint64_t{params_.context_tokens}, token_count_}));
  const auto end = static_cast<size_t>(token_count_ % history_size_);
  const size_t newer_count = std::min(wanted, end);
  const size_t older_count = wanted - newer_count;
  *newer = {history_ + (end - newer_count), newer_count};
  *older = {history_ + (history_size_ - older_count), older_count};
}

uint32_t Context::cached_tokens() const { return std::min(position_, params_.context_tokens); }

}  // namespace sotto
