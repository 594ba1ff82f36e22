// Compares the emitted text with its definition, computed by a naive search for whole strings.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

// Stops that own their memory.
class OwnedStops {
 public:
  explicit OwnedStops(size_t list_bytes = 1 << 16) : memory_(list_bytes) {
    Arena arena(memory_.data());
    stops.layout(arena, {static_cast<uint32_t>(vocabulary().size()), 64, true, list_bytes});
  }
  Status set(const std::vector<std::string>& strings, const std::vector<std::string>& bans = {}, bool include = false) {
    const auto stop_views = views(strings);
    const auto ban_views = views(bans);
    StopParams params;
    params.stop_strings = stop_views;
    params.banned_strings = ban_views;
    params.include_stop_text = include;
    return stops.set(params, nullptr);
  }

  Stops stops;

 private:
  TestMemory memory_;
};

std::string whole_characters(const std::string& bytes) {
  Utf8Stream stream;
  std::string text(Utf8Stream::output_bound(bytes.size()), '\0');
  text.resize(stream.append(bytes, text.data()));
  return text;
}

// Returns the string that is complete first in `text`: its end and its beginning, or npos if there is none.
struct Found {
  size_t start = std::string::npos;
  size_t end = std::string::npos;
};
Found find_first(const std::string& text, const std::vector<std::string>& strings) {
  for (size_t end = 1; end <= text.size(); ++end) {
    Found found;
    for (const std::string& string : strings) {
      if (string.size() > end || text.compare(end - string.size(), string.size(), string) != 0) {
        continue;
      }
      found = {std::min(found.start, end - string.size()), end};
    }
    if (found.end != std::string::npos) return found;
  }
  return {};
}

size_t count_held(const std::string& text, const std::vector<std::string>& strings) {
  size_t held = 0;
  for (const std::string& string : strings) {
    for (size_t size = 1; size < string.size() && size <= text.size(); ++size) {
      if (text.compare(text.size() - size, size, string, 0, size) == 0) held = std::max(held, size);
    }
  }
  return held;
}

TEST(TextStream, EmitsTextAsSoonAsTheDefinitionAllows) {
  std::mt19937 random(5);
  for (int round = 0; round < 4000; ++round) {
    const auto strings = random_strings(random, 1 + random() % 5, 1 + random() % 9);
    const bool include = random() % 2 == 0;
    OwnedStops owned;
    ASSERT_EQ(owned.set(strings, {}, include), Status::kOk);
    TextStream stream(owned.stops);
    stream.clear();
    std::string bytes, out;
    for (int step = 0; step < 60; ++step) {
      const std::string& token = vocabulary()[random() % vocabulary().size()];
      bytes += token;
      const auto found = stream.append(token, 0);
      const auto taken = stream.take(stream.withheld_from());
      out.append(taken.data(), taken.size());
      const std::string text = whole_characters(bytes);
      const Found expected = find_first(text, strings);
      if (expected.end != std::string::npos) {
        ASSERT_EQ(found, TextStream::Found::kStop) << text;
        EXPECT_EQ(out, text.substr(0, include ? expected.end : expected.start));
        break;
      }
      ASSERT_EQ(found, TextStream::Found::kNothing) << text;
      ASSERT_EQ(out, text.substr(0, text.size() - count_held(text, strings)));
    }
  }
}

TEST(TextStream, FindsABannedStringWhereItBegins) {
  std::mt19937 random(6);
  size_t found_count = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto strings = random_strings(random, 1 + random() % 3, 1 + random() % 9);
    OwnedStops owned;
    ASSERT_EQ(owned.set({}, strings), Status::kOk);
    TextStream stream(owned.stops);
    stream.clear();
    std::string bytes;
    for (int step = 0; step < 40; ++step) {
      const TextMark before = stream.mark();
      const std::string& token = vocabulary()[random() % vocabulary().size()];
      const auto found = stream.append(token, 0);
      const std::string text = whole_characters(bytes + token);
      const Found expected = find_first(text, strings);
      ASSERT_EQ(found == TextStream::Found::kBan, expected.end != std::string::npos);
      if (found == TextStream::Found::kBan) {
        EXPECT_EQ(stream.ban_start(), expected.start);
        stream.cut(before);  // as if it had never been appended
        ++found_count;
        continue;
      }
      bytes += token;
      ASSERT_EQ(stream.end() - stream.bannable_from(), count_held(text, strings));
      stream.take(stream.withheld_from());
    }
  }
  EXPECT_GT(found_count, 1000u);
}

TEST(TextStream, LongStringsAndTokensFit) {
  const std::string token(kMaxTokenBytes, '\xFF');  // each byte becomes three bytes of text
  const std::string longest = [] {
    std::string string;
    while (string.size() < StringMatcher::kMaxStringBytes - 3) string += "\xEF\xBF\xBD";
    return string + "a";
  }();
  OwnedStops owned(1 << 18);
  ASSERT_EQ(owned.set({longest}), Status::kOk);
  TextStream stream(owned.stops);
  stream.clear();
  size_t out = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(stream.append(token, 0), TextStream::Found::kNothing);
    out += stream.take(stream.withheld_from()).size();
  }
  EXPECT_EQ(stream.append(std::string("a"), 0), TextStream::Found::kStop);
  out += stream.take(stream.end()).size();
  EXPECT_EQ(out, 10 * 3 * kMaxTokenBytes - (longest.size() - 1));
}

TEST(TextStream, HiddenBytesAreNotInTheText) {
  OwnedStops owned;
  ASSERT_EQ(owned.set({"abc"}), Status::kOk);
  TextStream stream(owned.stops);
  stream.clear();
  EXPECT_EQ(stream.append(std::string("ab"), 2), TextStream::Found::kNothing);
  EXPECT_EQ(stream.append(std::string("c\xC3"), 0), TextStream::Found::kNothing);
  EXPECT_EQ(stream.append(std::string("\xA9"), 0), TextStream::Found::kNothing);
  const auto text = stream.take(stream.end());
  EXPECT_EQ(std::string(text.data(), text.size()), "c\xC3\xA9");
}

}  // namespace
}  // namespace sotto
