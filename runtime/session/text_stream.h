// The text of a stream of tokens on its way out: whole characters only, held back where it
// may begin a stop string, ended where one is complete, refused where a banned one would be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/utf8.h"
#include "runtime/model/tokenizer_view.h"
#include "runtime/session/stops.h"

namespace sotto {

// Where matching stands after a token. Offsets count bytes of the text.
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

  // Begins an empty text.
  void clear();

  // The text of one more token, of which the first `hidden` bytes are no part of it. At a stop
  // string the text ends before or, as the settings say, after it. At a banned string nothing
  // is settled: `ban_start()` tells where it begins; cut() takes it back.
  Found append(std::span<const char> bytes, size_t hidden);
  uint64_t ban_start() const { return ban_start_; }
  // The same for a token whose text was settled before: nothing is found.
  void replay(std::span<const char> bytes, size_t hidden);

  const TextMark& mark() const { return mark_; }
  uint64_t end() const { return mark_.end; }
  // Back to an earlier state; what has been taken since then stays out.
  void cut(const TextMark& mark);

  // Where text begins that may belong to a stop string or a banned string.
  uint64_t held_from() const { return end() - stops_->stop_strings().held(mark_.stop); }
  uint64_t bannable_from() const { return end() - stops_->banned_strings().held(mark_.ban); }

  // Hands out what comes before `end` and has not been; holds until the next append().
  std::span<const char> take(uint64_t end);
  // An unfinished character becomes U+FFFD; matching begins anew.
  void finish();

  // After replay(): all but the last `untaken` bytes had been handed out.
  uint64_t taken() const { return taken_; }
  void resume(uint64_t untaken);

 private:
  // One token that begins a banned string, after text that may begin a stop string and before
  // the rest of the banned one; then a token more.
  static constexpr size_t kCapacity =
      2 * kTokenTextBytes + 2 * StringMatcher::kMaxStringBytes + Utf8Stream::output_bound(0);

  char* at(uint64_t offset) { return text_ + (offset - start_); }
  size_t write(std::span<const char> bytes, size_t hidden);

  const Stops* stops_;
  TextMark mark_;
  uint64_t ban_start_ = 0;
  uint64_t taken_ = 0;  // handed out up to here
  uint64_t start_ = 0;  // of text_
  char text_[kCapacity];
};

}  // namespace sotto
