#include "runtime/grammar/slices.h"

namespace sotto {
namespace {

// What may follow in a character: its next byte's range and the state behind it.
struct Expected {
  uint8_t first;
  uint8_t last;
  uint8_t next;
};

constexpr Expected kInside[kSliceStates] = {
    {},  // between characters
    {0x80, 0xBF, 0},
    {0x80, 0xBF, 1},
    {0x80, 0xBF, 2},  // one, two, three bytes to go
    {0xA0, 0xBF, 1},  // behind E0
    {0x80, 0x9F, 1},  // behind ED
    {0x90, 0xBF, 2},  // behind F0
    {0x80, 0x8F, 2},  // behind F4
};

}  // namespace

uint8_t slice_step(uint32_t state, uint8_t byte) {
  if (state != 0) {
    const Expected& expected = kInside[state];
    return byte >= expected.first && byte <= expected.last ? expected.next : kSliceDead;
  }
  if (byte < 0x80) {
    const bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
    return is_plain ? 0 : kSliceDead;
  }
  if (byte < 0xC2 || byte > 0xF4) return kSliceDead;
  if (byte < 0xE0) return 1;
  if (byte < 0xF0) return byte == 0xE0 ? 4 : byte == 0xED ? 5 : 2;
  return byte == 0xF0 ? 6 : byte == 0xF4 ? 7 : 3;
}

uint8_t slice_of(std::span<const char> text) {
  uint8_t state = 0;
  uint32_t characters = 0;
  for (const char byte : text) {
    if (state == 0) ++characters;
    state = slice_step(state, static_cast<uint8_t>(byte));
    if (state == kSliceDead) return kNoSlice;
  }
  uint8_t slice = 0;
  while (characters > kSliceCharacters[slice]) ++slice;
  return slice;
}

}  // namespace sotto
