// Sorting of numbers. libc++ compiles std::sort of numbers into its library, with which libsotto is not linked. A
// lambda as the comparison makes the compiler instantiate std::sort here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
