#include "converters/quantize/matrix.h"

#include <algorithm>
#include <cstring>

#include "converters/quantize/parallel.h"
#include "kernels/sizes.h"

namespace sotto {
namespace {

constexpr size_t kPanelRows = 4;
constexpr size_t kPanelOutputs = 8;
// GCC does not vectorize these sums well without explicit vector types.
using PanelOutputs [[gnu::vector_size(kPanelOutputs * sizeof(float))]] = float;

// Computes y (kPanelRows, kPanelOutputs) = x (kPanelRows, inputs) panel (inputs, kPanelOutputs).
void multiply_panel(const float* x, size_t inputs, const PanelOutputs* panel, float (&y)[kPanelRows][kPanelOutputs]) {
  PanelOutputs sums[kPanelRows] = {};
  for (size_t i = 0; i < inputs; ++i) {
    for (size_t row = 0; row < kPanelRows; ++row) sums[row] += x[row * inputs + i] * panel[i];
  }
  std::memcpy(y, sums, sizeof y);
}

// Returns `width` rows from `first` on, transposed and padded with zeros to kPanelOutputs columns.
std::vector<PanelOutputs> make_panel(const std::vector<float>& rows, size_t inputs, size_t first, size_t width) {
  std::vector<PanelOutputs> panel(inputs);
  for (size_t o = 0; o < width; ++o) {
    for (size_t i = 0; i < inputs; ++i) panel[i][o] = rows[(first + o) * inputs + i];
  }
  return panel;
}

}  // namespace

std::vector<float> multiply(const std::vector<float>& x, size_t rows, const std::vector<float>& weights,
                            const std::vector<float>& biases, unsigned thread_count) {
  const size_t inputs = x.size() / rows;
  const size_t outputs = weights.size() / inputs;
  std::vector<float> padded;
  if (rows % kPanelRows != 0) {
    padded = x;
    padded.resize(align_up(rows, kPanelRows) * inputs);
  }
  const float* from = padded.empty() ? x.data() : padded.data();
  std::vector<float> y(rows * outputs);
  for_each_index(divide_up(outputs, kPanelOutputs), thread_count, [&](size_t panel_index) {
    const size_t first = panel_index * kPanelOutputs;
    const size_t width = std::min(kPanelOutputs, outputs - first);
    const std::vector<PanelOutputs> panel = make_panel(weights, inputs, first, width);
    for (size_t row = 0; row < rows; row += kPanelRows) {
      float sums[kPanelRows][kPanelOutputs];
      multiply_panel(from + row * inputs, inputs, panel.data(), sums);
      for (size_t r = 0; r < std::min(kPanelRows, rows - row); ++r) {
        for (size_t o = 0; o < width; ++o) {
          const float bias = biases.empty() ? 0 : biases[first + o];
          y[(row + r) * outputs + first + o] = sums[r][o] + bias;
        }
      }
    }
  });
  return y;
}

std::vector<float> second_moments(const std::vector<float>& x, size_t columns, unsigned thread_count) {
  const size_t rows = x.size() / columns;
  const size_t padded_columns = align_up(columns, kPanelOutputs);
  std::vector<float> transposed(padded_columns * rows);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < columns; ++c) transposed[c * rows + row] = x[row * columns + c];
  }
  std::vector<float> moments(columns * columns);
  for_each_index(padded_columns / kPanelOutputs, thread_count, [&](size_t panel_index) {
    const size_t first = panel_index * kPanelOutputs;
    const size_t width = std::min(kPanelOutputs, columns - first);
    const std::vector<PanelOutputs> panel = make_panel(transposed, rows, first, width);
    for (size_t c = first; c < columns; c += kPanelRows) {
      float sums[kPanelRows][kPanelOutputs];
      multiply_panel(&transposed[c * rows], rows, panel.data(), sums);
      for (size_t r = 0; r < std::min(kPanelRows, columns - c); ++r) {
        for (size_t o = 0; o < width; ++o) {
          moments[(c + r) * columns + first + o] = sums[r][o] / static_cast<float>(rows);
        }
      }
    }
  });
  return moments;
}

}  // namespace sotto
