// Tests how a TokenStream repeats the text of another one, which drafting sessions do.
#include "runtime/session/token_stream.h"

#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

constexpr uint32_t kContext = 16;

// A text that overwrites slots, of tokens above the end-of-text token.
std::vector<int32_t> long_text() {
  std::vector<int32_t> text;
  for (uint32_t i = 0; i < kContext + 4; ++i) text.push_back(static_cast<int32_t>(1 + 5 * i % 18));
  return text;
}

struct TestStream {
  TestStream()
      : memory([] {
          Arena measure;
          TokenStream().layout(measure, text_model(), params());
          return measure.size();
        }()) {
    Arena arena(memory.data());
    stream.layout(arena, text_model(), params());
    stream.init(nullptr);
  }
  static ResolvedSessionParams params() {
    return {{.context_tokens = kContext, .batch_tokens = 8, .overflow = Overflow::kRing, .sink_tokens = 0}};
  }

  // Repeats a text and returns the logits after it.
  std::vector<float> mirror(std::span<const int32_t> text) {
    Cancellation never;
    EXPECT_EQ(stream.mirror(text, 0, &never), Status::kOk);
    return {stream.kv().logits().begin(), stream.kv().logits().end()};
  }

  TestMemory memory;
  TokenStream stream;
};

// The token that overwrote a slot is dropped, and no other token takes its place: the window of the last token lacks
// the overwritten one, so the logits must be computed as for a new stream.
TEST(TokenStream, MirrorsATextThatLosesItsNewestToken) {
  const std::vector<int32_t> text = long_text();
  const std::span<const int32_t> all = text;
  TestStream drafter;
  for (size_t size = 1; size <= text.size(); ++size) drafter.mirror(all.first(size));
  ASSERT_EQ(drafter.stream.token_count(), text.size());
  TestStream fresh;
  const auto shorter = all.first(text.size() - 1);
  EXPECT_EQ(drafter.mirror(shorter), fresh.mirror(shorter));
}

// The new token takes the slot of the dropped one, so nothing is evaluated again.
TEST(TokenStream, MirrorsATextThatReplacesItsNewestToken) {
  std::vector<int32_t> text = long_text();
  TestStream drafter, other;
  for (size_t size = 1; size <= text.size(); ++size) drafter.mirror(std::span(text).first(size));
  text.back() = text[0];
  for (size_t size = 1; size <= text.size(); ++size) other.mirror(std::span(text).first(size));
  EXPECT_EQ(drafter.mirror(text), other.mirror(text));
  EXPECT_EQ(drafter.stream.token_count(), text.size());
}

}  // namespace
}  // namespace sotto
