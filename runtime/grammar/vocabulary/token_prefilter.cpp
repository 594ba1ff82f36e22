#include "runtime/grammar/vocabulary/token_prefilter.h"

#include <cstring>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

// The range of the next byte inside a character, and the state after it (The Unicode Standard, table 3-7).
struct Expected {
  uint8_t first;
  uint8_t last;
  uint8_t next;
};

constexpr Expected kInside[kUtf8States] = {
    {},  // state 0, between characters
    {0x80, 0xBF, 0},
    {0x80, 0xBF, 1},
    {0x80, 0xBF, 2},  // states 1 to 3: one, two or three more bytes follow
    {0xA0, 0xBF, 1},  // after E0
    {0x80, 0x9F, 1},  // after ED
    {0x90, 0xBF, 2},  // after F0
    {0x80, 0x8F, 2},  // after F4
};

constexpr uint64_t kOnes = 0x0101010101010101;

// Compares eight summaries with the prefilter. The top bit of byte i of the result is set if the prefilter contains
// summary i.
uint64_t held(TokenPrefilter prefilter, uint64_t summaries) {
  constexpr uint64_t kClassBits = (1u << kCharClassCount) - 1;
  const uint64_t foreign = summaries & (kOnes * (kClassBits & ~uint64_t{prefilter.classes}));
  const uint64_t is_foreign = foreign + kOnes * 0x7F;
  const uint64_t lengths = summaries >> kCharClassCount & kOnes * (0xFF >> kCharClassCount);
  const uint64_t is_short = kOnes * (0x80u | prefilter.length) - lengths;
  return is_short & ~is_foreign & kOnes * 0x80;
}

// Loads eight summaries, the first one lowest.
uint64_t load_summaries(const TextSummary* summaries) {
  uint64_t eight = 0;
  std::memcpy(&eight, summaries, 8);
  return eight;
}

// Collects the top bits of eight bytes.
uint64_t top_bits(uint64_t bytes) { return (bytes >> 7 & kOnes) * 0x0102040810204080 >> 56; }

}  // namespace

uint8_t char_class_of(uint8_t byte) {
  if (byte >= 'a' && byte <= 'z') return kLowerClass;
  if (byte >= 'A' && byte <= 'Z') return kUpperClass;
  if ((byte >= '0' && byte <= '9') || byte == '_') return kDigitClass;
  if (byte == ' ') return kSpaceClass;
  return utf8_step(0, byte) == kUtf8Reject ? 0 : kOtherClass;
}

uint8_t utf8_step(uint32_t state, uint8_t byte) {
  if (state != 0) {
    const Expected& expected = kInside[state];
    return byte >= expected.first && byte <= expected.last ? expected.next : kUtf8Reject;
  }
  if (byte < 0x80) {
    const bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F;
    return is_plain ? 0 : kUtf8Reject;
  }
  if (byte < 0xC2 || byte > 0xF4) return kUtf8Reject;
  if (byte < 0xE0) return 1;
  if (byte < 0xF0) return byte == 0xE0 ? 4 : byte == 0xED ? 5 : 2;
  return byte == 0xF0 ? 6 : byte == 0xF4 ? 7 : 3;
}

TextSummary summarize(std::span<const char> text) {
  uint8_t state = 0;
  uint8_t classes = 0;
  uint32_t characters = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (state == 0) {
      ++characters;
      classes |= char_class_of(byte);
    }
    state = utf8_step(state, byte);
    if (state == kUtf8Reject) return kOutsidePrefilters;
  }
  uint32_t length = 0;
  while (characters > kLengthCharacters[length]) ++length;
  return static_cast<TextSummary>(length << kCharClassCount | classes);
}

bool ends_inside(std::span<const char> text) {
  for (size_t taken = 1; taken < 4 && taken <= text.size(); ++taken) {
    if (is_continuation(text[text.size() - taken])) continue;
    const auto byte = static_cast<uint8_t>(text[text.size() - taken]);
    const size_t size = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return size > taken;
  }
  return false;
}

uint64_t summaries_of_length(const TextSummary* summaries, uint8_t length) {
  uint64_t word = 0;
  for (size_t i = 0; i < 64; i += 8) {
    const uint64_t lengths = load_summaries(summaries + i) >> kCharClassCount & kOnes * (0xFF >> kCharClassCount);
    const uint64_t differs = (lengths ^ kOnes * length) + kOnes * 0x7F;
    word |= top_bits(~differs) << i;
  }
  return word;
}

void fill_mask(TokenPrefilter prefilter, std::span<const TextSummary> summaries, uint64_t* words) {
  for (size_t begin = 0; begin < summaries.size(); begin += 64) {
    uint64_t word = 0;
    for (size_t i = 0; i < 64; i += 8) {
      word |= top_bits(held(prefilter, load_summaries(summaries.data() + begin + i))) << i;
    }
    words[begin / 64] = word;
  }
}

}  // namespace sotto
