#include "runtime/session/string_matcher.h"

#include <cassert>
#include <new>

namespace sotto {

size_t StringMatcher::memory_size(std::span<const TextView> strings) {
  if (strings.empty()) return 0;
  size_t nodes = 1;
  for (const TextView& string : strings) nodes += string.size;
  return nodes * sizeof(Node);
}

void StringMatcher::build(std::span<const TextView> strings, void* memory) {
  nodes_ = nullptr;
  node_count_ = 0;
  if (strings.empty()) return;
  nodes_ = static_cast<Node*>(memory);
  new (&nodes_[node_count_++]) Node();
  for (const TextView& string : strings) insert(string);
  link();
}

uint16_t StringMatcher::child_of(uint16_t node, char byte) const {
  uint16_t child = nodes_[node].first_child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].next_sibling;
  return child;
}

void StringMatcher::insert(const TextView& string) {
  assert(string.size > 0 && string.size <= kMaxStringBytes);
  uint16_t node = 0;
  for (size_t i = 0; i < string.size; ++i) {
    uint16_t child = child_of(node, string.text[i]);
    if (child == 0) {
      assert(node_count_ <= kMaxTotalBytes);
      child = node_count_++;
      new (&nodes_[child]) Node();
      nodes_[child].byte = string.text[i];
      nodes_[child].depth = static_cast<uint16_t>(i + 1);
      nodes_[child].next_sibling = nodes_[node].first_child;
      nodes_[node].first_child = child;
    }
    node = child;
  }
  nodes_[node].matched = static_cast<uint16_t>(string.size);
}

// Finds every node's `fail`, in order of depth: the order is a list through the nodes.
void StringMatcher::link() {
  uint16_t last = 0;
  for (uint16_t node = 0;; node = nodes_[node].next_in_order) {
    for (uint16_t child = nodes_[node].first_child; child != 0; child = nodes_[child].next_sibling) {
      const uint16_t fail = node == 0 ? 0 : step(nodes_[node].fail, nodes_[child].byte);
      nodes_[child].fail = fail;
      if (nodes_[child].matched == 0) nodes_[child].matched = nodes_[fail].matched;
      nodes_[last].next_in_order = child;
      last = child;
    }
    if (node == last) return;
  }
}

StringMatcher::State StringMatcher::step(State state, char byte) const {
  if (empty()) return 0;
  for (;;) {
    if (const uint16_t child = child_of(state, byte); child != 0) return child;
    if (state == 0) return 0;
    state = nodes_[state].fail;
  }
}

}  // namespace sotto
