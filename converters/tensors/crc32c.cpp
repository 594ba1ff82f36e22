#include "converters/tensors/crc32c.h"

#include <array>
#include <cstring>

namespace sotto {
namespace {

// Slicing-by-8 (Kounavis and Berry 2005): table k holds the CRC of each byte value followed by k zero bytes.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr uint32_t kPolynomial = 0x82F63B78;
  Tables tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1) * kPolynomial;
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[k - 1][byte];
      tables[k][byte] = crc >> 8 ^ tables[0][crc & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t extend_crc32c(uint32_t crc, const void* bytes, size_t size) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  crc = ~crc;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 255];
  }
  for (; size > 0; --size, ++at) crc = crc >> 8 ^ kTables[0][(crc ^ *at) & 255];
  return ~crc;
}

}  // namespace sotto
