// Compares beams bit for bit with plain streams of the same tokens.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

const Cancellation kRunning;

const Cancellation& cancelled() {
  static Cancellation cancellation;
  cancellation.request();
  return cancellation;
}

ModelShape shape() {
  return {.vocabulary_size = 61,
          .position_count = 96,
          .embedding_size = 40,
          .head_count = 2,
          .feed_forward_size = 72,
          .layer_count = 3};
}

const Model* model() {
  static const Isa isa = isa_of_environment();
  if (find_kernels(isa) == nullptr) return nullptr;
  static TestModel model(shape(), 7, isa, 6);
  return &model.get();
}

std::vector<float> copy(std::span<const float> x) { return {x.begin(), x.end()}; }

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::vector<int32_t> random_tokens(std::mt19937& random, size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % shape().vocabulary_size);
  return tokens;
}

// Returns the logits after a stream of only these tokens.
std::vector<float> plain_logits(const std::vector<int32_t>& tokens) {
  TestSequence plain(*model(), {.context_tokens = 96, .batch_tokens = 5});
  EXPECT_EQ(plain.sequence.append(tokens, kRunning), Status::kOk);
  return copy(plain.sequence.logits());
}

class BeamsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (model() == nullptr) GTEST_SKIP() << "this CPU or build lacks the instruction set";
  }
};

// At every step, each sequence continues a random live one.
TEST_F(BeamsTest, EqualPlainStreamsBitForBit) {
  constexpr uint32_t kCount = 5, kTokens = 9;
  TestSequence test(*model(),
                    {.context_tokens = 24, .batch_tokens = 3, .sequence_count = kCount, .sequence_tokens = kTokens});
  KvSequence& sequence = test.sequence;
  uint32_t capacity = 0;
  std::mt19937 random(3);
  const std::vector<int32_t> prompt = random_tokens(random, 17);
  ASSERT_EQ(sequence.append(prompt, kRunning), Status::kOk);
  const std::vector<float> before = copy(sequence.logits());
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(test.beams.begin(kRunning, &capacity), Status::kOk);
    std::vector<std::vector<int32_t>> live;
    for (uint32_t depth = 0; depth < kTokens; ++depth) {
      std::vector<BeamStep> steps(1 + random() % kCount);
      std::vector<std::vector<int32_t>> next;
      for (BeamStep& step : steps) {
        step.token = random_tokens(random, 1)[0];
        next.push_back(prompt);
        if (!live.empty()) {
          step.from = static_cast<uint32_t>(random() % live.size());
          next.back() = live[step.from];
        }
        next.back().push_back(step.token);
      }
      // A cancelled step changes nothing.
      EXPECT_EQ(test.beams.grow(steps, cancelled()), Status::kStopCancelled);
      ASSERT_EQ(test.beams.grow(steps, kRunning), Status::kOk);
      live = next;
      for (uint32_t i = 0; i < steps.size(); ++i) {
        EXPECT_TRUE(same_bits(test.beams.logits(i), plain_logits(live[i])))
            << "round " << round << " depth " << depth << " sequence " << i;
      }
    }
  }
  // The stream is unchanged.
  ASSERT_EQ(sequence.ensure_logits(kRunning), Status::kOk);
  EXPECT_TRUE(same_bits(sequence.logits(), before));
}

TEST_F(BeamsTest, KeepFreesTheOtherBeams) {
  constexpr uint32_t kCount = 3, kTokens = 20;
  TestSequence test(*model(),
                    {.context_tokens = 16, .batch_tokens = 8, .sequence_count = kCount, .sequence_tokens = kTokens});
  std::mt19937 random(4);
  std::vector<int32_t> text = random_tokens(random, 11);
  ASSERT_EQ(test.sequence.append(text, kRunning), Status::kOk);
  uint32_t capacity = 0;
  ASSERT_EQ(test.beams.begin(kRunning, &capacity), Status::kOk);
  for (uint32_t depth = 0; depth < kTokens; ++depth) {
    std::vector<BeamStep> steps(kCount);
    for (BeamStep& step : steps) {
      step = {depth == 0 ? BeamStep::kStream : 0, random_tokens(random, 1)[0]};
    }
    ASSERT_EQ(test.beams.grow(steps, kRunning), Status::kOk);
    const auto kept = static_cast<uint32_t>(random() % kCount);
    text.push_back(steps[kept].token);
    EXPECT_TRUE(same_bits(test.beams.logits(kept), plain_logits(text))) << depth;
    test.beams.keep(kept);
  }
}

// In a ring that has wrapped, beams attend to the window of the stream's last token. In a model with one layer, keys
// and values depend on nothing else, so a ring that is one slot wider gives the same result.
TEST_F(BeamsTest, AttendToTheWindowOfTheLastToken) {
  ModelShape one_layer = shape();
  one_layer.layer_count = 1;
  const TestModel shallow(one_layer, 7, model()->isa(), 6);
  const auto params = [](uint32_t context_tokens, uint32_t sequence_count) {
    return SessionParams{.context_tokens = context_tokens,
                         .batch_tokens = 4,
                         .overflow = Overflow::kRing,
                         .sink_tokens = 2,
                         .sequence_count = sequence_count,
                         .sequence_tokens = 4};
  };
  std::mt19937 random(5);
  const std::vector<int32_t> text = random_tokens(random, 40);
  const int32_t next = 9;
  TestSequence narrow(shallow.get(), params(16, 1)), wide(shallow.get(), params(17, 0));
  ASSERT_EQ(narrow.sequence.append(text, kRunning), Status::kOk);
  ASSERT_EQ(wide.sequence.append(text, kRunning), Status::kOk);
  ASSERT_EQ(wide.sequence.append({&next, 1}, kRunning), Status::kOk);
  uint32_t capacity = 0;
  ASSERT_EQ(narrow.beams.begin(kRunning, &capacity), Status::kOk);
  const BeamStep step = {BeamStep::kStream, next};
  ASSERT_EQ(narrow.beams.grow({&step, 1}, kRunning), Status::kOk);
  EXPECT_TRUE(same_bits(narrow.beams.logits(0), wide.sequence.logits()));
  // The stream itself would have lost its oldest token to the new one.
  ASSERT_EQ(narrow.sequence.append({&next, 1}, kRunning), Status::kOk);
  EXPECT_FALSE(same_bits(narrow.sequence.logits(), wide.sequence.logits()));
}

TEST_F(BeamsTest, EndWithTheModelsPositions) {
  TestSequence test(*model(), {.context_tokens = 96, .batch_tokens = 96, .sequence_count = 2, .sequence_tokens = 8});
  std::mt19937 random(6);
  std::vector<int32_t> text = random_tokens(random, 94);
  ASSERT_EQ(test.sequence.append(text, kRunning), Status::kOk);
  uint32_t capacity = 0;
  ASSERT_EQ(test.beams.begin(kRunning, &capacity), Status::kOk);
  EXPECT_EQ(capacity, 2u);
  for (uint32_t depth = 0; depth < 2; ++depth) {
    const BeamStep step = {depth == 0 ? BeamStep::kStream : 0, 7};
    ASSERT_EQ(test.beams.grow({&step, 1}, kRunning), Status::kOk);
    text.push_back(7);
    EXPECT_TRUE(same_bits(test.beams.logits(0), plain_logits(text)));
  }
}

TEST_F(BeamsTest, BatchRowsHaveTheirOwnLogits) {
  TestSequence test(*model(), {.context_tokens = 64, .batch_tokens = 10, .sequence_count = 4, .sequence_tokens = 1});
  std::mt19937 random(8);
  const std::vector<int32_t> text = random_tokens(random, 23);
  for (size_t done = 0, count = 0; done < text.size(); done += count) {
    const auto rest = std::span(text).subspan(done);
    ASSERT_EQ(test.sequence.append_batch(rest, false, &count, kRunning), Status::kOk);
    ASSERT_EQ(test.sequence.batch_row_count(), count);
    for (size_t first = 0; first < count; first += 4) {
      const size_t rows = std::min<size_t>(4, count - first);
      test.sequence.compute_row_logits(first, rows);
      for (size_t i = 0; i < rows; ++i) {
        const std::vector<int32_t> head(text.begin(), text.begin() + static_cast<ptrdiff_t>(done + first + i + 1));
        EXPECT_TRUE(same_bits(test.sequence.forward().logits(i), plain_logits(head)));
      }
    }
  }
  ASSERT_EQ(test.sequence.ensure_logits(kRunning), Status::kOk);
  EXPECT_TRUE(same_bits(test.sequence.logits(), plain_logits(text)));
}

// The expected similarity is the largest (h / |h|) . (g / |g|) over the tokens that a beam's token attends to.
TEST_F(BeamsTest, SimilarityIsTheLargestCosine) {
  const SessionParams params = {.context_tokens = 32,
                                .batch_tokens = 6,
                                .sequence_count = 3,
                                .sequence_tokens = 5,
                                .features = kFeatureHiddenHistory};
  std::mt19937 random(9);
  const std::vector<int32_t> prompt = random_tokens(random, 20);
  const auto states_of = [&](const std::vector<int32_t>& text) {
    TestSequence plain(*model(), {.context_tokens = 96, .batch_tokens = 96});
    EXPECT_EQ(plain.sequence.append(text, kRunning), Status::kOk);
    return copy(plain.sequence.forward().final_states(0, text.size()));
  };
  const auto largest_cosine = [&](const std::vector<int32_t>& text) {
    const std::vector<float> states = states_of(text);
    const size_t n = shape().embedding_size, last = text.size() - 1;
    double largest = -1;
    for (size_t i = 0; i < last; ++i) {
      double dot = 0, a = 0, b = 0;
      for (size_t d = 0; d < n; ++d) {
        const double x = states[i * n + d], y = states[last * n + d];
        dot += x * y, a += x * x, b += y * y;
      }
      largest = std::max(largest, dot / std::sqrt(a * b));
    }
    return largest;
  };
  TestSequence test(*model(), params);
  ASSERT_EQ(test.sequence.append(prompt, kRunning), Status::kOk);
  uint32_t capacity = 0;
  ASSERT_EQ(test.beams.begin(kRunning, &capacity), Status::kOk);
  std::vector<int32_t> text = prompt;
  for (uint32_t depth = 0; depth < 5; ++depth) {
    std::vector<BeamStep> steps(3);
    for (BeamStep& step : steps) {
      step = {depth == 0 ? BeamStep::kStream : 0, random_tokens(random, 1)[0]};
    }
    ASSERT_EQ(test.beams.grow(steps, kRunning), Status::kOk);
    for (uint32_t i = 0; i < 3; ++i) {
      std::vector<int32_t> beam = text;
      beam.push_back(steps[i].token);
      EXPECT_NEAR(test.beams.similarity(i), largest_cosine(beam), 1e-5);
    }
    text.push_back(steps[2].token);
    test.beams.keep(2);
  }
}

TEST_F(BeamsTest, LayerStatesAreTheStatesBeforeTheLayers) {
  const SessionParams params = {.context_tokens = 32, .batch_tokens = 1, .features = kFeatureDola};
  TestSequence test(*model(), params);
  std::mt19937 random(10);
  const std::vector<int32_t> text = random_tokens(random, 12);
  ASSERT_EQ(test.sequence.append(text, kRunning), Status::kOk);
  const std::vector<float> mature = copy(test.sequence.logits());
  EXPECT_TRUE(same_bits(mature, plain_logits(text)));
  // All layers are more rows than the forward pass has memory for.
  const size_t layer_count = shape().layer_count, vocabulary = shape().vocabulary_size;
  const LayerStates& states = test.sequence.layer_states();
  std::vector<float> premature(layer_count * vocabulary);
  test.sequence.forward().apply_head(Forward::HeadInput::kNorm, states.state(0, 0), states.layer_stride(), layer_count,
                                     premature.data());
  EXPECT_TRUE(same_bits(test.sequence.logits(), mature));
  const auto before = [&](size_t layer) { return std::span(premature).subspan(layer * vocabulary, vocabulary); };
  // A model of the first layers alone ends where the next layer starts.
  ModelShape shallow = shape();
  shallow.layer_count = 2;
  const TestModel cut(shallow, 7, model()->isa(), 6);
  TestSequence plain(cut.get(), {.context_tokens = 32, .batch_tokens = 4});
  ASSERT_EQ(plain.sequence.append(text, kRunning), Status::kOk);
  EXPECT_TRUE(same_bits(before(2), plain.sequence.logits()));
  EXPECT_FALSE(same_bits(before(1), plain.sequence.logits()));
}

// Sequences add KV slots, logits and bookkeeping.
TEST_F(BeamsTest, MemoryMatchesTheFormula) {
  const ModelConfig& config = model()->config();
  const auto size_of = [&](uint32_t count, uint32_t tokens, uint32_t features) {
    Arena measure;
    KvSequence().layout(measure, config,
                        {{.context_tokens = 64,
                          .batch_tokens = 16,
                          .sequence_count = count,
                          .sequence_tokens = tokens,
                          .features = features}});
    Beams().layout(measure, count, tokens, nullptr);
    return measure.size();
  };
  const auto array = [](size_t count, size_t size) { return align_up(count * size, 64); };
  const auto kv = [&](size_t slots) {
    const size_t rows = size_t{config.layer_count} * config.head_count * slots;
    return 2 * array(rows, align_up(config.head_size, kHeadAlignment)) + 2 * array(rows, 4);
  };
  const size_t v = config.vocabulary_size, e = config.embedding_size, h = config.head_count;
  const size_t plain = size_of(0, 0, 0);
  for (const auto& [b, n] : std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {5, 20}, {16, 96}}) {
    const size_t expected = plain + kv(64 + size_t{b} * n) - kv(64) + array(b * v, 4) - array(v, 4) +
                            array(h * (64 + n), 4) - array(h * 64, 4) + 2 * array(size_t{b} * n, 4) + 2 * array(b, 8) +
                            array(b * (size_t{3} + n), 8) + array(b, align_up(12, sizeof(void*)) + 2 * sizeof(void*));
    EXPECT_EQ(size_of(b, n, 0), expected);
    EXPECT_EQ(size_of(b, n, kFeatureHiddenHistory), expected + array((64 + size_t{b} * n) * e, 4));
    EXPECT_EQ(size_of(b, n, kFeatureDola), expected + array(config.layer_count * e, 4));
  }
}

}  // namespace
}  // namespace sotto
