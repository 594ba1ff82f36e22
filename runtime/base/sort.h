// Sorting numbers. libc++ keeps std::sort of them in its library, which libsotto is linked without;
// a comparison of our own is compiled here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
