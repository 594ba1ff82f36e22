// Validates the parameters of a sampler and copies the lists to which they point into memory of the caller.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/chain.h"

namespace sotto {

// Returns the number of bytes of the lists of `params`, each rounded up to 8, or SIZE_MAX on overflow.
size_t list_size(const SamplerParams& params);

class ListMemory {
 public:
  // A measuring arena only adds up.
  void layout(Arena& arena, size_t list_bytes);

  // Makes the lists of `params` point to copies. The lists of the previous call stay intact, so that they
  // may be part of the new ones, or stay in use if those are rejected.
  Status copy(SamplerParams* params, Error* error);
  // Commits: the next copy() may overwrite all lists but those copied last.
  void keep_copied() { current_ = 1 - current_; }

 private:
  size_t size_ = 0;
  uint8_t* halves_[2] = {};
  int current_ = 0;  // index of the half in use
};

// Rejects the first invalid parameter, and names its first invalid element.
Status check_sampler(const SamplerParams& params, const SamplerShape& shape, Error* error);

}  // namespace sotto
