// Strongly connected components of a graph (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972), with an
// explicit stack.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"

namespace sotto {

// The strongly connected components of a graph. The caller adds the vertices in the order of their numbers, each
// followed by its edges.
class Components {
 public:
  void layout(Arena& arena, uint32_t vertex_capacity, uint32_t edge_capacity);

  void clear() {
    vertex_count_ = 0;
    edge_count_ = 0;
  }
  void add_vertex() { first_edges_[vertex_count_++] = edge_count_; }
  // Adds an edge from the newest vertex, or returns false if the capacity is exhausted.
  bool add_edge(uint32_t to) {
    if (edge_count_ == edge_capacity_) return false;
    edges_[edge_count_++] = to;
    return true;
  }

  // Numbers the components so that every edge leads to the same component or to one with a lower number.
  void find();
  uint32_t component_count() const { return component_count_; }
  uint32_t component_of(uint32_t vertex) const { return component_[vertex]; }
  uint32_t edge_count() const { return edge_count_; }

 private:
  void visit(uint32_t root);

  uint32_t edge_capacity_ = 0;
  uint32_t vertex_count_ = 0;
  uint32_t edge_count_ = 0;
  uint32_t component_count_ = 0;
  uint32_t next_index_ = 0;
  uint32_t* first_edges_ = nullptr;  // first edge of each vertex; the last element is the number of edges
  uint32_t* edges_ = nullptr;
  uint32_t* index_ = nullptr;  // rank in the order of first visits, from 1; 0 if not visited
  uint32_t* low_ = nullptr;
  uint32_t* component_ = nullptr;
  uint32_t* next_edge_ = nullptr;
  uint32_t* path_ = nullptr;  // vertices whose visit is in progress
  uint32_t* open_ = nullptr;  // visited vertices that belong to no component yet
  uint32_t open_count_ = 0;
};

}  // namespace sotto
