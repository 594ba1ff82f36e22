// Sorts numbers. In libc++ std::sort for numbers is a library function, and libsotto is linked without that library. A
// custom comparison makes the compiler instantiate the template here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
