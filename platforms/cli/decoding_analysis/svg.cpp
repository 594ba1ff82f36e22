#include "platforms/cli/decoding_analysis/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr double kMargin = 20;
constexpr double kHeadingHeight = 66;
constexpr double kFontSize = 13;
constexpr double kColumnWidth = 0.602 * kFontSize;  // of a character of the usual monospaced fonts

// Colours of the lines are legible on both backgrounds.
constexpr char kStyle[] =
    "text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328;white-space:pre}"
    ".title{font-size:17px;font-weight:bold}.soft{fill:#59636e}.page{fill:#fff}.bar{fill:#3d7fe0}.heat{fill:#f0652f}"
    ".grid{stroke:#d1d9e0}.mark{stroke:#8b949e;stroke-dasharray:3 3}.line{fill:none;stroke-width:2}"
    ".stroke0{stroke:#3d7fe0}.stroke1{stroke:#db6d28}.stroke2{stroke:#2da44e}.stroke3{stroke:#bf3989}"
    ".stroke4{stroke:#8250df}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#30363d}}";
constexpr size_t kStrokes = 5;

// Returns `text` as XML. Bytes and characters that XML cannot contain become U+FFFD.
std::string escaped(std::string_view text) {
  std::string xml;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view bytes = text.substr(0, character.size);
    text.remove_prefix(character.size);
    const bool is_control = static_cast<unsigned char>(bytes[0]) < ' ' && bytes != "\t" && bytes != "\n";
    if (!character.valid || is_control || bytes == "\xef\xbf\xbe" || bytes == "\xef\xbf\xbf") {
      xml += "\xef\xbf\xbd";
    } else if (bytes == "&") {
      xml += "&amp;";
    } else if (bytes == "<") {
      xml += "&lt;";
    } else if (bytes == ">") {
      xml += "&gt;";
    } else if (bytes == "\"") {
      xml += "&quot;";
    } else {
      xml += bytes;
    }
  }
  return xml;
}

// Returns the width of a text in a monospaced font, in the columns of a terminal.
double width_of(std::string_view text) { return kColumnWidth * static_cast<double>(columns_of_text(text)); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string attribute(const char* name, double value) { return std::string(" ") + name + "=\"" + number(value) + "\""; }

// The elements of a picture.
class Picture {
 public:
  explicit Picture(const Heading& heading) : heading_(heading) {
    text(kMargin, 30, heading.title, "title");
    text(kMargin, 52, heading.subtitle, "soft");
    fit(kMargin + 1.35 * width_of(heading.title) + kMargin, kHeadingHeight);
    fit(kMargin + width_of(heading.subtitle) + kMargin, kHeadingHeight);
  }

  // Makes the picture at least this large.
  void fit(double width, double height) {
    width_ = std::max(width_, width);
    height_ = std::max(height_, height);
  }

  void text(double x, double y, const std::string& text, const char* style = "", const char* anchor = "start") {
    elements_ += "<text class=\"" + std::string(style) + "\" text-anchor=\"" + anchor + "\"" + attribute("x", x) +
                 attribute("y", y) + ">" + escaped(text) + "</text>\n";
  }
  // Prints a text that takes exactly its width in columns, with any font.
  void fixed_text(double x, double y, const std::string& text) {
    elements_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("textLength", width_of(text)) +
                 " lengthAdjust=\"spacingAndGlyphs\">" + escaped(text) + "</text>\n";
  }
  void box(double x, double y, double width, double height, const char* style, double opacity = 1.0) {
    elements_ += "<rect class=\"" + std::string(style) + "\"" + attribute("x", x) + attribute("y", y) +
                 attribute("width", width) + attribute("height", height) + " fill-opacity=\"" + decimal(opacity, 3) +
                 "\" rx=\"2\"/>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    elements_ += "<line class=\"" + std::string(style) + "\"" + attribute("x1", x1) + attribute("y1", y1) +
                 attribute("x2", x2) + attribute("y2", y2) + "/>\n";
  }
  void curve(const Points& points, size_t stroke) {
    elements_ += "<polyline class=\"line stroke" + std::to_string(stroke % kStrokes) + "\" points=\"";
    for (const auto& [x, y] : points) elements_ += number(x) + ',' + number(y) + ' ';
    elements_ += "\"/>\n";
  }
  void begin_part(const std::string& hint) { elements_ += "<g><title>" + escaped(hint) + "</title>"; }
  void end_part() { elements_ += "</g>\n"; }

  std::string xml() const {
    const std::string size = attribute("width", width_) + attribute("height", height_);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
           "xml:space=\"preserve\"" +
           size + " viewBox=\"0 0 " + number(width_) + ' ' + number(height_) + "\">\n<title>" +
           escaped(heading_.title) + "</title>\n<style>" + kStyle + "</style>\n<rect class=\"page\"" + size + "/>\n" +
           elements_ + "</svg>\n";
  }

 private:
  const Heading& heading_;
  std::string elements_;
  double width_ = 0;
  double height_ = 0;
};

double largest_of(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0.0);
  return largest;
}

struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double begin = 0;  // the positions of `low` and `high` in the picture
  double end = 0;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double at(double value) const { return begin + (end - begin) * (value - low) / std::max(high - low, 1e-12); }
};

// Returns about five round numbers from `low` to `high`.
std::vector<double> round_numbers(double low, double high) {
  const double rough = std::max(high - low, 1e-12) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
  std::vector<double> numbers;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) numbers.push_back(i * step + 0.0);
  return numbers;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

constexpr double kPanelWidth = 300;
constexpr double kPanelHeight = 240;

void draw_panel(const LinePanel& panel, const std::string& x_title, const std::vector<Mark>& marks, double left,
                bool is_first, Picture& picture) {
  constexpr double kTop = kHeadingHeight + 34;
  Axis x, y;
  const auto height = [&](double value) { return panel.is_logarithmic ? std::log10(value) : value; };
  if (!panel.is_logarithmic) y.include(0.0);
  for (const Line& line : panel.lines) {
    for (const auto& [across, up] : line.points) {
      x.include(across);
      y.include(height(up));
    }
  }
  if (!panel.is_logarithmic) {
    const std::vector<double> numbers = round_numbers(y.low, y.high);
    if (numbers.size() > 1 && numbers.back() < y.high) y.high = numbers.back() + (numbers[1] - numbers[0]);
  }
  x.begin = left, x.end = left + kPanelWidth;
  y.begin = kTop + kPanelHeight, y.end = kTop;
  picture.text(left, kTop - 16, panel.title);
  for (const double value : round_numbers(y.low, y.high)) {
    if (panel.is_logarithmic && value != std::floor(value)) continue;
    picture.line(x.begin, y.at(value), x.end, y.at(value), "grid");
    picture.text(left - 6, y.at(value) + 4, short_number(panel.is_logarithmic ? std::pow(10.0, value) : value), "soft",
                 "end");
  }
  for (const double value : round_numbers(x.low, x.high)) {
    picture.line(x.at(value), y.begin, x.at(value), y.begin + 5, "grid");
    picture.text(x.at(value), y.begin + 20, short_number(value), "soft", "middle");
  }
  picture.text(left + kPanelWidth / 2, y.begin + 40, x_title, "soft", "middle");
  for (size_t i = 0; i < marks.size(); ++i) {
    const double position = x.at(marks[i].x);
    picture.line(position, y.begin, position, y.end, "mark");
    if (is_first) picture.text(position - 4, y.end + 14 + 18 * static_cast<double>(i), marks[i].label, "soft", "end");
  }
  for (size_t i = 0; i < panel.lines.size(); ++i) {
    const Line& line = panel.lines[i];
    Points points;
    for (const auto& [across, up] : line.points) points.emplace_back(x.at(across), y.at(height(up)));
    picture.curve(points, i);
    if (line.name.empty()) continue;
    const double row = y.end + 14 + 18 * static_cast<double>(i);
    const double end = x.end - 4;
    picture.curve({{end - width_of(line.name) - 26, row - 4}, {end - width_of(line.name) - 8, row - 4}}, i);
    picture.text(end, row, line.name, "", "end");
  }
}

}  // namespace

std::string bar_chart(const Heading& heading, const std::vector<std::string>& labels,
                      const std::vector<BarPanel>& panels, bool has_one_scale) {
  constexpr double kRow = 24, kBar = 100, kGap = 20, kTop = kHeadingHeight + 20;
  Picture picture(heading);
  double left = 0;
  for (const std::string& label : labels) left = std::max(left, width_of(label));
  for (size_t row = 0; row < labels.size(); ++row) {
    picture.text(kMargin, kTop + kRow * static_cast<double>(row) + 25, labels[row]);
  }
  left += kMargin + kGap;
  double shared = 0;
  for (const BarPanel& panel : panels) shared = std::max(shared, largest_of(panel.values));
  for (const BarPanel& panel : panels) {
    const double longest = std::max(has_one_scale ? shared : largest_of(panel.values), 1e-12);
    picture.text(left, kTop, panel.title, "soft");
    double values_width = 0;
    for (size_t row = 0; row < panel.values.size(); ++row) {
      const double value = panel.values[row];
      const double y = kTop + kRow * static_cast<double>(row) + 12;
      const double length = std::isfinite(value) ? kBar * std::abs(value) / longest : 0;
      const std::string shown = decimal(value, panel.digits);
      picture.box(left, y, std::max(length, 1.0), kRow - 6, "bar");
      picture.text(left + length + 6, y + 13, shown);
      values_width = std::max(values_width, width_of(shown));
    }
    left += std::max(kBar + 6 + values_width, width_of(panel.title)) + kGap;
  }
  picture.fit(left - kGap + kMargin, kTop + kRow * static_cast<double>(labels.size()) + 12 + kMargin);
  return picture.xml();
}

std::string line_chart(const Heading& heading, const std::string& x_title, const std::vector<LinePanel>& panels,
                       const std::vector<Mark>& marks) {
  constexpr double kLabels = 48;
  Picture picture(heading);
  double left = kMargin + kLabels;
  for (const LinePanel& panel : panels) {
    draw_panel(panel, x_title, marks, left, &panel == &panels.front(), picture);
    left += kPanelWidth + kLabels + kMargin;
  }
  picture.fit(left - kLabels, kHeadingHeight + 34 + kPanelHeight + 60);
  return picture.xml();
}

std::string coloured_text(const Heading& heading, const std::vector<ColouredPart>& parts,
                          const std::vector<std::pair<double, std::string>>& scale) {
  constexpr size_t kColumns = 100;
  constexpr double kRow = 23, kOpacity = 0.7, kTop = kHeadingHeight + 44;
  Picture picture(heading);
  double x = kMargin;
  for (const auto& [heat, label] : scale) {
    picture.box(x, kHeadingHeight + 2, width_of(label) + 12, kRow - 3, "heat", kOpacity * heat);
    picture.text(x + 6, kHeadingHeight + 16, label);
    x += width_of(label) + 12;
  }
  picture.fit(x + kMargin, 0);
  size_t row = 0, column = 0;
  for (const ColouredPart& part : parts) {
    const size_t width = columns_of_text(part.text);
    if (column > 0 && column + width > kColumns) {
      ++row;
      column = 0;
    }
    const double left = kMargin + kColumnWidth * static_cast<double>(column);
    const double top = kTop + kRow * static_cast<double>(row);
    picture.begin_part(part.hint);
    picture.box(left, top, width_of(part.text), kRow - 3, "heat", kOpacity * std::clamp(part.heat, 0.0, 1.0));
    picture.fixed_text(left, top + 14, part.text);
    picture.end_part();
    column += width;
    picture.fit(left + width_of(part.text) + kMargin, top + kRow + kMargin);
    if (part.ends_line) {
      ++row;
      column = 0;
    }
  }
  return picture.xml();
}

}  // namespace sotto::cli
