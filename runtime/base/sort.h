// Sorting of numbers. With libc++, std::sort of numbers calls a function of the library, with which libsotto is not
// linked. A custom comparison makes the compiler instantiate the template here instead.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
