// Finds any of a list of strings in a text that comes byte by byte, in time linear in the
// text (Aho and Corasick 1975), in memory of the caller. A state is one small number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/sampling/sampler_params.h"

namespace sotto {

class StringMatcher {
 public:
  using State = uint16_t;  // 0: nothing begun

  static constexpr size_t kMaxStringBytes = 1024;
  static constexpr size_t kMaxTotalBytes = 65534;

  // Bytes that build() needs. The strings together have at most kMaxTotalBytes.
  static size_t memory_size(std::span<const TextView> strings);

  // `memory`: memory_size bytes, aligned to 2. No string is empty.
  void build(std::span<const TextView> strings, void* memory);

  bool empty() const { return nodes_ == nullptr; }
  State step(State state, char byte) const;

  // Bytes at the end of the text that may begin a string: the fewest there can be.
  size_t held(State state) const { return empty() ? 0 : nodes_[state].depth; }
  // Size of the longest string that ends here; 0: none.
  size_t matched(State state) const { return empty() ? 0 : nodes_[state].matched; }

 private:
  struct Node {
    uint16_t first_child;
    uint16_t next_sibling;
    uint16_t fail;  // the node of the longest proper suffix there is
    uint16_t depth;
    uint16_t matched;
    uint16_t next_in_order;
    char byte;
  };

  uint16_t child_of(uint16_t node, char byte) const;
  void insert(const TextView& string);
  void link();

  Node* nodes_ = nullptr;
  uint16_t node_count_ = 0;
};

}  // namespace sotto
