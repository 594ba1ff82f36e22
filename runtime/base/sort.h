// Sorting of numbers. libc++ has std::sort for them in its binary, which libsotto is linked without; with a comparison
// of its own the template is compiled here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
