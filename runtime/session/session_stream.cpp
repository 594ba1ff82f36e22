// The stream of a session: what enters it, and what is taken back.
#include <algorithm>
#include <cassert>

#include "runtime/base/clock.h"
#include "runtime/session/session.h"

namespace sotto {

Status Session::check_tokens(std::span<const int32_t> tokens) const {
  const uint32_t vocabulary = model_->config().vocabulary_size;
  for (const int32_t token : tokens) {
    if (static_cast<uint32_t>(token) >= vocabulary) return Status::kInvalidArgument;
  }
  return Status::kOk;
}

Status Session::prefill(std::span<const int32_t> tokens) {
  SOTTO_TRY(check_tokens(tokens));
  SOTTO_TRY(begin_answer(tokens.size()));
  const uint64_t first = handed_out();
  Status status;
  {
    Stopwatch stopwatch(&timings_.prefill_ns);
    status = context_.append(tokens, cancelled_);
  }
  return end_answer(status, first);
}

// What comes before tokens are evaluated for an answer to follow.
Status Session::begin_answer(size_t count) {
  if (count == 0) return Status::kOk;
  if (take_back_held() != Status::kOk) held_.clear();
  const uint64_t room = params_.context_tokens - context_.token_count();
  if (params_.overflow == Overflow::kStop && count + (has_pending_ ? 1 : 0) > room) {
    return Status::kStopContextFull;
  }
  SOTTO_TRY(evaluate_pending(&cancelled_));
  begin_text();
  // Also if the prefill is cancelled before its first token.
  if (token_count() > 0) states_[token_count() - 1].flags |= TokenState::kTextEnd;
  return Status::kOk;
}

// What comes after them, also if only some were: those from `first` on.
Status Session::end_answer(Status status, uint64_t first) {
  const uint64_t count = handed_out();
  timings_.prefill_tokens += count - first;
  TokenState state;
  state.sampler = sampler_.initial_state();
  const uint64_t capacity = states_.capacity();
  for (uint64_t i = std::max(first, count > capacity ? count - capacity : 0); i < count; ++i) {
    states_.set(i, state);
  }
  if (count == first && count > 0) states_[count - 1].flags |= TokenState::kAnswerEnd;
  answer_start_ = count;
  answer_begin_ns_ = monotonic_ns();
  if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
  return status;
}

void Session::begin_text() {
  text_.clear();
  handed_out_mark_ = text_.mark();
  held_.clear();
  refused_.clear();
  refuse_newest_ = false;
  healing_.clear();
  end_ = Status::kOk;
}

// Evaluates the token that was generated or rewound to last, so that logits are there, and
// guesses of what follows it.
Status Session::evaluate_pending(std::atomic<uint32_t>* cancelled, std::span<const int32_t> drafts, bool want_logits) {
  if (!has_pending_) return Status::kOk;
  Stopwatch stopwatch(&timings_.decode_ns);
  const size_t room = std::min(drafts.size(), context_.draft_capacity());
  const Status status = context_.append({&pending_, 1}, *cancelled, drafts.first(room), want_logits);
  if (status == Status::kStopCancelled) cancelled->store(0, std::memory_order_relaxed);
  if (status != Status::kOk) return status;
  has_pending_ = false;
  ++timings_.decode_tokens;
  return Status::kOk;
}

// Makes the logits after the last token available, even after a cancelled prefill.
Status Session::ensure_logits(std::atomic<uint32_t>* cancelled) {
  SOTTO_TRY(evaluate_pending(cancelled));
  const Status status = context_.ensure_logits(*cancelled);
  if (status == Status::kStopCancelled) cancelled->store(0, std::memory_order_relaxed);
  return status;
}

Status Session::settle(Error* error) {
  if (token_count() == 0) return Status::kInvalidState;
  SOTTO_TRY(take_back_held(error));
  return ensure_logits(&cancelled_);
}

Status Session::logits(std::span<const float>* logits) {
  if (token_count() == 0) return Status::kInvalidState;
  SOTTO_TRY(ensure_logits(&cancelled_));
  *logits = context_.logits();
  return Status::kOk;
}

int32_t Session::token_at(uint64_t index) const {
  return index == context_.token_count() ? pending_ : context_.token_at(index);
}

// A generated token.
void Session::push(int32_t token, const TokenState& state) {
  assert(!has_pending_);
  states_.set(token_count(), state);
  pending_ = token;
  has_pending_ = true;
}

bool Session::can_cut(uint64_t count) const {
  // The last kept token is evaluated again, for its logits, unless only the pending one goes.
  return count == 0 || count >= context_.token_count() || context_.can_rewind(count - 1);
}

bool Session::can_take_back(uint64_t count) const { return count <= token_count() && can_cut(token_count() - count); }

void Session::cut(uint64_t count) {
  assert(can_cut(count) && count <= token_count());
  if (count == token_count()) return;
  if (count == context_.token_count()) {
    has_pending_ = false;
  } else if (count == 0) {
    context_.clear();
    has_pending_ = false;
  } else {
    pending_ = context_.token_at(count - 1);
    has_pending_ = true;
    context_.rewind(count - 1);
  }
}

// Cuts the stream, and with it what constraint and guide have seen of it.
Status Session::take_back_to(uint64_t count) {
  if (!can_cut(count)) return Status::kInvalidState;
  const uint64_t end = token_count();
  const uint64_t constrained = count == 0 ? constrained_count_ : states_.count(count, end, TokenState::kConstrained);
  const uint64_t guided = count == 0 ? guided_count_ : states_.count(count, end, TokenState::kGuided);
  if (guided > 0 && !guide_->can_take_back(guided)) return Status::kInvalidState;
  if (constrained > 0 && constrained == constrained_count_) {
    constraint_.restart(constraint_.self);
  } else if (constrained > 0) {
    SOTTO_TRY(constraint_.rewind(constraint_.self, constrained));
  }
  if (guided > 0) guide_->cut(guide_->token_count() - guided);
  constrained_count_ -= constrained;
  guided_count_ -= guided;
  cut(count);
  return Status::kOk;
}

Status Session::take_back_held(Error* error) {
  const Status status = held_.empty() ? Status::kOk : rewind(handed_out());
  if (status == Status::kOk) return status;
  return fail(error, status, "tokens are held that cannot be taken back");
}

Status Session::rewind(uint64_t count) {
  if (count > token_count()) return Status::kInvalidArgument;
  if (count == token_count()) return Status::kOk;
  const uint64_t settled = handed_out();
  SOTTO_TRY(take_back_to(count));
  if (count == 0) {
    forget_stream();
    return Status::kOk;
  }
  answer_start_ = find_answer_start(count);
  refused_.forget_from(count);
  refuse_newest_ = false;
  end_ = Status::kOk;
  held_.keep(count > settled ? static_cast<size_t>(count - settled) : 0);
  if (count < settled) {
    rebuild_text(count);
  } else {
    text_.cut(held_.empty() ? handed_out_mark_ : held_[held_.size() - 1].mark);
    rebuild_healing(count);
  }
  return Status::kOk;
}

void Session::reset() {
  if (constrained_count_ > 0) constraint_.restart(constraint_.self);
  if (guided_count_ > 0) {
    if (guide_->can_take_back(guided_count_)) {
      guide_->cut(guide_->token_count() - guided_count_);
    } else {
      lost_ = Status::kInvalidState;
    }
  }
  constrained_count_ = guided_count_ = 0;
  context_.clear();
  has_pending_ = false;
  forget_stream();
}

void Session::forget_stream() {
  answer_start_ = 0;
  states_.clear();
  begin_text();
}

// Where the answer began that a stream of `count` tokens ends in.
uint64_t Session::find_answer_start(uint64_t count) const {
  uint64_t start = count;
  while (start > states_.begin() && states_[start - 1].has(TokenState::kGenerated) &&
         !states_[start - 1].has(TokenState::kAnswerEnd)) {
    --start;
  }
  return start == states_.begin() ? std::min(start, answer_start_) : start;
}

// From where tokens must be read again to know how matching stands after `count`.
uint64_t Session::find_text_start(uint64_t count) const {
  constexpr size_t kBytes = 2 * StringMatcher::kMaxStringBytes;
  uint64_t start = count;
  for (size_t bytes = 0; start > states_.begin() && bytes < kBytes; --start) {
    const TokenState& before = states_[start - 1];
    if (!before.has(TokenState::kGenerated) || before.has(TokenState::kTextEnd)) break;
    bytes += bytes_of(token_at(start - 1)).size();
  }
  return start;
}

// Brings healing to where it stood after `count` tokens.
void Session::rebuild_healing(uint64_t count) {
  if (!healing_.was_begun()) return;
  if (count < healing_.place() || states_.begin() > healing_.place()) {
    return healing_.clear();
  }
  healing_.restart();
  for (uint64_t i = healing_.place(); i < count && !healing_.is_over(); ++i) {
    healing_.advance(bytes_of(token_at(i)).size());
  }
}

// Brings the text to where it stood when the last of `count` tokens had been handed out.
void Session::rebuild_text(uint64_t count) {
  const uint64_t start = find_text_start(count);
  text_.clear();
  rebuild_healing(start);
  for (uint64_t i = start; i < count; ++i) {
    const auto bytes = bytes_of(token_at(i));
    text_.replay(bytes, healing_.hidden(bytes.size()));
    healing_.advance(bytes.size());
  }
  text_.resume(start < count ? states_[count - 1].untaken : 0);
  handed_out_mark_ = text_.mark();
}

}  // namespace sotto
