#include "runtime/grammar/json_schema/json_document.h"

#include <algorithm>
#include <cstring>

namespace sotto {

uint32_t JsonDocument::member(uint32_t object, std::string_view name) const {
  if (object == kNone || nodes_[object].kind != JsonKind::kObject) return kNone;
  for (uint32_t node = nodes_[object].first; node != kNone; node = nodes_[node].next) {
    if (this->name(node) == name) return node;
  }
  return kNone;
}

uint32_t JsonDocument::element(uint32_t array, uint32_t index) const {
  if (array == kNone || nodes_[array].kind != JsonKind::kArray) return kNone;
  uint32_t node = nodes_[array].first;
  while (node != kNone && nodes_[node].index != index) node = nodes_[node].next;
  return node;
}

size_t JsonDocument::pointer(uint32_t node, char* out, size_t capacity) const {
  constexpr uint32_t kMaxDepth = 48;
  uint32_t path[kMaxDepth];
  uint32_t depth = 0;
  for (; node != kNone && nodes_[node].parent != kNone; node = nodes_[node].parent) {
    if (depth < kMaxDepth) path[depth++] = node;
  }
  size_t size = 0;
  const auto put = [&](char c) {
    if (size < capacity) out[size++] = c;
  };
  put('#');
  while (depth > 0) {
    const uint32_t step = path[--depth];
    put('/');
    if (nodes_[nodes_[step].parent].kind == JsonKind::kArray) {
      char digits[12];
      uint32_t count = 0;
      uint32_t index = nodes_[step].index;
      do {
        digits[count++] = static_cast<char>('0' + index % 10);
        index /= 10;
      } while (index > 0);
      while (count > 0) put(digits[--count]);
      continue;
    }
    for (const char c : name(step)) {
      if (c == '~' || c == '/') {
        put('~');
        put(c == '~' ? '0' : '1');
      } else {
        put(c);
      }
    }
  }
  return size;
}

}  // namespace sotto
