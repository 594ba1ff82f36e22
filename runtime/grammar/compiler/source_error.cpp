#include "runtime/grammar/compiler/source_error.h"

#include <algorithm>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

constexpr size_t kShownBytes = 32;  // bytes of a source or a name that a message shows

// A line and a column of a source, counted from 1; the column counts characters.
struct Position {
  uint64_t line = 1;
  uint64_t column = 1;
};

Position position_of(std::span<const char> source, uint64_t offset) {
  Position position;
  for (size_t i = 0; i < offset && i < source.size(); ++i) {
    if (source[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else if (!is_continuation(source[i])) {
      ++position.column;
    }
  }
  return position;
}

}  // namespace

Status fail_in_source(Error* error, std::span<const char> source, uint64_t offset, std::string_view what,
                      Status status) {
  const auto [line, column] = position_of(source, offset);
  const auto rest = source.subspan(static_cast<size_t>(std::min<uint64_t>(offset, source.size())));
  size_t size = 0;
  while (size < rest.size() && size < kShownBytes && rest[size] != '\n') ++size;
  if (size == 0) {
    const bool ends = offset >= source.size();
    return fail_at(error, status, offset, line, ":", column, ": ", what,
                   ends ? " at the end of the text" : " at the end of the line");
  }
  return fail_at(error, status, offset, line, ":", column, ": ", what, " at '", rest.first(size), "'");
}

Status fail_at_name(Error* error, std::span<const char> source, uint64_t offset, std::string_view what,
                    std::span<const char> name) {
  const auto [line, column] = position_of(source, offset);
  return fail_at(error, Status::kGrammarSyntax, offset, line, ":", column, ": ", what, ": ",
                 name.first(std::min(name.size(), kShownBytes)), name.size() > kShownBytes ? "..." : "");
}

}  // namespace sotto
