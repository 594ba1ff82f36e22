// XXH64 (Yann Collet, xxHash specification 0.1.1): the checksum of models, compiled grammars, saved states and saved
// conversations, and a hash of byte strings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

uint64_t xxhash64(const void* bytes, size_t size, uint64_t seed = 0);

}  // namespace sotto
