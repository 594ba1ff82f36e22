#include "runtime/session/output/text_output.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "runtime/base/clock.h"
#include "runtime/base/scalar_math.h"
#include "runtime/text/spelling.h"

namespace sotto {

void TextOutput::clear() {
  text_.clear();
  emitted_mark_ = text_.mark();
  state_->buffer.truncate(0);
  state_->rejected.restore({}, 0);
  state_->reject_newest = false;
  state_->healing.clear();
  state_->ending = {};
  if (stream_->token_count() > 0) stream_->last_state().flags |= TokenState::kTextEnd;
}

BufferedToken& TextOutput::buffer(int32_t token) {
  assert(!state_->buffer.full());
  BufferedToken& buffered = state_->buffer.push();
  buffered.piece = kEmptyPiece;
  buffered.piece.token = token;
  return buffered;
}

void TextOutput::add_text(uint64_t begin_ns) {
  BufferedToken& newest = state_->buffer.newest();
  const TokenText text = text_of(stream_->token_count() - 1);
  const TextStream::Found found = text_.append(text.bytes, text.healed);
  newest.mark = text_.mark();
  newest.piece.elapsed_ns = monotonic_ns() - begin_ns;
  if (found == TextStream::Found::kStop) state_->ending.expect(Status::kStopString);
  if (found == TextStream::Found::kBan) reject(find_ban_start());
}

void TextOutput::end_text(Status stop) {
  // No token is left at this place, so its rejected tokens are allowed again. From now on, the newest token is rejected
  // instead of a banned string's first one.
  if (stop == Status::kStopBanned && !state_->reject_newest) {
    state_->reject_newest = true;
    state_->rejected.drop_from(stream_->token_count());
  } else if (stop == Status::kStopBanned && !state_->buffer.empty()) {
    // Still no token is left, so roll back one token.
    reject(state_->buffer.size() - 1);
  } else {
    state_->ending.expect(stop);
  }
}

bool TextOutput::is_ready() const {
  if (state_->ending.pending() != Status::kOk) return true;
  // The oldest token is certain if its text ends before any possible beginning of a banned string. If the buffer is
  // full, the token cannot wait any longer.
  return !state_->buffer.empty() && (state_->buffer.full() || state_->buffer[0].mark.end <= text_.bannable_from());
}

// Returns the index of the buffered token where the banned string begins, or the newest one if that token has been
// emitted.
size_t TextOutput::find_ban_start() const {
  const uint64_t start = text_.ban_start();
  size_t index = 0;
  if (state_->reject_newest || start < emitted_mark_.end) return state_->buffer.size() - 1;
  while (state_->buffer[index].mark.end <= start) ++index;
  return index;
}

// Rewinds the stream to the place of a buffered token and rejects the token there. If the ring or the constraint cannot
// be rewound that far, the newest token is rejected instead. If even the newest token cannot be removed, it stays in
// the stream, and the text ends before it.
void TextOutput::reject(size_t index) {
  const uint64_t first = emitted_count();
  const size_t newest = state_->buffer.size() - 1;
  int32_t token = state_->buffer[index].piece.token;
  if (truncate(first + index) != Status::kOk) {
    token = state_->buffer[newest].piece.token;
    if (truncate(first + newest) != Status::kOk) {
      text_.cut(mark_after(newest));
      state_->buffer[newest].mark = text_.mark();
      state_->ending.expect(Status::kStopBanned);
      return;
    }
  }
  if (!state_->rejected.add(stream_->token_count(), token)) state_->ending.expect(Status::kStopBanned);
}

Status TextOutput::emit(Piece* piece) {
  if (state_->buffer.empty()) return flush(state_->ending.pending(), piece);
  const uint64_t index = emitted_count();
  const BufferedToken& oldest = state_->buffer.pop();
  const uint64_t end = std::min(oldest.mark.end, text_.end());
  const auto text = text_.take(std::min(end, text_.withheld_from()));
  // A rewind to this token withholds the same number of bytes again, including those after a stop string.
  stream_->states()[index].withheld = static_cast<uint16_t>(oldest.mark.end - std::min(oldest.mark.end, text_.taken()));
  emitted_mark_ = oldest.mark;
  state_->rejected.discard_before(index + 1);
  state_->reject_newest = false;
  const bool is_last = state_->buffer.empty() && state_->ending.pending() == Status::kStopString;
  if (is_last && text_.bytes_after_end() > 0) trim_after_stop();
  const auto bytes = stream_->bytes_of(oldest.piece.token);
  *piece = oldest.piece;
  piece->text = text.data();
  piece->text_size = text.size();
  piece->alternatives = oldest.alternatives.data();
  piece->bytes = bytes.data();
  piece->byte_count = bytes.size();
  piece->effective_vocabulary = static_cast<float>(e_to(static_cast<double>(piece->entropy)));
  return Status::kOk;
}

// Returns the text of a token of the stream.
TokenText TextOutput::text_of(uint64_t index) const {
  const auto bytes = stream_->bytes_of(stream_->token_at(index));
  return {bytes, std::min(bytes.size(), healing_left(index))};
}

// Returns how many bytes of the text that healing removed are left when the token at `index` comes next.
size_t TextOutput::healing_left(uint64_t index) const {
  const uint64_t place = state_->healing.place();
  size_t left = state_->healing.bytes().size();
  if (left == 0 || index < place || stream_->states().begin() > place) return 0;
  for (uint64_t i = place; i < index && left > 0; ++i) {
    left -= std::min(left, stream_->bytes_of(stream_->token_at(i)).size());
  }
  return left;
}

// Appends tokens as if they had been generated, until the context, the guide or the constraint rejects one.
void TextOutput::append(std::span<const int32_t> tokens) {
  Cancellation never;
  for (const int32_t token : tokens) {
    TokenState state;
    state.sampler = stream_->last_state().sampler;
    TokenStream* const guide = stream_->guide();
    if (stream_->evaluate(&never) != Status::kOk) return;
    if (guide != nullptr && guide->evaluate(&never) != Status::kOk) return;
    if (stream_->push(token, healed_bytes(token), state) != Status::kOk) return;
  }
}

// Truncates the stream to the text before a stop string. If that text ends inside a token, other tokens replace its
// part of the token, as far as possible. If the vocabulary cannot spell this part, the context is full, or the stream
// cannot be rewound that far, the token stays.
void TextOutput::trim_after_stop() {
  const uint64_t count = stream_->token_count();
  const uint64_t start = find_text_start(count);
  const auto text = [this](uint64_t index) { return text_of(index); };
  uint64_t length;
  find_text_place(start, count, {}, UINT64_MAX, text, &length);
  const uint64_t shown = length - std::min<uint64_t>(length, text_.bytes_after_end());
  TextPlace cut = find_text_place(start, count, {}, shown, text, &length);
  std::array<int32_t, kMaxTokenBytes> spelling;
  size_t spelled = 0;
  if (cut.byte_count > 0) {
    const auto rest = stream_->bytes_of(stream_->token_at(cut.token)).first(cut.byte_count);
    const SessionParams& params = stream_->params();
    spelled = spell(*stream_->model().tokenizer(), rest, spelling);
    if (params.overflow == Overflow::kStop && cut.token + spelled > uint64_t{params.context_tokens} + 1) spelled = 0;
    if (spelled == 0) ++cut.token;
  }
  if (cut.token == count || stream_->rewind(cut.token) != Status::kOk) return;
  forget_healing_after(cut.token);
  stream_->find_answer_start();
  state_->rejected.drop_from(cut.token);
  append({spelling.data(), spelled});
}

Status TextOutput::flush(Status stop, Piece* piece) {
  const bool ends = stop != Status::kStopCancelled;
  if (ends) text_.finish();
  // After a cancellation the answer can continue, so the text of buffered tokens is kept for later.
  const auto text = text_.take(ends ? text_.end() : emitted_mark_.end);
  piece->text = text.data();
  piece->text_size = text.size();
  if (const uint64_t count = emitted_count(); count > 0) {
    TokenState& last = stream_->states()[count - 1];
    last.withheld = 0;
    if (ends) last.flags |= TokenState::kTextEnd;
  }
  if (ends) emitted_mark_ = text_.mark();
  return state_->ending.reach(stop);
}

Status TextOutput::check_roll_back(Error* error) const {
  if (state_->buffer.empty() || stream_->can_rewind(emitted_count())) return Status::kOk;
  return fail(error, Status::kInvalidState,
              "buffered tokens cannot be rolled back: the KV ring or the constraint does not go back that far");
}

Status TextOutput::roll_back(Error* error) {
  SOTTO_TRY(check_roll_back(error));
  return state_->buffer.empty() ? Status::kOk : rewind(emitted_count());
}

Status TextOutput::rewind(uint64_t count) {
  assert(count <= stream_->token_count());
  if (count == stream_->token_count()) return Status::kOk;
  SOTTO_TRY(truncate(count));
  if (count == 0) {
    clear();
    return Status::kOk;
  }
  stream_->find_answer_start();
  state_->rejected.drop_from(count);
  state_->reject_newest = false;
  return Status::kOk;
}

// Truncates the stream and the text to the first `count` tokens. The rejected tokens stay.
Status TextOutput::truncate(uint64_t count) {
  const uint64_t emitted = emitted_count();
  SOTTO_TRY(stream_->rewind(count));
  state_->ending.withdraw();
  state_->buffer.truncate(count > emitted ? static_cast<size_t>(count - emitted) : 0);
  forget_healing_after(count);
  // If emitted tokens were removed, the text before them is matched again.
  if (count < emitted) {
    rebuild();
  } else {
    text_.cut(mark_after(state_->buffer.size()));
  }
  return Status::kOk;
}

// Forgets the healing if the stream, now of `count` tokens, no longer has its place.
void TextOutput::forget_healing_after(uint64_t count) {
  const uint64_t place = state_->healing.place();
  if (count < place || stream_->states().begin() > place) state_->healing.clear();
}

// Returns the state after the text of the first `count` buffered tokens.
const TextMark& TextOutput::mark_after(size_t count) const {
  return count == 0 ? emitted_mark_ : state_->buffer[count - 1].mark;
}

// Returns the index of the token where a replay must start, so that matching can continue after `count` tokens.
uint64_t TextOutput::find_text_start(uint64_t count) const {
  constexpr size_t kBytes = 2 * StringMatcher::kMaxStringBytes;
  const TokenStates& states = stream_->states();
  uint64_t start = count;
  for (size_t bytes = 0; start > states.begin() && bytes < kBytes; --start) {
    const TokenState& before = states[start - 1];
    if (!before.has(TokenState::kGenerated) || before.has(TokenState::kTextEnd)) break;
    bytes += stream_->bytes_of(stream_->token_at(start - 1)).size();
  }
  return start;
}

void TextOutput::rebuild() {
  using Found = TextStream::Found;
  // Restore the text as it was when the newest emitted token was emitted.
  const uint64_t emitted = emitted_count();
  const uint64_t start = find_text_start(emitted);
  text_.clear();
  for (uint64_t i = start; i < emitted; ++i) {
    const TokenText text = text_of(i);
    text_.replay(text.bytes, text.healed);
  }
  text_.resume(start < emitted ? stream_->states()[emitted - 1].withheld : 0);
  const Status stop = state_->ending.pending();
  if (state_->buffer.empty() && stop == Status::kStopString) text_.clear();  // the text had ended here
  emitted_mark_ = text_.mark();
  // Append the text of the buffered tokens.
  for (size_t i = 0; i < state_->buffer.size(); ++i) {
    const TokenText text = text_of(emitted + i);
    const bool last = i + 1 == state_->buffer.size();
    const Found found = text_.append(text.bytes, text.healed);
    const bool is_stop = found == Found::kStop && last && stop == Status::kStopString;
    const bool is_ban = found == Found::kBan && last && stop == Status::kStopBanned;
    if (found != Found::kNothing && !is_stop) text_.cut(mark_after(i));
    // The strings may differ from those that were in effect when the token was buffered.
    if (found != Found::kNothing && !is_stop && !is_ban) text_.replay(text.bytes, text.healed);
    state_->buffer[i].mark = text_.mark();
  }
}

Status TextOutput::heal() {
  const TokenizerView* tokenizer = stream_->model().tokenizer();
  if (tokenizer == nullptr) return Status::kTokenizerMissing;
  const uint64_t count = stream_->token_count();
  TokenStates& states = stream_->states();
  if (count == 0 || stream_->answer_start() != count || states[count - 1].has(TokenState::kGenerated)) {
    return Status::kInvalidState;
  }
  if (state_->healing.has_started()) return Status::kOk;
  std::array<int32_t, Healing::kMaxTokens> last;
  // Count the last tokens of the prompt, as far back as the stream remembers them.
  const uint64_t first = std::max(states.begin(), stream_->kv().embedded_count());
  size_t known = 0;
  while (known < last.size() && known < count - first && !states[count - 1 - known].has(TokenState::kGenerated)) {
    ++known;
  }
  for (size_t i = 0; i < known; ++i) last[i] = stream_->token_at(count - known + i);
  // At least one token must remain, because the answer continues from it.
  const auto usable =
      std::span<const int32_t>(last).first(known).last(static_cast<size_t>(std::min<uint64_t>(known, count - 1)));
  size_t taken = Healing::count_unfinished(*tokenizer, usable);
  // Remove fewer tokens if the stream cannot be rewound that far.
  while (taken > 0 && !stream_->can_truncate(count - taken)) --taken;
  if (taken == 0) return Status::kOk;
  const auto unfinished = usable.last(taken);
  SOTTO_TRY(rewind(count - taken));
  stream_->mark_answer_start();
  state_->healing.begin(*tokenizer, unfinished, stream_->token_count());
  return Status::kOk;
}

}  // namespace sotto
