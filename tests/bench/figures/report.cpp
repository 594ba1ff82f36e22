#include "tests/bench/figures/report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/bench/figures/statistics.h"

namespace sotto::bench {
namespace {

constexpr size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

// Returns four significant digits, never in scientific notation.
std::string number(double value) {
  const double size = value < 0 ? -value : value;
  const int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", share * 100);
  return text;
}

std::string times(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", ratio);
  return text;
}

// Returns for example "decode, context 512, threads 1".
std::string label(const Figure& figure) {
  std::string text = figure.name;
  for (const auto& [key, value] : figure.parameters.items()) {
    if (key == "isa" || key == "kernel" || key == "chain" || key == "opening") {
      text += ", " + value.get<std::string>();
    } else {
      std::string words = key;
      std::replace(words.begin(), words.end(), '_', ' ');
      text += ", " + words + ' ' + value.dump();
    }
  }
  return text;
}

Row row_of(const std::string& name, const std::vector<double>& samples, const std::string& unit) {
  const Summary summary = summarize(samples);
  return {name, number(summary.median), number(summary.min) + " .. " + number(summary.max), unit, "", ""};
}

Row row_of(const Figure& figure) {
  Row row = row_of(label(figure), figure.samples, figure.unit);
  if (!figure.limits.empty()) {
    row[4] = number(median(figure.limits)) + " (" + figure.limit_name + ")";
    const double share = share_of_limit(figure.samples, figure.limits, figure.higher_is_better);
    row[5] = figure.limit_is_peer ? times(share) : percent(share);
  }
  return row;
}

bool is_read(const std::string& series) { return series.starts_with("memory_read"); }

std::vector<double> scaled(std::vector<double> samples) {
  for (double& sample : samples) sample /= 1e9;
  return samples;
}

std::string lines_of(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < kColumns; ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool left = i == 0 || i == 3;
      line += (i == 0 ? "" : "  ") + (left ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

nlohmann::ordered_json summary_json(const std::vector<double>& samples) {
  const Summary summary = summarize(samples);
  return {{"median", summary.median}, {"min", summary.min}, {"max", summary.max}};
}

nlohmann::ordered_json figure_json(const Figure& figure) {
  nlohmann::ordered_json json = {{"name", figure.name},
                                 {"parameters", figure.parameters},
                                 {"unit", figure.unit},
                                 {"better", figure.higher_is_better ? "higher" : "lower"}};
  json.update(summary_json(figure.samples));
  json["samples"] = figure.samples;
  const char* column = figure.limit_is_peer ? "peer" : "limit";
  json[column] = nullptr;
  json["ratio"] = nullptr;
  if (!figure.limits.empty()) {
    json[column] = {{"name", figure.limit_name}};
    json[column].update(summary_json(figure.limits));
    json[column]["samples"] = figure.limits;
    json["ratio"] = share_of_limit(figure.samples, figure.limits, figure.higher_is_better);
  }
  return json;
}

std::string text_of(const nlohmann::ordered_json& object, const char* key) {
  const auto& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

std::string report_table(const Report& report) {
  const auto& machine = report.machine;
  std::string text = text_of(report.model, "name") + ", " + text_of(report.settings, "isa") + ", " +
                     text_of(report.settings, "threads") + " thread(s), " + text_of(report.settings, "runs") +
                     " runs, sotto " + text_of(report.settings, "version") + '\n' + text_of(machine, "cpu") + ", " +
                     text_of(machine, "cores") + " cores, " + text_of(machine, "architecture") + ", " +
                     text_of(machine, "system") + ", " + text_of(machine, "pages") +
                     " pages (transparent huge pages: " + text_of(machine, "transparent_huge_pages") + "), load " +
                     text_of(machine, "load_average") + "\n\n";
  std::vector<Row> rows = {{"figure", "median", "min .. max", "unit", "limit", "of limit"}};
  for (const Figure& figure : report.figures) rows.push_back(row_of(figure));
  for (const auto& [series, samples] : report.limits) {
    rows.push_back(row_of("limit " + series, scaled(samples), is_read(series) ? "GB/s" : "GMAC/s"));
  }
  return text + lines_of(rows);
}

nlohmann::ordered_json report_json(const Report& report) {
  nlohmann::ordered_json json = {{"program", "sotto-bench"},
                                 {"machine", report.machine},
                                 {"model", report.model},
                                 {"settings", report.settings},
                                 {"limits", nlohmann::ordered_json::array()},
                                 {"figures", nlohmann::ordered_json::array()}};
  for (const auto& [series, samples] : report.limits) {
    nlohmann::ordered_json limit = {{"name", series}, {"unit", is_read(series) ? "byte/s" : "MAC/s"}};
    limit.update(summary_json(samples));
    limit["samples"] = samples;
    json["limits"].push_back(limit);
  }
  for (const Figure& figure : report.figures) json["figures"].push_back(figure_json(figure));
  return json;
}

}  // namespace sotto::bench
