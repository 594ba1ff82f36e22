// Sorting of numbers. libc++ compiles std::sort of numbers into its library, but libsotto is not linked with that
// library. A lambda as the comparison makes the compiler instantiate std::sort here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
