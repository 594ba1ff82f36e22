// Turns the bytes of tokens into whole UTF-8 characters, and finds stop strings and banned strings across tokens. Text
// is withheld while it may begin a stop string.
//
// Example: with the stop string "</s>", the tokens "Hi <", "/" and "b>" give the texts "Hi ", "" and "</b>".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/utf8.h"
#include "runtime/model/tokenizer_view.h"
#include "runtime/text/stops.h"

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

  // Appends the text of a token, without its first `healed` bytes. The text ends before a stop string, or after it if
  // the settings include stop strings. If a banned string is found, ban_start() is its offset, and the caller must call
  // cut().
  Found append(std::span<const char> bytes, size_t healed);
  uint64_t ban_start() const { return ban_start_; }
  // Returns how many bytes of the last token come after the end, if a stop string has ended the text.
  size_t bytes_after_end() const { return bytes_after_end_; }
  // Appends the text of a token again, and ignores stop strings and banned strings in it.
  void replay(std::span<const char> bytes, size_t healed);

  const TextMark& mark() const { return mark_; }
  uint64_t end() const { return mark_.end; }
  // Returns to an earlier state. take() does not return text a second time.
  void cut(const TextMark& mark);

  // Return the offset of a possible beginning of a stop string or of a banned string, or end().
  uint64_t withheld_from() const { return end() - stops_->stop_strings().partial_length(mark_.stop); }
  uint64_t bannable_from() const { return end() - stops_->banned_strings().partial_length(mark_.ban); }

  // Returns the text before `end` that has not been taken yet, valid until the next append().
  std::span<const char> take(uint64_t end);
  // Ends the text. An incomplete character becomes U+FFFD, and matching starts again.
  void finish();

  uint64_t taken() const { return taken_; }
  // Marks all but the last `withheld` bytes as taken. Must follow replay().
  void resume(uint64_t withheld);

 private:
  // Capacity for the beginning of a stop string, the token where a banned string begins, the rest of the banned string,
  // and one more token.
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
  size_t bytes_after_end_ = 0;
  uint64_t taken_ = 0;  // text before this offset has been taken
  uint64_t start_ = 0;  // offset of text_[0]
  char text_[kCapacity];
};

}  // namespace sotto
