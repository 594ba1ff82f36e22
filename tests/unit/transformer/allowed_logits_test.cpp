// Compares the logits of only the allowed tokens of a mask with the full row, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "kernels/linear/linear.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

constexpr uint32_t kVocabulary = 1000;
const Cancellation kRunning;

const Cancellation& cancelled() {
  static Cancellation cancellation;
  cancellation.request();
  return cancellation;
}

const Model* model() {
  static const Isa isa = isa_of_environment();
  if (find_kernels(isa) == nullptr) return nullptr;
  static TestModel model({.vocabulary_size = kVocabulary,
                          .position_count = 64,
                          .embedding_size = 40,
                          .head_count = 2,
                          .feed_forward_size = 72,
                          .layer_count = 2},
                         7, isa, 6);
  return &model.get();
}

class Mask {
 public:
  explicit Mask(const std::set<uint32_t>& tokens) : words_(TokenMask::word_count(kVocabulary)) {
    for (const uint32_t token : tokens) words_[token / 64] |= uint64_t{1} << (token % 64);
    words_.back() |= ~uint64_t{0} << kVocabulary % 64;  // bits without a token may have any value
  }
  TokenMask get() const { return {words_.data(), kVocabulary}; }

 private:
  std::vector<uint64_t> words_;
};

class AllowedLogitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (model() == nullptr) GTEST_SKIP() << "this CPU or build lacks the instruction set";
  }
};

TEST_F(AllowedLogitsTest, EqualTheFullRow) {
  std::mt19937 random(5);
  const SessionParams params = {.context_tokens = 32, .batch_tokens = 4, .overflow = Overflow::kRing};
  TestSequence whole(*model(), params), part(*model(), params);
  for (int step = 0; step < 100; ++step) {
    const std::vector<int32_t> tokens(1 + random() % 6, static_cast<int32_t>(random() % kVocabulary));
    ASSERT_EQ(whole.sequence.append(tokens, kRunning), Status::kOk);
    ASSERT_EQ(part.sequence.append(tokens, kRunning, {}, /*want_logits=*/false), Status::kOk);
    EXPECT_FALSE(part.sequence.has_logits());
    std::set<uint32_t> allowed = {0, kVocabulary - 1};
    while (allowed.size() < 2 + static_cast<size_t>(step) % 6) {
      allowed.insert(static_cast<uint32_t>(random() % kVocabulary));
    }
    const Mask mask(allowed);
    std::span<const float> logits;
    if (step % 9 == 0) {
      EXPECT_EQ(part.sequence.compute_allowed_logits(mask.get(), kRunning, &logits), Status::kOk);
      part.sequence.rewind(part.sequence.token_count());  // the row is evaluated again
      EXPECT_EQ(part.sequence.compute_allowed_logits(mask.get(), cancelled(), &logits), Status::kStopCancelled);
    }
    ASSERT_EQ(part.sequence.compute_allowed_logits(mask.get(), kRunning, &logits), Status::kOk);
    ASSERT_EQ(logits.size(), kVocabulary);
    for (const uint32_t token : allowed) {
      EXPECT_EQ(std::memcmp(&logits[token], &whole.sequence.logits()[token], sizeof(float)), 0)
          << "step " << step << ", token " << token;
    }
    EXPECT_FALSE(part.sequence.has_logits());
    if (step % 2 == 0) continue;
    ASSERT_EQ(part.sequence.ensure_logits(kRunning), Status::kOk);
    EXPECT_TRUE(std::ranges::equal(part.sequence.logits(), whole.sequence.logits()));
  }
}

TEST_F(AllowedLogitsTest, AreComputedOnlyForFewTokens) {
  TestSequence test(*model(), {.context_tokens = 32, .batch_tokens = 4});
  EXPECT_FALSE(test.sequence.forward().should_restrict_logits({nullptr, kVocabulary}));
  EXPECT_TRUE(test.sequence.forward().should_restrict_logits(Mask({999}).get()));
  EXPECT_TRUE(test.sequence.forward().should_restrict_logits(Mask({1, 2, 3, 500, 998, 63, 64}).get()));
  std::set<uint32_t> many;
  while (many.size() < 100) many.insert(static_cast<uint32_t>(7 * many.size()));
  EXPECT_FALSE(test.sequence.forward().should_restrict_logits(Mask(many).get()));
}

}  // namespace
}  // namespace sotto
