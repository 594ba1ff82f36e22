// Calls a function compiled for the given number of rows, so that the sums of all rows stay in registers.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace sotto::SOTTO_ISA::generic {
namespace {

template <size_t kFirst, class Function, size_t... kIndex>
inline void with_rows(size_t rows, const Function& function, std::index_sequence<kIndex...>) {
  using Call = void (*)(const Function&);
  static constexpr Call kCalls[] = {
      [](const Function& called) { called(std::integral_constant<size_t, kFirst + kIndex>()); }...};
  assert(rows >= kFirst && rows - kFirst < sizeof...(kIndex));
  kCalls[rows - kFirst](function);
}

// Calls function(n), where n is an integral_constant equal to `rows`, which must be from kFirst to kLast.
template <size_t kFirst, size_t kLast, class Function>
inline void with_rows(size_t rows, const Function& function) {
  with_rows<kFirst>(rows, function, std::make_index_sequence<kLast - kFirst + 1>());
}

}  // namespace
}  // namespace sotto::SOTTO_ISA::generic
