// Products of float32 matrices, row-major. Every sum runs over its terms in order, so that the number of threads does
// not change a bit.
#pragma once

#include <cstddef>
#include <vector>

namespace sotto {

// Returns y = x W^T + b: x is (rows, inputs), `weights` (outputs, inputs), `biases` (outputs) or empty for zero.
std::vector<float> multiply(const std::vector<float>& x, size_t rows, const std::vector<float>& weights,
                            const std::vector<float>& biases, unsigned thread_count);

// Returns the second moments x^T x / rows of x (rows, columns): the lower triangle of (columns, columns).
std::vector<float> second_moments(const std::vector<float>& x, size_t columns, unsigned thread_count);

}  // namespace sotto
