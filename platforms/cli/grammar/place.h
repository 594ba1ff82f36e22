// Messages that show where in a text something is wrong, as compilers do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto::cli {

// Counted from 1, columns in characters.
struct Place {
  uint64_t line;
  uint64_t column;
};

Place place_of(std::string_view text, uint64_t offset);

// The line that holds byte `offset`, and a caret under the place; long lines are cut.
std::string shown_line(std::string_view text, uint64_t offset);

// "NAME:LINE:COLUMN: what" with the line in question below; "NAME: what" for UINT64_MAX. A place at the front of `what`
// is not repeated.
std::string with_place(const std::string& name, std::string_view text, uint64_t offset, const std::string& what);

}  // namespace sotto::cli
