// The text of an answer between the decoder and the caller.
//
// TextStream turns the bytes of tokens into whole UTF-8 characters, and finds stop strings and banned strings even if
// they span several tokens. It withholds text that may be the beginning of a stop string.
//
// TextOutput buffers tokens whose text may belong to a banned string. When a banned string is complete, it rewinds the
// stream to the token in which the string begins, rejects that token at its place, and lets another one be drawn. It
// also applies token healing. emit() returns the next token to the caller, and flush() the rest of the text at a stop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/utf8.h"
#include "runtime/generated/params.h"
#include "runtime/model/tokenizer_view.h"
#include "runtime/session/healing.h"
#include "runtime/session/log_probabilities.h"
#include "runtime/session/stops.h"
#include "runtime/session/token_stream.h"

namespace sotto {

// The matching state after a token. Offsets are byte offsets in the text.
struct TextMark {
  uint64_t end = 0;
  StringMatcher::State stop = 0;
  StringMatcher::State ban = 0;
  Utf8Stream characters;
};

class TextStream {
 public:
  static constexpr size_t kTokenTextBytes = Utf8Stream::output_bound(kMaxTokenBytes);

  enum class Found { kNothing, kStop, kBan };

  explicit TextStream(const Stops& stops) : stops_(&stops) {}

  // Starts an empty text.
  void clear();

  // Appends the text of a token, without its first `healed` bytes. A stop string ends the text before it, or after it
  // if the settings include stop strings. If a banned string is found, ban_start() is its offset, and the caller must
  // call cut().
  Found append(std::span<const char> bytes, size_t healed);
  uint64_t ban_start() const { return ban_start_; }
  // Appends the text of a token that has been accepted before. Strings in it are ignored.
  void replay(std::span<const char> bytes, size_t healed);

  const TextMark& mark() const { return mark_; }
  uint64_t end() const { return mark_.end; }
  // Returns to an earlier state. Text after it that take() has already returned is not returned again.
  void cut(const TextMark& mark);

  // Return the offset from which the text may be the beginning of a stop string or of a banned string, or end().
  uint64_t withheld_from() const { return end() - stops_->stop_strings().held(mark_.stop); }
  uint64_t bannable_from() const { return end() - stops_->banned_strings().held(mark_.ban); }

  // Returns the text before `end` that has not been taken yet. It is valid until the next append().
  std::span<const char> take(uint64_t end);
  // Ends the text. An incomplete character becomes U+FFFD, and matching starts again.
  void finish();

  uint64_t taken() const { return taken_; }
  // Marks all but the last `withheld` bytes as taken. Must follow replay().
  void resume(uint64_t withheld);

 private:
  // Capacity for the beginning of a stop string, the token in which a banned string begins, the rest of the banned
  // string, and one more token.
  static constexpr size_t kCapacity =
      2 * kTokenTextBytes + 2 * StringMatcher::kMaxStringBytes + Utf8Stream::output_bound(0);

  // The sizes of the stop string and of the banned string that end at a byte, or 0.
  struct Matches {
    size_t stop;
    size_t ban;
  };

  char* at(uint64_t offset) { return text_ + (offset - start_); }
  size_t write(std::span<const char> bytes, size_t healed);
  Matches match_next_byte();

  const Stops* stops_;
  TextMark mark_;
  uint64_t ban_start_ = 0;
  uint64_t taken_ = 0;  // text before this offset has been taken
  uint64_t start_ = 0;  // offset of text_[0]
  char text_[kCapacity];
};

// A token that has been generated but not emitted yet.
struct BufferedToken {
  int32_t token = 0;
  float log_probability = 0;
  float sampled_log_probability = 0;
  uint32_t alternative_count = 0;
  uint64_t elapsed_ns = 0;
  TextMark mark;  // state after the text of this token
  std::array<Alternative, SamplerParams::kMaxAlternativeCount> alternatives;
};

// A queue of tokens whose newest elements can also be dropped.
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

// The tokens that were rejected at places of the stream, ordered by place. A rejection is valid as long as the stream
// before its place does not change.
class RejectedTokens {
 public:
  static constexpr size_t kCapacity = 256;
  // Maximum number of rejections before a token is emitted. Beyond it, the text ends.
  static constexpr uint32_t kMaxAttempts = 1024;

  // A token that was rejected at a place.
  struct Rejection {
    uint64_t place;
    int32_t token;
  };

  // Adds a rejection and drops all rejections at later places. Returns false if there have been too many.
  bool add(uint64_t place, int32_t token);
  void drop_from(uint64_t place);
  // Drops the rejections before `place` and restarts the count of attempts. A token before `place` has been emitted.
  void discard_before(uint64_t place);
  void restore(std::span<const Rejection> rejections, uint32_t attempts);

  uint32_t attempts() const { return attempts_; }
  std::span<const Rejection> all() const { return {rejections_.data(), count_}; }
  std::span<const Rejection> at(uint64_t place) const;

 private:
  std::array<Rejection, kCapacity> rejections_;
  size_t count_ = 0;
  uint32_t attempts_ = 0;
};

class TextOutput {
 public:
  TextOutput(const Stops& stops, TokenStream& stream) : stream_(&stream), text_(stops) {}

  // Starts an empty text and drops all buffered tokens.
  void clear();

  // Buffers the newest token of the stream. The caller fills in the result and then calls add_text().
  BufferedToken& buffer(int32_t token);
  // Adds the text of the newest token, whose decoding started at `begin_ns`. A stop string ends the text, and a banned
  // string rejects a token.
  void add_text(uint64_t begin_ns);
  // Handles a stop of the decoder. The text ends, unless banned strings can be avoided by rejecting an earlier token.
  void end_text(Status stop);
  // Continues the text if it ended with this stop.
  void forget_stop(Status stop);

  // Returns whether emit() can be called before the next token is decoded.
  bool is_ready() const;
  // Emits the oldest buffered token, with the text that is certain by now. If no token is buffered, flushes the text.
  Status emit(Piece* piece);
  // Emits the withheld text at a stop. Every stop except kStopCancelled ends the text.
  Status flush(Status stop, Piece* piece);

  uint64_t emitted_count() const { return stream_->token_count() - buffer_.size(); }
  // Rewinds the stream to the end of its emitted tokens. On failure, the buffered tokens stay.
  Status roll_back(Error* error = nullptr);
  // As roll_back(), but buffered tokens that cannot be rolled back stay and are emitted as they were drawn.
  void try_roll_back() { (void)roll_back(); }
  // Prepares for a prompt: rolls back the buffered tokens. Those that cannot be rolled back stay in the stream but are
  // not emitted.
  void drop_buffered();
  Status rewind(uint64_t count);
  // Matches the emitted and the buffered text again, after the strings or the stream have changed.
  void rebuild();

  // Removes the last tokens of the prompt if their bytes are the beginning of a longer token (healing.h).
  Status heal();
  const Healing& healing() const { return healing_; }
  // Returns how many bytes of the token spell the end of the prompt.
  size_t healed_bytes(int32_t token) const { return healing_.healed(stream_->bytes_of(token).size()); }
  // Returns the tokens that were rejected at the end of the stream.
  std::span<const RejectedTokens::Rejection> rejections() const { return rejected_.at(stream_->token_count()); }
  const TextMark& mark() const { return text_.mark(); }

 private:
  friend class SavedState;

  void reject(size_t index);
  size_t find_ban_start() const;
  uint64_t find_text_start(uint64_t count) const;
  void rebuild_healing(uint64_t count);
  void rebuild_text(uint64_t count);
  void rebuffer();

  TokenStream* stream_;
  TextStream text_;
  TextMark emitted_mark_;  // state after the last emitted token
  TokenBuffer buffer_;
  RejectedTokens rejected_;
  // Set when rejecting the token in which a banned string begins left no candidate. The next rejection then takes the
  // newest token instead, until a token is emitted.
  bool reject_newest_ = false;
  Status end_ = Status::kOk;  // the stop after the buffered tokens, or kOk
  Healing healing_;
};

}  // namespace sotto
