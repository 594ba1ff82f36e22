// The Aho-Corasick automaton ("Efficient String Matching: An Aid to Bibliographic Search", CACM 1975). It finds any of
// a list of strings in a text that arrives letter by letter. The children of a node form a linked list, which keeps
// nodes small at the cost of time: O(length of the text * children per node).
//
// A state is a node of the trie of all strings, and stands for the longest prefix of a string that is a suffix of the
// text so far. If a node has no child for the next letter, its failure link leads to the next shorter prefix. Letters
// may be bytes or code points. `Index`, the type of node numbers, should be as small as the number of nodes permits,
// because a node contains six of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace sotto {

template <typename Letter, typename Index>
class AhoCorasick {
 public:
  using State = Index;  // state 0 is the empty prefix, where every search starts

  // Returns the bytes of memory for strings with `letter_count` letters in total.
  static constexpr size_t memory_size(size_t letter_count) { return (letter_count + 1) * sizeof(Node); }

  // Starts an empty automaton in `memory`. The memory must be aligned for Index and Letter and outlive the automaton.
  // The caller then inserts the strings, none of which may be empty, and calls link().
  void init(void* memory) {
    nodes_ = static_cast<Node*>(memory);
    node_count_ = 0;
    add_node();
  }
  void insert(std::span<const Letter> string) {
    Index node = 0;
    for (size_t i = 0; i < string.size(); ++i) {
      Index child = child_of(node, string[i]);
      if (child == 0) {
        child = add_node();
        nodes_[child].letter = string[i];
        nodes_[child].depth = static_cast<Index>(i + 1);
        nodes_[child].next_sibling = nodes_[node].first_child;
        nodes_[node].first_child = child;
      }
      node = child;
    }
    nodes_[node].matched = static_cast<Index>(string.size());
  }
  // Computes the failure links in breadth-first order, with a queue that is a list through the nodes.
  void link() {
    Index last = 0;
    for (Index node = 0;; node = nodes_[node].next_in_order) {
      for (Index child = nodes_[node].first_child; child != 0; child = nodes_[child].next_sibling) {
        const Index failure = node == 0 ? Index{0} : step(nodes_[node].failure, nodes_[child].letter);
        nodes_[child].failure = failure;
        if (nodes_[child].matched == 0) nodes_[child].matched = nodes_[failure].matched;
        nodes_[last].next_in_order = child;
        last = child;
      }
      if (node == last) return;
    }
  }

  bool empty() const { return nodes_ == nullptr; }  // true before init()
  size_t state_count() const { return node_count_; }
  State step(State state, Letter letter) const {
    for (;;) {
      if (const Index child = child_of(state, letter); child != 0) return child;
      if (state == 0) return 0;
      state = nodes_[state].failure;
    }
  }
  // Returns the length of the longest suffix of the text that is a prefix of some string.
  size_t depth(State state) const { return nodes_[state].depth; }
  // Returns the length of the longest string that is a suffix of the text, or 0.
  size_t matched(State state) const { return nodes_[state].matched; }
  // Returns the state of that string, or 0 if there is none.
  State match(State state) const {
    while (nodes_[state].depth != nodes_[state].matched) state = nodes_[state].failure;
    return state;
  }

 private:
  // A prefix of a string, with its links to other prefixes.
  struct Node {
    Index first_child;
    Index next_sibling;
    Index failure;
    Index depth;
    Index matched;
    Index next_in_order;
    Letter letter;
  };

  Index add_node() {
    new (&nodes_[node_count_]) Node();
    return node_count_++;
  }
  Index child_of(Index node, Letter letter) const {
    Index child = nodes_[node].first_child;
    while (child != 0 && nodes_[child].letter != letter) child = nodes_[child].next_sibling;
    return child;
  }

  Node* nodes_ = nullptr;
  Index node_count_ = 0;
};

}  // namespace sotto
