// Arithmetic on sizes.
#pragma once

#include <cstddef>

namespace sotto {

// Returns value / divisor, rounded up.
constexpr size_t divide_up(size_t value, size_t divisor) { return (value + divisor - 1) / divisor; }
// Returns the smallest multiple of `alignment` that is at least `value`.
constexpr size_t align_up(size_t value, size_t alignment) { return divide_up(value, alignment) * alignment; }

}  // namespace sotto
