// Compares attention of every instruction set with the reference, bit for bit.
#include <cmath>

#include "tests/emulated/work.h"
#include "tests/kernels/isa_test.h"

namespace sotto::test {
namespace {

struct Ring {
  size_t head_size;
  size_t row_stride;
  std::vector<float> query;
  std::vector<int8_t> keys;
  std::vector<float> key_scales;
  std::vector<int8_t> values;
  std::vector<float> value_scales;
};

// Rows are zero beyond the head.
std::vector<int8_t> make_rows(const Ring& ring, size_t slots, Random& random) {
  std::vector<int8_t> rows = make_int8(slots * ring.row_stride, random);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % ring.row_stride >= ring.head_size) rows[i] = 0;
  }
  return rows;
}

std::vector<float> make_scales(size_t slots, Random& random) {
  std::vector<float> scales = make_floats(Numbers::kActivations, slots, random);
  for (float& scale : scales) scale = std::fabs(scale) * 0.02f;
  return scales;
}

Ring make_ring(size_t head_size, size_t slots, Numbers numbers, Random& random) {
  Ring ring;
  ring.head_size = head_size;
  ring.row_stride = align_up(head_size, kHeadAlignment);
  ring.query = make_floats(numbers, head_size, random);
  ring.keys = make_rows(ring, slots, random);
  ring.values = make_rows(ring, slots, random);
  ring.key_scales = make_scales(slots, random);
  ring.value_scales = make_scales(slots, random);
  return ring;
}

size_t slots_in(const std::vector<SlotSpan>& spans) {
  size_t count = 0;
  for (const SlotSpan span : spans) count += span.count;
  return count;
}

AttentionArgs make_args(const Ring& ring, const std::vector<SlotSpan>& spans) {
  AttentionArgs args{};
  args.query = ring.query.data();
  args.keys = ring.keys.data();
  args.key_scales = ring.key_scales.data();
  args.values = ring.values.data();
  args.value_scales = ring.value_scales.data();
  args.head_size = ring.head_size;
  args.row_stride = ring.row_stride;
  args.score_scale = 1.0f / std::sqrt(static_cast<float>(ring.head_size));
  args.spans = spans.data();
  args.span_count = spans.size();
  return args;
}

class Attention : public IsaTest {
 protected:
  void expect_same(const Ring& ring, const std::vector<SlotSpan>& spans, Placement placement) {
    const size_t count = slots_in(spans);
    AttentionArgs args = make_args(ring, spans);
    std::vector<float> scores(count);
    std::vector<float> expected(ring.head_size);
    args.scores = scores.data();
    args.output = expected.data();
    reference_->attention(args);

    const GuardedArray<float> query(ring.query, placement);
    const GuardedArray<int8_t> keys(ring.keys, placement);
    const GuardedArray<float> key_scales(ring.key_scales, placement);
    const GuardedArray<int8_t> values(ring.values, placement);
    const GuardedArray<float> value_scales(ring.value_scales, placement);
    const GuardedArray<float> guarded_scores(count, placement);
    const GuardedArray<float> output(ring.head_size, placement);
    args.query = query.data();
    args.keys = keys.data();
    args.key_scales = key_scales.data();
    args.values = values.data();
    args.value_scales = value_scales.data();
    args.scores = guarded_scores.data();
    args.output = output.data();
    kernels_->attention(args);
    EXPECT_EQ(difference(expected, output.values()), "") << "head size " << ring.head_size << ", slots " << count;
    EXPECT_TRUE(guarded_scores.intact());
    EXPECT_TRUE(output.intact());
  }
};

TEST_P(Attention, EqualsTheReferenceForEveryHeadSize) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  std::vector<size_t> head_sizes = {1, 2, 7, 127, 128, 129, 192, 240, 255, 256};
  for (size_t size = 8; size <= 100; ++size) head_sizes.push_back(size);
  for (const size_t head_size : head_sizes) {
    for (const size_t slots : {1, 5, 16, 33, 70}) {
      const Ring ring = make_ring(head_size, slots, Numbers::kActivations, random);
      const std::vector<SlotSpan> spans = {{0, static_cast<uint32_t>(slots)}};
      expect_same(ring, spans, Placement::kBeforeGuard);
      expect_same(ring, spans, Placement::kAfterGuard);
      if (HasFailure()) return;
    }
  }
}

TEST_P(Attention, EqualsTheReferenceForEverySlotCount) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (uint32_t slots = 1; slots <= 140; ++slots) {
    const Ring ring = make_ring(64, slots, Numbers::kActivations, random);
    expect_same(ring, {{0, slots}}, Placement::kBeforeGuard);
    if (HasFailure()) return;
  }
}

// Several consecutive queries at once give the results of each alone.
TEST_P(Attention, RowsEqualSingleQueries) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (int round = 0; round < work(600, 150); ++round) {
    const size_t head_size = round % 3 == 0 ? 64 : 1 + random() % 256;
    const size_t row_count = 1 + random() % kAttentionRows;
    const size_t seen = 1 + random() % 70;
    const size_t slots = seen + row_count - 1;
    Ring ring = make_ring(head_size, slots, Numbers::kActivations, random);
    if (round % 5 == 0) ring.value_scales[random() % slots] = 0;
    const size_t query_stride = head_size + random() % 20;
    const size_t output_stride = head_size + random() % 20;
    const std::vector<float> queries =
        make_floats(Numbers::kActivations, (row_count - 1) * query_stride + head_size, random);
    std::vector<float> expected((row_count - 1) * output_stride + head_size);
    std::vector<float> scores(slots);
    for (size_t row = 0; row < row_count; ++row) {
      const std::vector<SlotSpan> spans = {{0, static_cast<uint32_t>(seen + row)}};
      AttentionArgs args = make_args(ring, spans);
      args.query = queries.data() + row * query_stride;
      args.scores = scores.data();
      args.output = expected.data() + row * output_stride;
      reference_->attention(args);
    }
    const Placement placement = round % 2 == 0 ? Placement::kBeforeGuard : Placement::kAfterGuard;
    const GuardedArray<float> guarded_queries(queries, placement);
    const GuardedArray<int8_t> keys(ring.keys, placement);
    const GuardedArray<float> key_scales(ring.key_scales, placement);
    const GuardedArray<int8_t> values(ring.values, placement);
    const GuardedArray<float> value_scales(ring.value_scales, placement);
    const GuardedArray<float> guarded_scores(attention_score_count(row_count, slots), placement);
    const GuardedArray<float> outputs(std::vector<float>(expected.size()), placement);
    kernels_->attention_rows({.queries = guarded_queries.data(),
                              .query_stride = query_stride,
                              .row_count = row_count,
                              .slot_count = seen,
                              .keys = keys.data(),
                              .key_scales = key_scales.data(),
                              .values = values.data(),
                              .value_scales = value_scales.data(),
                              .head_size = head_size,
                              .row_stride = ring.row_stride,
                              .score_scale = 1.0f / std::sqrt(static_cast<float>(head_size)),
                              .scores = guarded_scores.data(),
                              .outputs = outputs.data(),
                              .output_stride = output_stride});
    ASSERT_EQ(difference(expected, outputs.values()), "")
        << "head size " << head_size << ", rows " << row_count << ", slots " << slots;
    EXPECT_TRUE(guarded_scores.intact());
    EXPECT_TRUE(outputs.intact());
  }
}

// Sinks at the front, followed by a ring that wraps around: its older part is stored after the newer part.
TEST_P(Attention, SpansMayWrapAround) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (int round = 0; round < 200; ++round) {
    const uint32_t slots = 6 + static_cast<uint32_t>(random() % 200);
    const uint32_t sinks = static_cast<uint32_t>(random() % 5);
    const uint32_t next = sinks + static_cast<uint32_t>(random() % (slots - sinks));
    std::vector<SlotSpan> spans;
    spans.push_back({0, sinks});
    spans.push_back({next, slots - next});
    spans.push_back({sinks, next - sinks});
    const Ring ring = make_ring(random() % 2 == 0 ? 64 : 1 + random() % 256, slots, Numbers::kActivations, random);
    expect_same(ring, spans, round % 2 == 0 ? Placement::kBeforeGuard : Placement::kAfterGuard);
    if (HasFailure()) return;
  }
}

TEST_P(Attention, UnusualNumbersGiveTheReferenceBits) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (const Numbers numbers : kFiniteNumbers) {
    for (int round = 0; round < 50; ++round) {
      Ring ring = make_ring(64, 50, numbers, random);
      expect_same(ring, {{0, 50}}, Placement::kBeforeGuard);
      ring.query.assign(64, 0.0f);
      expect_same(ring, {{0, 50}}, Placement::kBeforeGuard);
      ring.key_scales = make_floats(Numbers::kTiny, 50, random);
      ring.value_scales = make_floats(Numbers::kTiny, 50, random);
      expect_same(ring, {{0, 50}}, Placement::kBeforeGuard);
      if (HasFailure()) return;
    }
  }
}

// The largest possible products, with keys of -128, which quantization never produces.
TEST_P(Attention, LargestDotProductsDoNotOverflow) {
  Random random(1);
  for (const size_t head_size : {64, 256}) {
    Ring ring = make_ring(head_size, 40, Numbers::kConstant, random);
    for (const int8_t key : {int8_t{-128}, int8_t{127}}) {
      for (const float query : {1.0f, -1.0f}) {
        ring.keys.assign(ring.keys.size(), key);
        ring.query.assign(head_size, query);
        expect_same(ring, {{0, 40}}, Placement::kBeforeGuard);
      }
    }
  }
}

SOTTO_INSTANTIATE_ISAS(Attention);

}  // namespace
}  // namespace sotto::test
