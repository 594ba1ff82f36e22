// CRC-32C (Castagnoli), and the masking that LevelDB and TensorFlow apply to stored CRCs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

// Returns the CRC of some data followed by `bytes`, given the CRC of that data (0 if it is empty).
uint32_t extend_crc32c(uint32_t crc, const void* bytes, size_t size);

constexpr uint32_t mask_crc32c(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8; }

}  // namespace sotto
