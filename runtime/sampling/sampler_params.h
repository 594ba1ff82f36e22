// Validates the parameters of a sampler and copies their lists into the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/sampler_context.h"

namespace sotto {

// Returns the total number of bytes of the lists in `params`, each rounded up to a multiple of 8, or SIZE_MAX on
// overflow.
size_t list_size(const SamplerParams& params);

// Memory for two copies of the parameters' lists. One is in use while the other receives the lists of new parameters.
class ListMemory {
 public:
  // Takes memory for two sets of lists of `list_bytes` bytes.
  void layout(Arena& arena, size_t list_bytes);

  // Makes the lists of `params` point to copies. The lists in use stay intact, because they may be the source of the
  // new ones, and because the new ones may be rejected.
  Status copy(SamplerParams* params, Error* error);
  // Puts the copies into use: the next copy() may overwrite the previous lists.
  void keep_copied() { current_ = 1 - current_; }

 private:
  size_t size_ = 0;
  uint8_t* halves_[2] = {};
  int current_ = 0;  // index of the half that is in use
};

// Rejects the first invalid parameter and names its first invalid element.
Status check_sampler(const SamplerParams& params, const SamplerContext& context, Error* error);

}  // namespace sotto
