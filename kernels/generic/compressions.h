// Tables for Vector::compress(), for instruction sets that can permute but have no compress instruction.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <cstdint>

namespace sotto::SOTTO_ISA {
namespace {

// For every mask of `lane_count` lanes, the numbers of the set lanes, lowest first. A lane of several bytes has the
// numbers of its bytes.
template <unsigned lane_count, unsigned lane_bytes>
struct Compressions {
  uint8_t order[1u << lane_count][lane_count * lane_bytes] = {};

  constexpr Compressions() {
    for (unsigned mask = 0; mask < 1u << lane_count; ++mask) {
      int place = 0;
      for (unsigned lane = 0; lane < lane_count; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        for (unsigned byte = 0; byte < lane_bytes; ++byte) {
          order[mask][place++] = static_cast<uint8_t>(lane_bytes * lane + byte);
        }
      }
    }
  }
};

}  // namespace
}  // namespace sotto::SOTTO_ISA
