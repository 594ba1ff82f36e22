// Part of sotto.hpp: the elements of parameter lists, and their conversion to arrays of C structs.
#ifndef SOTTO_ARRAYS_HPP
#define SOTTO_ARRAYS_HPP

#include <string>
#include <tuple>
#include <vector>

#include "base.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

using TokenBias = sotto_token_bias;

// A bias of the last of `tokens`, applied when the text ends with the others.
struct SequenceBias {
  std::vector<Token> tokens;
  float bias = 0;
};

namespace detail {

inline sotto_text element_to_c(const std::string& text) { return {text.data(), text.size()}; }
inline sotto_token_list element_to_c(const std::vector<Token>& list) { return {list.data(), list.size()}; }
inline sotto_sequence_bias element_to_c(const SequenceBias& sequence) {
  return {sequence.tokens.data(), sequence.tokens.size(), sequence.bias, 0};
}

// Arrays of the C structs that refer to the elements of lists. The lists must outlive this object.
class Arrays {
 public:
  template <class T>
  void to_c(const std::vector<T>& list, const T*& data, size_t& count) {
    data = list.empty() ? nullptr : list.data();
    count = list.size();
  }
  template <class T, class C>
  void to_c(const std::vector<T>& list, const C*& data, size_t& count) {
    std::vector<C> array;
    for (const T& element : list) array.push_back(element_to_c(element));
    to_c(array, data, count);
    std::get<std::vector<std::vector<C>>>(arrays_).push_back(std::move(array));  // a move keeps the address of elements
  }

 private:
  template <class C>
  using Owned = std::vector<std::vector<C>>;

  std::tuple<Owned<sotto_text>, Owned<sotto_token_list>, Owned<sotto_sequence_bias>> arrays_;
};

}  // namespace detail

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_ARRAYS_HPP
