#include "runtime/grammar/automata/components.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr uint32_t kNoComponent = UINT32_MAX;

}  // namespace

void Components::layout(Arena& arena, uint32_t vertex_capacity, uint32_t edge_capacity) {
  edge_capacity_ = edge_capacity;
  first_edges_ = arena.take<uint32_t>(size_t{vertex_capacity} + 1);
  edges_ = arena.take<uint32_t>(edge_capacity);
  index_ = arena.take<uint32_t>(vertex_capacity);
  low_ = arena.take<uint32_t>(vertex_capacity);
  component_ = arena.take<uint32_t>(vertex_capacity);
  next_edge_ = arena.take<uint32_t>(vertex_capacity);
  path_ = arena.take<uint32_t>(vertex_capacity);
  open_ = arena.take<uint32_t>(vertex_capacity);
}

void Components::find() {
  first_edges_[vertex_count_] = edge_count_;
  component_count_ = 0;
  next_index_ = 0;
  open_count_ = 0;
  std::fill_n(index_, vertex_count_, 0u);
  std::fill_n(component_, vertex_count_, kNoComponent);
  for (uint32_t vertex = 0; vertex < vertex_count_; ++vertex) {
    if (index_[vertex] == 0) visit(vertex);
  }
}

void Components::visit(uint32_t root) {
  uint32_t path_size = 0;
  const auto enter = [&](uint32_t vertex) {
    index_[vertex] = low_[vertex] = ++next_index_;
    next_edge_[vertex] = first_edges_[vertex];
    path_[path_size++] = vertex;
    open_[open_count_++] = vertex;
  };
  enter(root);
  while (path_size > 0) {
    const uint32_t vertex = path_[path_size - 1];
    if (next_edge_[vertex] < first_edges_[vertex + 1]) {
      const uint32_t to = edges_[next_edge_[vertex]++];
      if (index_[to] == 0) {
        enter(to);
      } else if (component_[to] == kNoComponent) {
        low_[vertex] = std::min(low_[vertex], index_[to]);
      }
      continue;
    }
    --path_size;
    if (path_size > 0) {
      const uint32_t parent = path_[path_size - 1];
      low_[parent] = std::min(low_[parent], low_[vertex]);
    }
    if (low_[vertex] != index_[vertex]) continue;
    uint32_t member = 0;
    do {
      member = open_[--open_count_];
      component_[member] = component_count_;
    } while (member != vertex);
    ++component_count_;
  }
}

}  // namespace sotto
