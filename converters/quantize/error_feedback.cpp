#include "converters/quantize/error_feedback.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "converters/quantize/matrix.h"
#include "converters/quantize/parallel.h"
#include "kernels/sizes.h"

namespace sotto {
namespace {

// Outputs are rounded in groups, one per lane of a vector.
constexpr size_t kLanes = 16;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;

// Returns the order of rounding: blocks by decreasing sum of variances, and inputs within a block by decreasing
// variance. A last block of fewer inputs stays the last one, so that all others begin at multiples of kBlock.
std::vector<uint32_t> rounding_order(const std::vector<float>& covariance, size_t inputs) {
  const auto variance = [&](uint32_t input) { return covariance[input * inputs + input]; };
  struct Block {
    double sum = 0;
    std::vector<uint32_t> inputs;
  };
  std::vector<Block> blocks(divide_up(inputs, ErrorFeedback::kBlock));
  for (uint32_t i = 0; i < inputs; ++i) {
    Block& block = blocks[i / ErrorFeedback::kBlock];
    block.inputs.push_back(i);
    block.sum += variance(i);
  }
  const auto end_of_whole = blocks.begin() + static_cast<ptrdiff_t>(inputs / ErrorFeedback::kBlock);
  std::stable_sort(blocks.begin(), end_of_whole, [](const Block& a, const Block& b) { return a.sum > b.sum; });
  std::vector<uint32_t> order;
  for (Block& block : blocks) {
    std::stable_sort(block.inputs.begin(), block.inputs.end(),
                     [&](uint32_t a, uint32_t b) { return variance(a) > variance(b); });
    order.insert(order.end(), block.inputs.begin(), block.inputs.end());
  }
  return order;
}

// Returns the sum of a[i] * b[i], in lanes.
float dot(const float* a, const float* b, size_t count) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (size_t lane = 0; i < count; ++i, ++lane) lanes[lane] += a[i] * b[i];
  return std::accumulate(lanes, lanes + kLanes, 0.0f);
}

// Subtracts the mean of each column of x (row, column) and returns the means.
std::vector<float> center(std::vector<float>& x, size_t columns) {
  std::vector<double> sums(columns);
  for (size_t i = 0; i < x.size(); ++i) sums[i % columns] += x[i];
  std::vector<float> means(columns);
  for (size_t c = 0; c < columns; ++c) {
    means[c] = static_cast<float>(sums[c] * static_cast<double>(columns) / static_cast<double>(x.size()));
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] -= means[i % columns];
  return means;
}

}  // namespace

ErrorFeedback::ErrorFeedback(std::vector<float> x, size_t inputs, float damping, unsigned thread_count)
    : inputs_(inputs), thread_count_(thread_count), means_(inputs), feedback_(inputs * inputs), importance_(inputs) {
  const std::vector<float> means = center(x, inputs);
  const std::vector<float> covariance = second_moments(x, inputs, thread_count);
  order_ = rounding_order(covariance, inputs);
  double trace = 0;
  for (size_t i = 0; i < inputs; ++i) {
    means_[i] = means[order_[i]];
    trace += covariance[i * inputs + i];
  }
  const auto added = static_cast<float>(std::max(damping * trace / static_cast<double>(inputs), 1e-30));
  // Rows are stored from the last input to the first, because in this order the factorization H = (I + A) D (I + A)^T
  // is a Cholesky factorization, which starts at the top left.
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t row = order_[inputs - 1 - i];
    for (size_t j = 0; j <= i; ++j) {
      const uint32_t column = order_[inputs - 1 - j];
      feedback_[i * inputs + j] = covariance[std::max(row, column) * inputs + std::min(row, column)];
    }
    feedback_[i * inputs + i] += added;
  }
  factorize(added);
}

// Replaces the lower triangle by its Cholesky factor, in panels of columns, and then the factor by the coefficients A.
void ErrorFeedback::factorize(float smallest_pivot) {
  const size_t n = inputs_;
  float* l = feedback_.data();
  constexpr size_t kPanel = 64;
  for (size_t first = 0; first < n; first += kPanel) {
    const size_t end = std::min(first + kPanel, n);
    const auto solve_row = [&](size_t i) {
      float* row = l + i * n;
      for (size_t j = first; j < std::min(end, i + 1); ++j) {
        const float rest = row[j] - dot(row, l + j * n, j);
        row[j] = i == j ? std::sqrt(std::max(rest, smallest_pivot)) : rest / l[j * n + j];
      }
    };
    for (size_t i = first; i < end; ++i) solve_row(i);
    for_each_index(n - end, thread_count_, [&](size_t i) { solve_row(end + i); });
  }
  // Column j of the factor, from its diagonal down, gives the coefficients of the input that is rounded at position n -
  // 1 - j.
  std::vector<float> factor(n * n);
  factor.swap(feedback_);
  for (size_t j = 0; j < n; ++j) {
    const size_t input = n - 1 - j;
    const float pivot = factor[j * n + j];
    importance_[input] = pivot * pivot;
    for (size_t i = j + 1; i < n; ++i) feedback_[input * n + (n - 1 - i)] = factor[i * n + j] / pivot;
  }
}

std::vector<float> ErrorFeedback::round(std::span<const float> weights, size_t outputs, float lowest, float highest,
                                        const ChooseScale& choose_scale, int8_t* q) const {
  std::vector<float> bias_changes(outputs);
  for_each_index(divide_up(outputs, kLanes), thread_count_, [&](size_t group) {
    const size_t first = group * kLanes;
    round_outputs(weights.data(), first, std::min(kLanes, outputs - first), lowest, highest, choose_scale, q,
                  bias_changes.data());
  });
  return bias_changes;
}

void ErrorFeedback::round_outputs(const float* weights, size_t first_output, size_t count, float lowest, float highest,
                                  const ChooseScale& choose_scale, int8_t* q, float* bias_changes) const {
  std::vector<Lanes> errors(inputs_);
  for (size_t first = 0; first < inputs_; first += kBlock) {
    const size_t end = std::min(first + kBlock, inputs_);
    const size_t block = order_[first] / kBlock;
    Lanes originals[kBlock] = {};
    Lanes targets[kBlock];
    for (size_t j = first; j < end; ++j) {
      Lanes& original = originals[j - first];
      for (size_t lane = 0; lane < count; ++lane) {
        original[lane] = weights[(first_output + lane) * inputs_ + order_[j]];
      }
      Lanes sum = original;
      for (size_t k = 0; k < first; ++k) sum += feedback_[j * inputs_ + k] * errors[k];
      targets[j - first] = sum;
    }
    Lanes scales = {}, inverses = {};
    for (size_t lane = 0; lane < count; ++lane) {
      float column[kBlock];
      for (size_t i = 0; i < end - first; ++i) column[i] = targets[i][lane];
      const float scale =
          choose_scale(first_output + lane, block, {column, end - first}, {&importance_[first], end - first});
      scales[lane] = scale;
      inverses[lane] = scale == 0 ? 0 : 1 / scale;
    }
    for (size_t j = first; j < end; ++j) {
      Lanes target = targets[j - first];
      for (size_t k = first; k < j; ++k) target += feedback_[j * inputs_ + k] * errors[k];
      const Lanes units = target * inverses;
      Lanes rounded = {};
      for (size_t lane = 0; lane < count; ++lane) {
        rounded[lane] = round_to_integer(std::clamp(units[lane], lowest, highest));
        q[(first_output + lane) * inputs_ + order_[j]] = static_cast<int8_t>(static_cast<int32_t>(rounded[lane]));
      }
      errors[j] = originals[j - first] - rounded * scales;
    }
  }
  Lanes changes = {};
  for (size_t j = 0; j < inputs_; ++j) changes += errors[j] * means_[j];
  for (size_t lane = 0; lane < count; ++lane) bias_changes[first_output + lane] = changes[lane];
}

}  // namespace sotto
