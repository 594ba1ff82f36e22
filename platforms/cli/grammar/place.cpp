#include "platforms/cli/grammar/place.h"

#include <algorithm>
#include <iterator>

#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr size_t kIndent = 4;
constexpr size_t kBefore = 60;  // columns shown before the place
constexpr size_t kAfter = 30;

// East Asian characters and emoji take two columns on a terminal.
constexpr struct {
  uint32_t first;
  uint32_t last;
} kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
             {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
             {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  uint32_t code = character.size() == 1 ? first : first & (0x7fu >> character.size());
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  }
  return code;
}

size_t columns_of(std::string_view character) {
  const uint32_t code = code_point(character);
  const bool is_wide = std::any_of(std::begin(kWide), std::end(kWide),
                                   [&](const auto& range) { return code >= range.first && code <= range.last; });
  return is_wide ? 2 : 1;
}

// One character as it is shown, and the number of bytes it stands for.
struct Shown {
  std::string text;
  size_t columns;
  size_t size;
};

Shown shown_character(std::string_view bytes) {
  const Utf8Character character = first_character(bytes);
  const std::string_view value = bytes.substr(0, character.size);
  if (value == "\t") return {" ", 1, 1};
  if (!character.valid) return {"\xef\xbf\xbd", 1, character.size};
  return {for_terminal(value), columns_of(value), character.size};
}

bool continues_character(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Without "LINE:COLUMN: ".
std::string_view without_place(std::string_view what) {
  size_t at = 0;
  for (int part = 0; part < 2; ++part) {
    const size_t begin = at;
    while (at < what.size() && is_digit(what[at])) ++at;
    if (at == begin || at == what.size() || what[at] != ':') return what;
    ++at;
  }
  if (at == what.size() || what[at] != ' ') return what;
  return what.substr(at + 1);
}

}  // namespace

Place place_of(std::string_view text, uint64_t offset) {
  Place place = {1, 1};
  const size_t end = static_cast<size_t>(std::min<uint64_t>(offset, text.size()));
  for (size_t i = 0; i < end; ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (!continues_character(text, i)) {
      ++place.column;
    }
  }
  return place;
}

std::string shown_line(std::string_view text, uint64_t offset) {
  size_t at = static_cast<size_t>(std::min<uint64_t>(offset, text.size()));
  size_t begin = at;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  // A character is never shown in part.
  for (int i = 0; i < 3 && at > begin && continues_character(text, at); ++i) --at;
  const bool is_cut = at - begin > 4 * kBefore;
  if (is_cut) begin = at - kBefore;
  while (is_cut && begin < at && continues_character(text, begin)) ++begin;

  std::string line = is_cut ? "..." : "";
  size_t column = is_cut ? 3 : 0;
  size_t caret = column;
  for (size_t i = begin; i < text.size() && text[i] != '\n' && text[i] != '\r';) {
    if (i <= at) caret = column;
    if (i > at && column > caret + kAfter) {
      line += "...";
      break;
    }
    const Shown shown = shown_character(text.substr(i));
    line += shown.text;
    column += shown.columns;
    i += shown.size;
    if (i <= at) caret = column;
  }
  const std::string indent(kIndent, ' ');
  return indent + line + '\n' + indent + std::string(caret, ' ') + '^';
}

std::string with_place(const std::string& name, std::string_view text, uint64_t offset, const std::string& what) {
  if (offset > text.size()) return name + ": " + what;
  const Place place = place_of(text, offset);
  return name + ':' + std::to_string(place.line) + ':' + std::to_string(place.column) + ": " +
         std::string(without_place(what)) + '\n' + shown_line(text, offset);
}

}  // namespace sotto::cli
