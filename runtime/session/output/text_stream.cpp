#include "runtime/session/output/text_stream.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sotto {

void TextStream::clear() {
  mark_ = {};
  taken_ = 0;
  start_ = 0;
}

// Appends the complete characters of a token to the stored text, after dropping text that has been taken, and returns
// their size.
size_t TextStream::write(std::span<const char> bytes, size_t healed) {
  // Only a forged saved state can exceed the capacity.
  taken_ = std::max(taken_, mark_.end - std::min<uint64_t>(mark_.end, kCapacity - kTokenTextBytes));
  const auto kept = static_cast<size_t>(mark_.end - taken_);
  std::memmove(text_, at(taken_), kept);
  start_ = taken_;
  mark_.characters.append(bytes.first(healed), at(mark_.end));
  return mark_.characters.append(bytes.subspan(healed), at(mark_.end));
}

// Advances both automata by the next byte that write() has stored.
TextStream::Matches TextStream::match_next_byte() {
  const char byte = *at(mark_.end++);
  const StringMatcher& stops = stops_->stop_strings();
  const StringMatcher& bans = stops_->banned_strings();
  mark_.stop = stops.step(mark_.stop, byte);
  mark_.ban = bans.step(mark_.ban, byte);
  return {stops.matched(mark_.stop), bans.matched(mark_.ban)};
}

TextStream::Found TextStream::append(std::span<const char> bytes, size_t healed) {
  const size_t size = write(bytes, healed);
  const uint64_t whole = mark_.end + size;
  bytes_after_end_ = 0;
  for (size_t i = 0; i < size; ++i) {
    const Matches found = match_next_byte();
    if (found.ban != 0) {
      ban_start_ = mark_.end - found.ban;
      return Found::kBan;
    }
    if (found.stop != 0) {
      if (!stops_->includes_stop_text()) mark_.end = std::max(mark_.end - found.stop, taken_);
      bytes_after_end_ = static_cast<size_t>(whole - mark_.end);
      mark_.stop = mark_.ban = 0;
      mark_.characters.clear();
      return Found::kStop;
    }
  }
  return Found::kNothing;
}

void TextStream::replay(std::span<const char> bytes, size_t healed) {
  const size_t size = write(bytes, healed);
  for (size_t i = 0; i < size; ++i) {
    const Matches found = match_next_byte();
    if (found.ban != 0) mark_.ban = 0;
    if (found.stop != 0) mark_.stop = 0;
  }
  // A match begins at most kKept bytes before its end, so older text is not needed.
  constexpr uint64_t kKept = StringMatcher::kMaxStringBytes;
  if (mark_.end - taken_ > kKept) taken_ = mark_.end - kKept;
}

void TextStream::cut(const TextMark& mark) {
  // A stop string cuts the text, so taken_ may be less than the end of the previous text.
  assert(mark.end >= taken_);
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

void TextStream::resume(uint64_t withheld) { taken_ = std::max(mark_.end - std::min(withheld, mark_.end), start_); }

}  // namespace sotto
