#include "platforms/cli/support/table.h"

#include <algorithm>
#include <cmath>

#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr char kGap[] = "  ";
constexpr size_t kGapWidth = 2;
constexpr size_t kPipeWidth = 120;  // of tables with wrapped columns in files and pipes
constexpr size_t kMinWrappedWidth = 16;
constexpr size_t kMinBarWidth = 8;
constexpr size_t kMaxBarWidth = 40;

// Returns how many bytes of `text` fit in `width` columns.
size_t fitting_size(std::string_view text, size_t width) {
  size_t size = 0;
  for (size_t columns = 0; size < text.size();) {
    const Utf8Character character = first_character(text.substr(size));
    columns += character.valid ? columns_of(text.substr(size, character.size)) : 1;
    if (columns > width) break;
    size += character.size;
  }
  return size;
}

// Breaks a text into lines, at spaces if possible.
std::vector<std::string> lines_of(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  do {
    size_t size = fitting_size(text, width);
    size_t next = size;
    if (size < text.size()) {
      const size_t space = text.rfind(' ', size);
      if (space != std::string_view::npos && space > 0) {
        size = space;
        next = space + 1;
      } else if (size == 0) {
        size = next = first_character(text).size;
      }
    }
    lines.emplace_back(text.substr(0, size));
    text.remove_prefix(next);
  } while (!text.empty());
  return lines;
}

std::string bar(double fraction, size_t width) {
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<size_t>(std::lround(std::clamp(fraction, 0.0, 1.0) * 8 * static_cast<double>(width)));
  std::string text;
  for (size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kParts[eighths % 8];
}

// Returns a line without spaces at its end, cut to the width of the screen if that is not 0.
std::string fitted(std::string line, size_t screen_width) {
  line.erase(line.find_last_not_of(' ') + 1);
  if (screen_width == 0 || columns_of_text(line) <= screen_width) return line;
  return line.substr(0, fitting_size(line, screen_width - 1)) + "…";
}

}  // namespace

size_t columns_of_text(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    columns += character.valid ? columns_of(text.substr(0, character.size)) : 1;
    text.remove_prefix(character.size);
  }
  return columns;
}

std::vector<size_t> Table::widths(size_t screen_width) const {
  std::vector<size_t> widths;
  size_t used = 0;
  size_t wrapped_count = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_of_text(columns_[i].heading);
    for (const Row& row : rows_) width = std::max(width, columns_of_text(row.cells[i]));
    widths.push_back(width);
    used += kGapWidth;
    if (columns_[i].style == Style::kWrapped) {
      ++wrapped_count;
    } else {
      used += width;
    }
  }
  if (wrapped_count == 0) return widths;
  const size_t screen = screen_width != 0 ? screen_width : kPipeWidth;
  const size_t share = screen > used ? (screen - used) / wrapped_count : 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].style == Style::kWrapped) widths[i] = std::min(widths[i], std::max(share, kMinWrappedWidth));
  }
  return widths;
}

void Table::print(OutputWriter& stream) const {
  const size_t screen_width = stream.width();
  const std::vector<size_t> widths = this->widths(screen_width);
  const auto padded = [&](size_t column, const std::string& text) {
    const std::string space(widths[column] - std::min(widths[column], columns_of_text(text)), ' ');
    return columns_[column].style == Style::kNumber ? space + text : text + space;
  };
  std::string heading;
  size_t width = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    heading += (i == 0 ? "" : kGap) + padded(i, columns_[i].heading);
    width += widths[i] + kGapWidth;
  }
  stream.write_bold(fitted(heading, screen_width));
  stream.write("\n");
  const size_t bar_width = screen_width >= width + kMinBarWidth ? std::min(screen_width - width, kMaxBarWidth) : 0;
  for (const Row& row : rows_) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      cells.push_back(lines_of(row.cells[i], widths[i]));
      height = std::max(height, cells.back().size());
    }
    for (size_t y = 0; y < height; ++y) {
      std::string line;
      for (size_t i = 0; i < columns_.size(); ++i) {
        line += (i == 0 ? "" : kGap) + padded(i, y < cells[i].size() ? cells[i][y] : "");
      }
      if (y == 0 && bar_width > 0) line += kGap + bar(row.bar, bar_width);
      stream.write(fitted(line, screen_width) + '\n');
    }
  }
}

}  // namespace sotto::cli
