// Sorting of numbers without the C++ runtime library. With libc++, std::sort of numbers calls a function in its
// library, and libsotto does not link this library. With a lambda as the comparison, the compiler instantiates
// std::sort here instead.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
