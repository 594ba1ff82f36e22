#include "runtime/base/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {
namespace {

using namespace std::string_view_literals;

std::string encode_utf8(uint32_t c) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 63))};
  if (c < 0x10000) {
    return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
  }
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 63)), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
}

// Returns the text that is written when `pieces` are appended one by one.
std::string stream(const std::vector<std::string_view>& pieces) {
  Utf8Stream stream;
  std::string text;
  for (const std::string_view piece : pieces) {
    std::vector<char> output(Utf8Stream::output_bound(piece.size()));
    const size_t size = stream.append(piece, output.data());
    EXPECT_LE(size, output.size());
    text.append(output.data(), size);
  }
  std::vector<char> output(Utf8Stream::output_bound(0));
  const size_t size = stream.flush(output.data());
  return text.append(output.data(), size);
}

TEST(DecodeUtf8, AcceptsExactlyTheScalarValues) {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const std::string bytes = encode_utf8(c);
    const Utf8Character character = decode_utf8(bytes.data(), bytes.size());
    const bool is_surrogate = c >= 0xD800 && c < 0xE000;
    ASSERT_EQ(character.valid, !is_surrogate) << c;
    if (is_surrogate) continue;
    ASSERT_EQ(character.code_point, c);
    ASSERT_EQ(character.size, bytes.size());
    for (size_t size = 1; size < bytes.size(); ++size) {
      const Utf8Character cut = decode_utf8(bytes.data(), size);
      ASSERT_TRUE(!cut.valid && cut.incomplete && cut.size == size) << c;
    }
  }
}

TEST(DecodeUtf8, RejectsOverlongFormsAndNumbersBeyondUnicode) {
  for (const std::string_view bytes : {"\x80"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xE0\x9F\xBF"sv, "\xF0\x8F\xBF\xBF"sv,
                                       "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFF"sv, "\xED\xA0\x80"sv}) {
    const Utf8Character character = decode_utf8(bytes.data(), bytes.size());
    EXPECT_FALSE(character.valid);
    EXPECT_FALSE(character.incomplete);
    EXPECT_EQ(character.size, 1u);
  }
}

TEST(FindInvalidUtf8, FindsTheFirstInvalidByteAtAnyPlace) {
  for (size_t before = 0; before < 20; ++before) {
    const std::string prefix(before, 'x');
    EXPECT_EQ(find_invalid_utf8(prefix), before);
    EXPECT_EQ(find_invalid_utf8(prefix + "\xE2\x82\xAC"), before + 3);
    EXPECT_EQ(find_invalid_utf8(prefix + "\xFF" + std::string(9, 'y')), before);
    EXPECT_EQ(find_invalid_utf8(prefix + "\xE2\x82"), before);
    EXPECT_EQ(find_invalid_utf8(prefix + "\xC3\xA9\xE2\x82z"), before + 2);
  }
}

// The results of conforming replacement in Unicode 15, tables 3-8 to 3-11.
struct Replacement {
  std::string_view bytes;
  std::string_view text;
};
const Replacement kReplacements[] = {
    {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"sv, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
    {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"sv, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
    {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"sv, "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42"},
    {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"sv, "\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
    {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"sv, "\x61\uFFFD\uFFFD\uFFFD\x62\uFFFD\x63\uFFFD\uFFFD\x64"},
    {"na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x98\x80"sv, "na\u00EFve \u20AC \U0001F600"},
    {"\xF0\x9F\x98"sv, "\uFFFD"},
    {""sv, ""},
    {"\0a\0"sv, "\0a\0"sv},
};

TEST(Utf8Stream, ReplacesMaximalSubpartsForEverySplit) {
  for (const auto& [bytes, text] : kReplacements) {
    for (size_t first = 0; first <= bytes.size(); ++first) {
      for (size_t second = first; second <= bytes.size(); ++second) {
        EXPECT_EQ(stream({bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)}), text);
      }
    }
    std::vector<std::string_view> single;
    for (size_t i = 0; i < bytes.size(); ++i) single.push_back(bytes.substr(i, 1));
    EXPECT_EQ(stream(single), text);
  }
}

TEST(Utf8Stream, WithholdsOnlyBytesThatMayBecomeACharacter) {
  Utf8Stream stream;
  char output[64];
  EXPECT_EQ(stream.append("a\xF0\x9F"sv, output), 1u);
  EXPECT_EQ(stream.append("\x98"sv, output), 0u);
  EXPECT_EQ(stream.append("\x80z"sv, output), 5u);
  EXPECT_EQ(stream.append("\xE2"sv, output), 0u);
  EXPECT_EQ(std::string(output, stream.append("b"sv, output)),
            "\uFFFD"
            "b");
  EXPECT_EQ(stream.append("\xE2\x82"sv, output), 0u);
  stream.clear();
  EXPECT_EQ(stream.flush(output), 0u);
}

TEST(Utf8Stream, ResumesWhereTextEnds) {
  for (const auto& [bytes, text] : kReplacements) {
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      for (size_t tail = std::min<size_t>(cut, 3); tail <= cut; ++tail) {
        Utf8Stream whole, resumed;
        char expected[128], output[128];
        whole.append(bytes.substr(0, cut), expected);
        resumed.resume(bytes.substr(cut - tail, tail));
        const std::string_view rest = bytes.substr(cut);
        size_t expected_size = whole.append(rest, expected);
        expected_size += whole.flush(expected + expected_size);
        size_t size = resumed.append(rest, output);
        size += resumed.flush(output + size);
        EXPECT_EQ(std::string(output, size), std::string(expected, expected_size));
      }
    }
  }
}

TEST(Utf8Stream, WorstCaseStaysWithinTheBound) {
  const std::string bytes(1000, '\xFF');
  EXPECT_EQ(stream({"\xF0\x9F\x98"sv, bytes}).size(), 3 + 3 * bytes.size());
}

}  // namespace
}  // namespace sotto
