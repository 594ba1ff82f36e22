// Pictures of --svg: charts and coloured text in SVG, readable on light and dark pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sotto::cli {

struct Heading {
  std::string title;
  std::string subtitle;
};

// A column of bars, one per row. Bars have the length of the absolute value, and NaN has none.
struct BarPanel {
  std::string title;
  std::vector<double> values;
  int digits;  // after the decimal point of the shown values
};

// Rows with a label and a bar in each panel. With `has_one_scale`, the bars of all panels have the same scale.
std::string bar_chart(const Heading& heading, const std::vector<std::string>& labels,
                      const std::vector<BarPanel>& panels, bool has_one_scale);

using Points = std::vector<std::pair<double, double>>;

struct Line {
  std::string name;  // empty for the only line of a panel
  Points points;     // with growing x
};

struct LinePanel {
  std::string title;
  std::vector<Line> lines;
  bool is_logarithmic;  // the y axis; all y must be greater than 0
};

// A vertical line at x in all panels.
struct Mark {
  double x;
  std::string label;
};

// Panels next to each other over the same x axis.
std::string line_chart(const Heading& heading, const std::string& x_title, const std::vector<LinePanel>& panels,
                       const std::vector<Mark>& marks);

struct ColouredPart {
  std::string text;  // printable
  double heat;       // from 0, not coloured, to 1
  std::string hint;  // shown when the pointer is over the part
  bool ends_line;
};

// A text whose parts are coloured. `scale` explains the colours: heats and their labels.
std::string coloured_text(const Heading& heading, const std::vector<ColouredPart>& parts,
                          const std::vector<std::pair<double, std::string>>& scale);

}  // namespace sotto::cli
