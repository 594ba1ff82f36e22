// The tile registers of AMX. The intrinsics of GCC are not used, because they accept only literals as tile numbers, and
// do not declare that loading a tile reads memory. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto::avx512amx {
namespace {

inline constexpr size_t kTileRows = 16;
inline constexpr size_t kTileRowBytes = 64;
inline constexpr size_t kTileBytes = kTileRows * kTileRowBytes;

// Configures all eight tiles at full size while in scope.
class TileState {
 public:
  TileState() {
    alignas(64) uint8_t shapes[64] = {1};  // palette 1; the widths start at byte 16, the heights at byte 48
    for (size_t i = 0; i < 8; ++i) {
      shapes[16 + 2 * i] = kTileRowBytes;
      shapes[48 + i] = kTileRows;
    }
    asm volatile("ldtilecfg %0" : : "m"(shapes));
  }
  ~TileState() { asm volatile("tilerelease"); }
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;
};

template <int kTile>
[[gnu::always_inline]] inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

// Loads a tile whose rows are `stride` apart.
template <int kTile>
[[gnu::always_inline]] inline void load_tile(const void* from, size_t stride = kTileRowBytes) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(from), "r"(stride) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void store_tile(void* to) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(to), "r"(kTileRowBytes) : "memory");
}

// Adds to the sums (row, column) the products of an unsigned tile (row, 64) and a signed tile (group of four inputs,
// column, input of the group).
template <int kSums, int kUnsigned, int kSigned>
[[gnu::always_inline]] inline void multiply_tiles() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kUnsigned), "i"(kSigned));
}

// Like multiply_tiles(), but for signed rows.
template <int kSums, int kRows, int kColumns>
[[gnu::always_inline]] inline void multiply_signed_tiles() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kRows), "i"(kColumns));
}

}  // namespace
}  // namespace sotto::avx512amx
