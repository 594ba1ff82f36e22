// Evaluates several streams in one batch, and compares them with streams that are evaluated alone, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "tests/emulated/work.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

const Cancellation kRunning;

// The logits of a batch of a few rows are computed in several parts. The last part is not a whole tile.
const Model* model() {
  static const Isa isa = isa_of_environment();
  if (find_kernels(isa) == nullptr) return nullptr;
  const ModelShape shape = {.vocabulary_size = 333,
                            .position_count = 48,
                            .embedding_size = 40,
                            .head_count = 2,
                            .feed_forward_size = 72,
                            .layer_count = 3};
  static TestModel model(shape, 7, isa, 6);
  return &model.get();
}

SessionParams random_params(std::mt19937& random) {
  SessionParams params;
  params.overflow = static_cast<Overflow>(random() % 3);
  params.context_tokens = 16 + static_cast<uint32_t>(random() % 16);
  params.batch_tokens = 1 + static_cast<uint32_t>(random() % 9);
  params.features = random() % 2 == 0 ? 0 : kFeatureDola | kFeatureHiddenHistory;
  return params;
}

void expect_equal_bits(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0);
}

void expect_equal(KvSequence& a, KvSequence& b, bool has_features) {
  ASSERT_EQ(a.token_count(), b.token_count());
  expect_equal_bits(a.logits(), b.logits());
  expect_equal_bits(a.forward().final_states(a.batch_row_count() - 1, 1),
                    b.forward().final_states(b.batch_row_count() - 1, 1));
  if (!has_features) return;
  const size_t width = model()->config().embedding_size;
  for (uint32_t layer = 0; layer < model()->config().layer_count; ++layer) {
    expect_equal_bits({a.layer_states().state(layer, a.batch_row_count() - 1), width},
                      {b.layer_states().state(layer, b.batch_row_count() - 1), width});
  }
}

TEST(Streams, EqualStreamsAloneBitForBit) {
  if (model() == nullptr) GTEST_SKIP() << "this CPU or build lacks the instruction set";
  size_t batched = 0;
  const uint32_t seed_count = work(30u, 6u);
  for (uint32_t seed = 0; seed < seed_count; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::unique_ptr<TestSequence>> together, alone;
    std::vector<bool> has_features;
    for (size_t i = 0; i < 1 + random() % 9; ++i) {
      const SessionParams params = random_params(random);
      has_features.push_back(params.features != 0);
      together.push_back(std::make_unique<TestSequence>(*model(), params));
      alone.push_back(std::make_unique<TestSequence>(*model(), params));
    }
    for (int step = 0; step < 60; ++step) {
      std::vector<KvSequence::Appended> tokens;
      for (size_t i = 0; i < together.size(); ++i) {
        KvSequence &sequence = together[i]->sequence, &other = alone[i]->sequence;
        const auto token = static_cast<int32_t>(random() % 333);
        if (!sequence.can_append_with_others(token) || random() % 6 == 0) {
          ASSERT_EQ(sequence.append({&token, 1}, kRunning), other.append({&token, 1}, kRunning));
          continue;
        }
        ASSERT_EQ(other.append({&token, 1}, kRunning), Status::kOk);
        tokens.push_back({&sequence, token});
      }
      std::shuffle(tokens.begin(), tokens.end(), random);
      while (!tokens.empty()) {
        const size_t count = std::min(tokens.size(), tokens[0].sequence->forward().row_capacity());
        KvSequence::append_each({tokens.data(), count}, nullptr);
        tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(count));
        batched += count > 1 ? 1 : 0;
      }
      for (size_t i = 0; i < together.size(); ++i) {
        expect_equal(together[i]->sequence, alone[i]->sequence, has_features[i]);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(batched, seed_count * 33);
}

}  // namespace
}  // namespace sotto
