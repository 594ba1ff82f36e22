// Opens converted files with the C++ binding. Do not include this header together with those of the runtime, because
// they declare the same names.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <sotto.hpp>
#include <span>
#include <utility>

namespace sotto {

// Opens a copy of `file` with the alignment that the runtime requires.
inline Model open_file(std::span<const uint8_t> file) {
  Memory memory(file.size());
  if (memory.data() == nullptr) throw std::bad_alloc();
  std::memcpy(memory.data(), file.data(), file.size());
  return Model::from_memory(std::move(memory));
}

}  // namespace sotto
