// Products of row-major float32 matrices. Each sum adds its terms in order, so that the result does not depend on the
// number of threads.
#pragma once

#include <cstddef>
#include <vector>

namespace sotto {

// Returns y = x W^T + b: x is (rows, inputs), `weights` (outputs, inputs), `biases` (outputs) or empty for zero.
std::vector<float> multiply(const std::vector<float>& x, size_t rows, const std::vector<float>& weights,
                            const std::vector<float>& biases, unsigned thread_count);

// Returns the lower triangle of the second moments x^T x / rows, (columns, columns), of x (rows, columns).
std::vector<float> second_moments(const std::vector<float>& x, size_t columns, unsigned thread_count);

}  // namespace sotto
