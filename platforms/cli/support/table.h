// A human-readable table. On a terminal it fits the width, and its rows may end with bars. In files and pipes, rows are
// as long as their text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/support/output.h"

namespace sotto::cli {

// Returns the number of columns that a text takes on a terminal.
size_t columns_of_text(std::string_view text);

class Table {
 public:
  enum class Style {
    kNumber,   // aligned to the right
    kText,     // aligned to the left
    kWrapped,  // as kText; the columns of this style share the width that the others leave, and break lines
  };
  struct Column {
    std::string heading;
    Style style = Style::kNumber;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Adds a row with one cell per column. `bar` is the length of its bar as a fraction of the longest one.
  void add_row(std::vector<std::string> cells, double bar = 0.0) { rows_.push_back({std::move(cells), bar}); }
  void print(OutputWriter& stream) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    double bar;
  };

  std::vector<size_t> widths(size_t screen_width) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace sotto::cli
