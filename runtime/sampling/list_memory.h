// The sampler's copy of the lists that its parameters point at, in memory of its caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

// Bytes that the lists of `params` take, each rounded up to 8; SIZE_MAX if it is beyond that.
size_t list_size(const SamplerParams& params);

class ListMemory {
 public:
  // Over a measuring arena it only adds up.
  void place(size_t list_bytes, Arena& arena);

  // Points the lists of `params` at copies. The lists taken last stay whole until the next
  // call, so that they may be part of the new ones, or be kept if those are refused.
  Status copy(SamplerParams* params, Error* error);
  // The next copy() may overwrite all lists but those copied last.
  void keep_copied() { current_ = 1 - current_; }

 private:
  size_t size_ = 0;
  uint8_t* halves_[2] = {};
  int current_ = 0;  // the half in use
};

}  // namespace sotto
