// Sorting of numbers without the C++ runtime library, which libsotto does not link. With libc++, std::sort of numbers
// calls a function in that library, unless the comparison is a lambda: then the compiler instantiates std::sort here.
#pragma once

#include <algorithm>

namespace sotto {

template <typename Iterator>
void sort_numbers(Iterator first, Iterator last) {
  std::sort(first, last, [](const auto& a, const auto& b) { return a < b; });
}

}  // namespace sotto
