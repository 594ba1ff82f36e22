#include "runtime/session/text_stream.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sotto {

void TextStream::clear() {
  mark_ = {};
  taken_ = 0;
  start_ = 0;
}

// Writes the token's whole characters behind the text, of which only what has not been handed
// out is kept. Returns their size.
size_t TextStream::write(std::span<const char> bytes, size_t hidden) {
  // Only a saved state that someone made up has more.
  taken_ = std::max(taken_, mark_.end - std::min<uint64_t>(mark_.end, kCapacity - kTokenTextBytes));
  const auto kept = static_cast<size_t>(mark_.end - taken_);
  std::memmove(text_, at(taken_), kept);
  start_ = taken_;
  mark_.characters.append(bytes.first(hidden), at(mark_.end));
  return mark_.characters.append(bytes.subspan(hidden), at(mark_.end));
}

TextStream::Found TextStream::append(std::span<const char> bytes, size_t hidden) {
  const size_t size = write(bytes, hidden);
  const StringMatcher& stops = stops_->stop_strings();
  const StringMatcher& bans = stops_->banned_strings();
  for (size_t i = 0; i < size; ++i) {
    const char byte = *at(mark_.end++);
    mark_.ban = bans.step(mark_.ban, byte);
    if (const size_t banned = bans.matched(mark_.ban); banned != 0) {
      ban_start_ = mark_.end - banned;
      return Found::kBan;
    }
    mark_.stop = stops.step(mark_.stop, byte);
    if (const size_t stop = stops.matched(mark_.stop); stop != 0) {
      if (!stops_->includes_stop_text()) mark_.end = std::max(mark_.end - stop, taken_);
      mark_.stop = mark_.ban = 0;
      mark_.characters.clear();
      return Found::kStop;
    }
  }
  return Found::kNothing;
}

void TextStream::replay(std::span<const char> bytes, size_t hidden) {
  const size_t size = write(bytes, hidden);
  const StringMatcher& stops = stops_->stop_strings();
  const StringMatcher& bans = stops_->banned_strings();
  for (size_t i = 0; i < size; ++i) {
    const char byte = *at(mark_.end++);
    mark_.ban = bans.step(mark_.ban, byte);
    if (bans.matched(mark_.ban) != 0) mark_.ban = 0;
    mark_.stop = stops.step(mark_.stop, byte);
    if (stops.matched(mark_.stop) != 0) mark_.stop = 0;
  }
  constexpr uint64_t kKept = StringMatcher::kMaxStringBytes;
  if (mark_.end - taken_ > kKept) taken_ = mark_.end - kKept;
}

void TextStream::cut(const TextMark& mark) {
  assert(mark.end >= taken_);  // it may be behind the end: a stop string ends the text early
  mark_ = mark;
}

std::span<const char> TextStream::take(uint64_t end) {
  if (end <= taken_) return {at(taken_), size_t{0}};
  assert(end <= mark_.end);
  const std::span<const char> text(at(taken_), static_cast<size_t>(end - taken_));
  taken_ = end;
  return text;
}

void TextStream::finish() {
  mark_.end += mark_.characters.flush(at(mark_.end));
  mark_.stop = mark_.ban = 0;
}

void TextStream::resume(uint64_t untaken) { taken_ = std::max(mark_.end - std::min(untaken, mark_.end), start_); }

}  // namespace sotto
