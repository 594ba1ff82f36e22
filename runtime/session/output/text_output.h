// Turns the decoder's tokens into the caller's pieces.
//
// A token waits in a buffer while its text may belong to a banned string. When a banned string is complete, TextOutput
// rewinds the stream to the token where the string begins, and rejects that token at its place, so that the decoder
// draws another one. emit() returns the oldest buffered token, and flush() returns the rest of the text at a stop.
// TextOutput also applies token healing.
//
// Example: with the banned string "bad day", the token " bad" waits in the buffer. If " news" is drawn after it, both
// tokens are emitted. If " day" is drawn, the stream returns to the place of " bad", and " bad" is rejected there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/output/ending.h"
#include "runtime/session/output/healing.h"
#include "runtime/session/output/rejected_tokens.h"
#include "runtime/session/output/text_stream.h"
#include "runtime/session/token_stream.h"
#include "runtime/text/stops.h"
#include "runtime/text/text_place.h"

namespace sotto {

inline constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

// A piece without a token and without text.
inline constexpr Piece kEmptyPiece = {.text = "",
                                      .text_size = 0,
                                      .token = -1,
                                      .log_probability = kUnknown,
                                      .sampled_log_probability = kUnknown,
                                      .alternative_count = 0,
                                      .alternatives = nullptr,
                                      .bytes = "",
                                      .byte_count = 0,
                                      .elapsed_ns = 0,
                                      .entropy = kUnknown,
                                      .effective_vocabulary = kUnknown,
                                      .kept_count = 0,
                                      .repetitiveness = kUnknown};

// A token that has been generated but not emitted yet.
struct BufferedToken {
  Piece piece = kEmptyPiece;  // without its pointers, which emit() sets
  TextMark mark;              // state after the text of this token
  std::array<Alternative, SamplerParams::kMaxAlternativeCount> alternatives;
};

// A queue of tokens, from which the newest can also be dropped. When the queue is full, its oldest token is emitted,
// even if its text may belong to a banned string.
class TokenBuffer {
 public:
  static constexpr size_t kCapacity = 32;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kCapacity; }
  const BufferedToken& operator[](size_t index) const { return tokens_[(first_ + index) % kCapacity]; }
  BufferedToken& operator[](size_t index) { return tokens_[(first_ + index) % kCapacity]; }
  BufferedToken& newest() { return (*this)[size_ - 1]; }
  BufferedToken& push() { return (*this)[size_++]; }
  // The returned token is valid until the next push().
  const BufferedToken& pop() {
    const BufferedToken& oldest = (*this)[0];
    first_ = (first_ + 1) % kCapacity;
    --size_;
    return oldest;
  }
  void truncate(size_t count) { size_ = count; }

 private:
  std::array<BufferedToken, kCapacity> tokens_;
  size_t first_ = 0;
  size_t size_ = 0;
};

// The state of an output, as saved states contain it. TextOutput computes the text from this state and the stream.
struct OutputState {
  TokenBuffer buffer;
  RejectedTokens rejected;
  // Set if a banned string's first token was rejected and no candidate was left. The newest token is then rejected
  // instead, until a token is emitted.
  bool reject_newest = false;
  Ending ending;
  Healing healing;
};

class TextOutput {
 public:
  TextOutput(const Stops& stops, TokenStream& stream) : stream_(&stream), text_(stops) {}

  void layout(Arena& arena) { state_ = arena.take<OutputState>(1); }
  // Requires layout() over real memory.
  void init() { new (state_) OutputState; }

  // Drops all buffered tokens and starts an empty text at the end of the stream.
  void clear();

  // Buffers the newest token of the stream. The caller completes the piece and then calls add_text().
  BufferedToken& buffer(int32_t token);
  // Adds the text of the newest token. A stop string ends the text, and a banned string rejects a token. `begin_ns` is
  // the time when the decoding of the token began.
  void add_text(uint64_t begin_ns);
  // Handles a stop of the decoder. The text ends, unless banned strings can be avoided by rejecting an earlier token.
  void end_text(Status stop);

  Ending& ending() { return state_->ending; }
  const Ending& ending() const { return state_->ending; }

  // Returns whether emit() can be called before the next token is decoded.
  bool is_ready() const;
  // Emits the oldest buffered token, with all text that is certain by now. If no token is buffered, flushes the text.
  // After the last token before a stop string, also removes the tokens after the shown text from the stream.
  Status emit(Piece* piece);
  // Emits the withheld text at a stop. Every stop except kStopCancelled ends the text.
  Status flush(Status stop, Piece* piece);

  uint64_t emitted_count() const { return stream_->token_count() - state_->buffer.size(); }
  // Fails as roll_back() would, but changes nothing.
  Status check_roll_back(Error* error) const;
  // Rewinds the stream to the end of its emitted tokens. On failure, the buffered tokens stay.
  Status roll_back(Error* error = nullptr);
  // Like roll_back(), but buffered tokens that cannot be rolled back stay and are emitted as they were drawn.
  void try_roll_back() { (void)roll_back(); }
  Status rewind(uint64_t count);
  // Matches the emitted and the buffered text again, after the strings or the stream have changed.
  void rebuild();

  // Removes the last tokens of the prompt if their bytes are the beginning of a longer token (healing.h).
  Status heal();
  const Healing& healing() const { return state_->healing; }
  // Returns how many bytes of the removed text the next tokens have to spell.
  size_t healing_left() const { return healing_left(stream_->token_count()); }
  // Returns how many bytes of the token spell the removed text, if the token comes next.
  size_t healed_bytes(int32_t token) const { return std::min(stream_->bytes_of(token).size(), healing_left()); }
  // Returns the tokens that were rejected at the end of the stream.
  std::span<const RejectedTokens::Rejection> rejections() const { return state_->rejected.at(stream_->token_count()); }
  const TextMark& mark() const { return text_.mark(); }

  const OutputState& state() const { return *state_; }
  // Replaces the state by change(state), and matches the text again.
  template <typename Change>
  void change_state(Change change) {
    change(*state_);
    rebuild();
  }

 private:
  TokenText text_of(uint64_t index) const;
  size_t healing_left(uint64_t index) const;
  void forget_healing_after(uint64_t count);
  const TextMark& mark_after(size_t count) const;
  void append(std::span<const int32_t> tokens);
  void trim_after_stop();
  void reject(size_t index);
  size_t find_ban_start() const;
  uint64_t find_text_start(uint64_t count) const;
  Status truncate(uint64_t count);

  TokenStream* stream_;
  TextStream text_;
  TextMark emitted_mark_;  // state after the last emitted token
  OutputState* state_ = nullptr;
};

}  // namespace sotto
