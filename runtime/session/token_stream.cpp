#include "runtime/session/token_stream.h"

#include <array>
#include <cassert>

#include "runtime/base/clock.h"

namespace sotto {

uint64_t TokenStates::count(uint64_t first, uint64_t end, TokenState::Flags flag) const {
  uint64_t found = 0;
  for (uint64_t index = first; index < end; ++index) found += (*this)[index].has(flag) ? 1 : 0;
  return found;
}

void TokenStates::clear_flag(TokenState::Flags flag, uint64_t end) {
  for (uint64_t index = begin_; index < end; ++index) {
    (*this)[index].flags = static_cast<uint16_t>((*this)[index].flags & ~flag);
  }
}

void TokenStream::layout(Arena& arena, const Model& model, const ResolvedSessionParams& params) {
  model_ = &model;
  params_ = params;
  kv_.layout(arena, model.config(), params);
  states_.layout(arena, kv_.history_size());
}

TokenHistory TokenStream::history(uint64_t count) const {
  std::span<const int32_t> older, newer;
  kv_.newest(count, &older, &newer);
  if (!cursor_.has_pending) return {older, newer};
  return TokenHistory(older, newer, {&cursor_.pending, 1}).last(static_cast<size_t>(count));
}

std::span<const char> TokenStream::bytes_of(int32_t token) const {
  const TokenizerView* tokenizer = model_->tokenizer();
  if (tokenizer == nullptr) return {"", size_t{0}};
  return tokenizer->bytes_of(static_cast<uint32_t>(token));
}

uint64_t TokenStream::answer_ns() const { return monotonic_ns() - cursor_.answer_begin_ns; }

void TokenStream::begin_answer(uint64_t first, uint64_t count, const SamplerState& sampler) {
  timings_.prefill_tokens += count - first;
  TokenState state;
  state.sampler = sampler;
  const uint64_t capacity = states_.capacity();
  for (uint64_t i = std::max(first, count > capacity ? count - capacity : 0); i < count; ++i) {
    states_.set(i, state);
  }
  // Without a prompt between them, only this flag separates two answers.
  if (count == first && count > 0) states_[count - 1].flags |= TokenState::kAnswerEnd;
  cursor_.answer_start = count;
  cursor_.answer_begin_ns = monotonic_ns();
}

void TokenStream::find_answer_start() {
  uint64_t start = token_count();
  while (start > states_.begin() && states_[start - 1].has(TokenState::kGenerated) &&
         !states_[start - 1].has(TokenState::kAnswerEnd)) {
    --start;
  }
  // An answer that began before the oldest state keeps its start.
  cursor_.answer_start = start == states_.begin() ? std::min(start, cursor_.answer_start) : start;
}

void TokenStream::mark_answer_start() {
  cursor_.answer_start = token_count();
  states_[cursor_.answer_start - 1].flags |= TokenState::kAnswerEnd | TokenState::kTextEnd;
}

Status TokenStream::evaluate(Cancellation* cancellation, std::span<const int32_t> drafts, bool want_logits) {
  if (!cursor_.has_pending) return Status::kOk;
  Stopwatch stopwatch(&timings_.decode_ns);
  const size_t count = std::min(drafts.size(), kv_.draft_capacity());
  const Status status = kv_.append({&cursor_.pending, 1}, *cancellation, drafts.first(count), want_logits);
  SOTTO_TRY(cancellation->consume(status));
  cursor_.has_pending = false;
  ++timings_.decode_tokens;
  return Status::kOk;
}

void TokenStream::evaluate_each(std::span<TokenStream* const> streams, ThreadPool* pool) {
  const uint64_t begin_ns = monotonic_ns();
  std::array<KvSequence::Appended, KvSequence::kMaxSequences> tokens;
  for (size_t i = 0; i < streams.size(); ++i) tokens[i] = {&streams[i]->kv_, streams[i]->cursor_.pending};
  KvSequence::append_each({tokens.data(), streams.size()}, pool);
  const uint64_t share_ns = (monotonic_ns() - begin_ns) / streams.size();
  for (TokenStream* stream : streams) {
    stream->cursor_.has_pending = false;
    stream->timings_.decode_ns += share_ns;
    ++stream->timings_.decode_tokens;
  }
}

Status TokenStream::evaluate_logits(Cancellation* cancellation) {
  SOTTO_TRY(evaluate(cancellation));
  return cancellation->consume(kv_.ensure_logits(*cancellation));
}

Status TokenStream::push(int32_t token, size_t healed, TokenState state) {
  state.flags = TokenState::kGenerated;
  SOTTO_TRY(constrain(token, healed, &state));
  if (guide_ != nullptr) {
    guide_->set_pending(token, {});
    state.flags |= TokenState::kGuided;
    ++guided_count_;
  }
  set_pending(token, state);
  return Status::kOk;
}

void TokenStream::set_pending(int32_t token, const TokenState& state) {
  assert(!cursor_.has_pending);
  states_.set(token_count(), state);
  cursor_.pending = token;
  cursor_.has_pending = true;
}

// Passes a token to the constraint, without the part that token healing hides.
Status TokenStream::constrain(int32_t token, size_t healed, TokenState* state) {
  if (!constraint_.is_set()) return Status::kOk;
  Stopwatch stopwatch(&timings_.sample_ns);
  const auto bytes = bytes_of(token);
  if (healed == 0) {
    SOTTO_TRY(constraint_.accept_token(0, token));
  } else if (healed < bytes.size()) {
    SOTTO_TRY(constraint_.accept_text(0, bytes.subspan(healed)));
  } else {
    return Status::kOk;
  }
  state->flags |= TokenState::kConstrained;
  ++constrained_count_;
  return Status::kOk;
}

bool TokenStream::can_truncate(uint64_t count) const {
  // Unless only the pending token is removed, the last remaining token becomes pending: it must be evaluated again to
  // obtain its logits.
  return count == 0 || count >= kv_.token_count() || kv_.can_rewind(count - 1);
}

void TokenStream::truncate(uint64_t count) {
  assert(can_truncate(count) && count <= token_count());
  if (count == token_count()) return;
  if (count == kv_.token_count()) {
    cursor_.has_pending = false;
  } else if (count == 0) {
    kv_.clear();
    cursor_.has_pending = false;
  } else {
    cursor_.pending = kv_.token_at(count - 1);
    cursor_.has_pending = true;
    kv_.rewind(count - 1);
  }
}

// Returns how many of the tokens from `count` on the constraint has received.
uint64_t TokenStream::constrained_since(uint64_t count) const {
  return count == 0 ? constrained_count_ : states_.count(count, token_count(), TokenState::kConstrained);
}

// Returns how many of the tokens from `count` on the guide has received.
uint64_t TokenStream::guided_since(uint64_t count) const {
  return count == 0 ? guided_count_ : states_.count(count, token_count(), TokenState::kGuided);
}

bool TokenStream::can_rewind(uint64_t count) const {
  if (!can_truncate(count)) return false;
  const uint64_t guided = guided_since(count);
  if (guided > 0 && (guided > guide_->token_count() || !guide_->can_truncate(guide_->token_count() - guided))) {
    return false;
  }
  // The constraint can always return to its start.
  const uint64_t constrained = constrained_since(count);
  return constrained == constrained_count_ || constraint_.can_rewind(constrained);
}

Status TokenStream::rewind(uint64_t count) {
  if (!can_rewind(count)) return Status::kInvalidState;
  const uint64_t constrained = constrained_since(count), guided = guided_since(count);
  if (constrained > 0 && constrained == constrained_count_) {
    constraint_.restart();
  } else if (constrained > 0) {
    SOTTO_TRY(constraint_.rewind(constrained));
  }
  if (guided > 0) guide_->truncate(guide_->token_count() - guided);
  constrained_count_ -= constrained;
  guided_count_ -= guided;
  truncate(count);
  if (count == 0) {
    cursor_.answer_start = 0;
    states_.clear();
  }
  return Status::kOk;
}

void TokenStream::clear() {
  if (constrained_count_ > 0) constraint_.restart();
  if (guided_count_ > 0) {
    if (guided_count_ <= guide_->token_count() && guide_->can_truncate(guide_->token_count() - guided_count_)) {
      guide_->truncate(guide_->token_count() - guided_count_);
    } else {
      guide_status_ = Status::kInvalidState;
    }
  }
  constrained_count_ = guided_count_ = 0;
  kv_.clear();
  cursor_.has_pending = false;
  cursor_.answer_start = 0;
  states_.clear();
}

Status TokenStream::mirror(std::span<const int32_t> text, uint64_t first, Cancellation* cancellation) {
  cursor_.has_pending = false;
  const uint64_t known = kv_.token_count();
  const uint64_t oldest = std::max(first, mirrored_from_ + known - std::min<uint64_t>(known, kv_.history_size()));
  const uint64_t end = std::min(first + text.size(), mirrored_from_ + known);
  // Find the end of the common prefix, as far back as this stream remembers its tokens.
  uint64_t agreed = oldest;
  while (agreed < end && kv_.token_at(agreed - mirrored_from_) == text[static_cast<size_t>(agreed - first)]) {
    ++agreed;
  }
  const uint64_t kept = agreed - std::min(agreed, mirrored_from_);
  const bool fits =
      params_.overflow != Overflow::kStop || first + text.size() - mirrored_from_ <= params_.context_tokens;
  // If the text adds no token, the last common one is evaluated again for its logits, so the sequence must be able to
  // rewind to the token before it.
  const bool is_followed = agreed < first + text.size() || kept == known;
  if (agreed > oldest && kv_.can_rewind(is_followed ? kept : kept - 1) && fits) {
    if (kept < known) kv_.rewind(kept);
  } else {
    // Start again. If the text exceeds the context, evaluate only its newer half, to leave space for the tokens to
    // come.
    const size_t max_tokens = params_.context_tokens;
    const size_t taken = text.size() < max_tokens ? text.size() : max_tokens / 2;
    kv_.clear();
    states_.clear();
    agreed = mirrored_from_ = first + text.size() - taken;
  }
  SOTTO_TRY(cancellation->consume(kv_.append(text.subspan(static_cast<size_t>(agreed - first)), *cancellation)));
  for (uint64_t i = agreed - mirrored_from_; i < token_count(); ++i) states_.set(i, {});
  return cancellation->consume(kv_.ensure_logits(*cancellation));
}

void TokenStream::set_constraint(const TokenConstraint& constraint) {
  constraint_ = constraint;
  if (constraint_.is_set()) constraint_.mark_start();
  constrained_count_ = 0;
  states_.clear_flag(TokenState::kConstrained, token_count());
}

void TokenStream::set_guide(TokenStream* guide) {
  guide_ = guide;
  guide_status_ = Status::kOk;
  guided_count_ = 0;
  states_.clear_flag(TokenState::kGuided, token_count());
}

}  // namespace sotto
