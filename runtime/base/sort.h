// Sorting of numbers. libc++ contains a compiled std::sort of numbers in its library, which libsotto does not link. A
// lambda as the comparison makes the compiler instantiate std::sort here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
