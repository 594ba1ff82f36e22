#include "converters/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <iterator>
#include <limits>
#include <sstream>

#include "converters/file.h"

namespace sotto {
namespace {

using nlohmann::ordered_json;

// A row of the table: the tensors of one kind in all layers.
struct Group {
  std::string name;
  std::string shape;
  uint32_t bits = 0;
  size_t count = 0;
  uint64_t size = 0;
  double lowest_snr = std::numeric_limits<double>::infinity();
  double snr_sum = 0;
};

std::string shape_text(const std::vector<uint32_t>& shape) {
  std::string text;
  for (const uint32_t extent : shape) {
    if (!text.empty()) text += " x ";
    text += std::to_string(extent);
  }
  return text;
}

const char* type_text(uint32_t bits) { return bits == 0 ? "f32" : bits == 4 ? "int4" : "int8"; }

std::vector<Group> group_tensors(const std::vector<TensorReport>& tensors) {
  std::vector<Group> groups;
  for (const TensorReport& tensor : tensors) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const Group& known) { return known.name == tensor.group; });
    if (group == groups.end()) {
      groups.push_back({.name = tensor.group, .shape = shape_text(tensor.shape), .bits = tensor.bits});
      group = groups.end() - 1;
    }
    ++group->count;
    group->size += tensor.size;
    group->lowest_snr = std::min(group->lowest_snr, tensor.signal_to_noise_db);
    group->snr_sum += tensor.signal_to_noise_db;
  }
  return groups;
}

std::string decibels(double snr) {
  if (std::isinf(snr)) return "exact";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f dB", snr);
  return text;
}

std::string table_row(const std::string& name, const std::string& count, const std::string& shape, const char* type,
                      const std::string& size, const std::string& lowest, const std::string& mean) {
  char text[256];
  std::snprintf(text, sizeof text, "%-26s %6s  %-14s %-4s %14s %10s %10s", name.c_str(), count.c_str(), shape.c_str(),
                type, size.c_str(), lowest.c_str(), mean.c_str());
  std::string row = text;
  row.erase(row.find_last_not_of(" \n") + 1);
  return row + '\n';
}

uint64_t parameter_count(const CheckpointInfo& info) {
  const ModelShape& shape = info.shape;
  const uint64_t embedding = shape.embedding_size;
  const uint64_t feed_forward = shape.feed_forward_size;
  const uint64_t layer = 4 * embedding * embedding + 2 * embedding * feed_forward + feed_forward + 9 * embedding;
  uint64_t count =
      (uint64_t{shape.vocabulary_size} + shape.position_count) * embedding + shape.layer_count * layer + 2 * embedding;
  if (info.head_kind != HeadKind::kTied) count += uint64_t{shape.vocabulary_size} * embedding;
  if (info.head_kind == HeadKind::kBiased) count += shape.vocabulary_size;
  return count;
}

ordered_json snr_json(double snr) { return std::isinf(snr) ? ordered_json(nullptr) : ordered_json(snr); }

ordered_json shape_json(const CheckpointInfo& info) {
  return {{"vocabulary_size", info.shape.vocabulary_size},     {"position_count", info.shape.position_count},
          {"embedding_size", info.shape.embedding_size},       {"head_count", info.shape.head_count},
          {"feed_forward_size", info.shape.feed_forward_size}, {"layer_count", info.shape.layer_count}};
}

// A line of the picture: the tensors of one kind, in the order of the layers.
struct Series {
  std::string name;
  std::vector<const TensorReport*> tensors;
};

std::vector<Series> quantized_series(const std::vector<TensorReport>& tensors) {
  std::vector<Series> all;
  for (const TensorReport& tensor : tensors) {
    if (tensor.bits == 0 || std::isinf(tensor.signal_to_noise_db)) continue;
    auto series = std::find_if(all.begin(), all.end(), [&](const Series& known) { return known.name == tensor.group; });
    if (series == all.end()) series = all.insert(all.end(), {tensor.group, {}});
    series->tensors.push_back(&tensor);
  }
  return all;
}

}  // namespace

std::string summary_svg(const ConversionSummary& summary) {
  constexpr int kWidth = 800, kHeight = 400, kLeft = 50, kRight = 580, kTop = 40, kBottom = 350, kStep = 5;
  constexpr const char* kColors[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"};
  const std::vector<Series> all = quantized_series(summary.written.tensors);
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (const Series& series : all) {
    for (const TensorReport* tensor : series.tensors) {
      lowest = std::min(lowest, tensor->signal_to_noise_db);
      highest = std::max(highest, tensor->signal_to_noise_db);
    }
  }
  if (all.empty()) lowest = highest = 0;
  const int bottom = static_cast<int>(std::floor(lowest / kStep)) * kStep;
  const int top = std::max(static_cast<int>(std::ceil(highest / kStep)) * kStep, bottom + kStep);
  const auto y_of = [&](double snr) { return kBottom - (snr - bottom) / (top - bottom) * (kBottom - kTop); };
  const double layers = std::max(1.0, summary.info.shape.layer_count - 1.0);
  const auto x_of = [&](size_t layer) { return kLeft + static_cast<double>(layer) / layers * (kRight - kLeft); };

  std::ostringstream svg;
  svg << std::fixed << std::setprecision(1);
  const auto text = [&](double x, double y, const std::string& words, const char* anchor) {
    svg << "<text x='" << x << "' y='" << y << "' text-anchor='" << anchor << "'>" << words << "</text>\n";
  };
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << kWidth << ' ' << kHeight
      << "' font-family='sans-serif' font-size='13'>\n<rect width='100%' height='100%' fill='white'/>\n";
  text(kLeft, kTop - 18, "signal-to-noise ratio of the quantized weights (dB) by layer", "start");
  for (int snr = bottom; snr <= top; snr += kStep) {
    svg << "<path d='M" << kLeft << ' ' << y_of(snr) << 'H' << kRight << "' stroke='#ddd'/>\n";
    text(kLeft - 8, y_of(snr) + 4, std::to_string(snr), "end");
  }
  text(kLeft, kBottom + 20, "0", "middle");
  text(kRight, kBottom + 20, std::to_string(summary.info.shape.layer_count - 1), "middle");
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string color = kColors[i % std::size(kColors)];
    const auto& tensors = all[i].tensors;
    // A tensor outside the layers, such as the head, is a point at the right edge.
    const auto x = [&](size_t layer) { return tensors.size() == 1 ? double{kRight} : x_of(layer); };
    svg << "<path fill='none' stroke='" << color << "' d='";
    for (size_t k = 0; k < tensors.size(); ++k) {
      svg << (k == 0 ? 'M' : 'L') << x(k) << ' ' << y_of(tensors[k]->signal_to_noise_db);
    }
    svg << "'/>\n";
    for (size_t k = 0; k < tensors.size(); ++k) {
      svg << "<circle r='4' fill='" << color << "' cx='" << x(k) << "' cy='" << y_of(tensors[k]->signal_to_noise_db)
          << "'><title>" << tensors[k]->name << ": " << decibels(tensors[k]->signal_to_noise_db)
          << "</title></circle>\n";
    }
    const int y = kTop + 22 * static_cast<int>(i);
    svg << "<circle r='4' fill='" << color << "' cx='" << kRight + 24 << "' cy='" << y - 4 << "'/>\n";
    text(kRight + 34, y, all[i].name, "start");
  }
  svg << "</svg>\n";
  return svg.str();
}

std::string summary_table(const ConversionSummary& summary) {
  const WriteReport& written = summary.written;
  std::string text = table_row("tensors", "count", "shape", "type", "bytes", "SNR min", "SNR mean");
  for (const Group& group : group_tensors(written.tensors)) {
    text += table_row(group.name, std::to_string(group.count), group.shape, type_text(group.bits),
                      std::to_string(group.size), decibels(group.lowest_snr),
                      decibels(group.snr_sum / static_cast<double>(group.count)));
  }
  if (written.packed_size > 0) {
    text += table_row("packed for " + summary.packed_isa, "", "", "", std::to_string(written.packed_size), "", "");
  }
  if (written.vocabulary_size > 0) {
    text += table_row("vocabulary for grammars", "", "", "", std::to_string(written.vocabulary_size), "", "");
  }
  text += summary.output + ": " + std::to_string(written.file_size) + " bytes, " +
          std::to_string(parameter_count(summary.info)) + " parameters, " +
          (summary.has_tokenizer ? "with its tokenizer" : "no tokenizer: tokens only") + "\n";
  return text;
}

std::string summary_json(const ConversionSummary& summary) {
  const WriteReport& written = summary.written;
  ordered_json tensors = ordered_json::array();
  for (const TensorReport& tensor : written.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"type", type_text(tensor.bits)},
                       {"size", tensor.size},
                       {"signal_to_noise_db", snr_json(tensor.signal_to_noise_db)},
                       {"mean_squared_error", tensor.mean_squared_error},
                       {"largest_error", tensor.largest_error}});
  }
  const ordered_json root = {
      {"output", summary.output},
      {"name", summary.info.name},
      {"source", summary.info.source},
      {"shape", shape_json(summary.info)},
      {"activation", std::string(activation_name(summary.info.activation))},
      {"tied_head", summary.info.head_kind == HeadKind::kTied},
      {"end_of_text_token", summary.info.end_of_text_token},
      {"tokenizer", summary.has_tokenizer},
      {"parameter_count", parameter_count(summary.info)},
      {"file_size", written.file_size},
      {"metadata_size", written.metadata_size},
      {"packed_size", written.packed_size},
      {"vocabulary_bytes", written.vocabulary_size},
      {"packed_isa", summary.packed_isa.empty() ? ordered_json(nullptr) : ordered_json(summary.packed_isa)},
      {"notes", summary.notes},
      {"tensors", tensors}};
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sotto
