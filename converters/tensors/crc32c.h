// CRC-32C (Castagnoli), with the masking that LevelDB and TensorFlow apply to stored values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

// Returns the CRC of the bytes that `crc` covers, which is 0 for none, followed by these.
uint32_t extend_crc32c(uint32_t crc, const void* bytes, size_t size);

constexpr uint32_t mask_crc32c(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8; }

}  // namespace sotto
