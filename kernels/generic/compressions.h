// A table for Vector::compress(), for instruction sets that can shuffle bytes but have no compress instruction.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <cstdint>

namespace sotto::SOTTO_ISA {
namespace {

// For every mask of 4 lanes, the positions of the bytes of the set lanes, lowest first.
struct Compressions {
  uint8_t order[16][16] = {};

  constexpr Compressions() {
    for (unsigned mask = 0; mask < 16; ++mask) {
      int place = 0;
      for (unsigned lane = 0; lane < 4; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        for (unsigned byte = 0; byte < 4; ++byte) {
          order[mask][place++] = static_cast<uint8_t>(4 * lane + byte);
        }
      }
    }
  }
};
inline constexpr Compressions kCompressions;

}  // namespace
}  // namespace sotto::SOTTO_ISA
