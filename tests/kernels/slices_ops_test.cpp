// The ops that sort shares, of every instruction set against the reference, bit for bit.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/kernels/ops_fixture.h"

namespace sotto::test {
namespace {

class SlicesOps : public OpsTest {};

std::vector<float> random_shares(size_t n, std::mt19937_64& random) {
  std::vector<float> shares(n);
  for (float& share : shares) {
    const auto kind = random() % 16;
    const float significand = 1 + static_cast<float>(random() % (1 << 23)) * 0x1p-23f;
    share = kind == 0 ? 0.0f : kind == 1 ? 1.0f : std::ldexp(significand, -1 - static_cast<int>(random() % (kind * 8)));
  }
  return shares;
}

Slices random_slices(std::mt19937_64& random) {
  Slices slices;
  slices.scale = static_cast<float>(kSections - 1) / static_cast<float>(1 + random() % (1 << 30));
  uint64_t first = 0;
  for (size_t s = 0; s < kSections; ++s) {
    const uint64_t width = 1 + random() % (random() % 4 == 0 ? 2 : 2040);
    slices.first[s] = static_cast<float>(first);
    slices.width[s] = static_cast<float>(width);
    first += width;
  }
  return slices;
}

TEST_P(SlicesOps, SliceNumbers) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    const GuardedArray<float> x(random_shares(n, random_), placement);
    const GuardedArray<uint16_t> numbers(n, placement);
    const Slices slices = random_slices(random_);
    std::vector<uint16_t> expected(n);
    reference_->slice_numbers(x.data(), n, slices, expected.data());
    kernels_->slice_numbers(x.data(), n, slices, numbers.data());
    EXPECT_EQ(numbers.values(), expected);
    EXPECT_TRUE(x.intact() && numbers.intact());
  });
}

TEST_P(SlicesOps, SliceNumbersGrowAsSharesFall) {
  random_.seed(test_seed());
  for (int round = 0; round < 50; ++round) {
    std::vector<float> shares = random_shares(5000, random_);
    std::sort(shares.begin(), shares.end(), std::greater<float>());
    std::vector<uint16_t> numbers(shares.size());
    kernels_->slice_numbers(shares.data(), shares.size(), random_slices(random_), numbers.data());
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_EQ(numbers[0], 0);
  }
}

TEST_P(SlicesOps, MoveToColumns) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    const GuardedArray<float> x(random_shares(n, random_), placement);
    Slices slices = random_slices(random_);
    if (random_() % 2 == 0) {
      for (float& width : slices.width) width = 1;  // so that some have no place
      std::iota(slices.first, slices.first + kSections, 0.0f);
    }
    const auto stride = static_cast<size_t>(slices.first[kSections - 1] + slices.width[kSections - 1]) + random_() % 3;
    std::vector<float> expected_table(stride * kColumnRows, -1.0f);
    std::vector<uint8_t> expected_counts(stride);
    for (uint8_t& count : expected_counts) {
      count = static_cast<uint8_t>(random_() % (kColumnRows + 1));
    }
    std::vector<LeftShare> expected_left(n);
    const GuardedArray<float> table(expected_table, placement);
    const GuardedArray<uint8_t> counts(expected_counts, placement);
    const GuardedArray<LeftShare> left(n, placement);
    const size_t left_count = reference_->move_to_columns(x.data(), n, slices, expected_table.data(), stride,
                                                          expected_counts.data(), expected_left.data());
    ASSERT_EQ(kernels_->move_to_columns(x.data(), n, slices, table.data(), stride, counts.data(), left.data()),
              left_count);
    EXPECT_EQ(difference(expected_table, table.values()), "");
    EXPECT_EQ(counts.values(), expected_counts);
    for (size_t i = 0; i < left_count; ++i) {
      EXPECT_EQ(left.data()[i].column, expected_left[i].column) << i;
      EXPECT_TRUE(same_bits(left.data()[i].share, expected_left[i].share)) << i;
    }
    EXPECT_TRUE(x.intact() && table.intact() && counts.intact() && left.intact());
  });
}

TEST_P(SlicesOps, MoveToColumnsOfAFew) {
  Slices slices = {static_cast<float>(kSections - 1) / 0x3f800000, {}, {}};
  for (size_t s = 0; s < kSections; ++s) slices.width[s] = s == 0 ? 1.0f : 2.0f;
  for (size_t s = 1; s < kSections; ++s) slices.first[s] = 1.0f;
  const float x[] = {1, 0x1p-100f, 1, 1};
  float table[3 * kColumnRows] = {};
  uint8_t counts[3] = {kColumnRows - 2, 0, 0};
  LeftShare left[4];
  ASSERT_EQ(kernels_->move_to_columns(x, 4, slices, table, 3, counts, left), 1u);
  EXPECT_EQ(left[0].column, 0u);
  EXPECT_EQ(left[0].share, 1);
  EXPECT_EQ(counts[0], kColumnRows);
  EXPECT_EQ(table[3 * (kColumnRows - 1)], 1);
  EXPECT_EQ(counts[1] + counts[2], 1);
  EXPECT_EQ(table[1] + table[2], 0x1p-100f);
}

TEST_P(SlicesOps, SortColumns) {
  random_.seed(test_seed());
  for (int round = 0; round < 300; ++round) {
    const size_t stride = kColumns * (1 + random_() % 3);
    const Placement placement = kPlacements[round % 2];
    std::vector<float> values = random_shares(stride * (kColumnRows - 1) + kColumns, random_);
    if (round % 3 == 0) {
      for (float& value : values) value = static_cast<float>(random_() % 4) / 4;  // ties
    }
    std::vector<uint8_t> rows(kColumns);
    for (uint8_t& count : rows) count = static_cast<uint8_t>(random_() % (kColumnRows + 1));
    if (round % 5 == 0) std::fill(rows.begin(), rows.end(), uint8_t{kColumnRows});
    const GuardedArray<float> x(values, placement), sorted(kColumns * kColumnRows, placement);
    const GuardedArray<uint8_t> counts(rows, placement);
    std::vector<float> expected(kColumns * kColumnRows);
    const size_t count = reference_->sort_columns(values.data(), stride, rows.data(), expected.data());
    EXPECT_EQ(count, std::accumulate(rows.begin(), rows.end(), size_t{0}));
    ASSERT_EQ(kernels_->sort_columns(x.data(), stride, counts.data(), sorted.data()), count);
    std::vector<float> got = sorted.values();
    got.resize(count);
    expected.resize(count);
    EXPECT_EQ(difference(expected, got), "");
    EXPECT_TRUE(x.intact() && sorted.intact() && counts.intact());
  }
}

// Descending from `top` by steps of up to `step`, as columns.
std::vector<float> column_table(float top, float step, const std::vector<uint8_t>& counts, size_t stride, float* next,
                                std::mt19937_64& random) {
  std::vector<float> table(stride * (kColumnRows - 1) + kColumns, 7.0f);  // that is not counted
  const auto descend = [&] {
    if (random() % 4 != 0) top -= step * static_cast<float>(random() % 1024) / 1024;
    return top;
  };
  for (size_t c = 0; c < kColumns; ++c) {
    std::vector<float> column(counts[c]);
    for (float& x : column) x = descend();
    std::shuffle(column.begin(), column.end(), random);
    for (size_t row = 0; row < column.size(); ++row) table[row * stride + c] = column[row];
  }
  next[0] = descend();
  next[1] = descend();
  return table;
}

TEST_P(SlicesOps, SumColumnBends) {
  if (kernels_->sum_column_bends == nullptr) GTEST_SKIP() << "the other ops are as fast";
  random_.seed(test_seed());
  size_t summed = 0;
  for (int round = 0; round < 600; ++round) {
    const size_t stride = kColumns * (1 + random_() % 3);
    std::vector<uint8_t> rows(kColumns);
    const size_t most = round % 4 == 0 ? 3 : kColumnRows;
    for (uint8_t& count : rows) count = static_cast<uint8_t>(1 + random_() % most);
    if (round % 50 == 0) rows[random_() % kColumns] = 0;
    // With the longest steps, some have a range that is too wide.
    const auto exponent = static_cast<int>(random_() % 28);
    const float step = std::ldexp(1.0f, -exponent - 9 - static_cast<int>(random_() % 12));
    float next[2], expected_next[2];
    const GuardedArray<float> x(column_table(std::ldexp(1.0f, -exponent), step, rows, stride, next, random_),
                                kPlacements[round % 2]);
    const GuardedArray<uint8_t> counts(rows, kPlacements[round % 2]);
    std::copy_n(next, 2, expected_next);
    const double expected = reference_->sum_column_bends(x.data(), stride, counts.data(), expected_next);
    EXPECT_EQ(kernels_->sum_column_bends(x.data(), stride, counts.data(), next), expected);
    EXPECT_EQ(next[0], expected_next[0]);
    EXPECT_EQ(next[1], expected_next[1]);
    EXPECT_TRUE(x.intact() && counts.intact());
    summed += expected >= 0 ? 1 : 0;
  }
  EXPECT_GT(summed, 400u);
  EXPECT_LT(summed, 600u);
}

TEST_P(SlicesOps, SumColumnBendsOfAFew) {
  if (kernels_->sum_column_bends == nullptr) GTEST_SKIP() << "the other ops are as fast";
  std::vector<float> x(kColumns * kColumnRows, 0.5f);  // one in each column
  std::vector<uint8_t> counts(kColumns, uint8_t{1});
  x[0] = 0.5625f;
  x[kColumns + 3] = 0.5f;
  counts[3] = 2;
  float next[2] = {0.5f, 0.46875f};
  const double sum = kernels_->sum_column_bends(x.data(), kColumns, counts.data(), next);
  EXPECT_EQ(sum, 0.0625 + 0.03125);
  EXPECT_EQ(next[0], 0.5625f);
  EXPECT_EQ(next[1], 0.5f);
  next[1] = 0.4375f;
  EXPECT_EQ(kernels_->sum_column_bends(x.data(), kColumns, counts.data(), next), -1);
  counts[15] = 0;
  next[1] = 0.5f;
  EXPECT_EQ(kernels_->sum_column_bends(x.data(), kColumns, counts.data(), next), -1);
  EXPECT_EQ(next[0], 0.5625f);
}

// What sorts all patterns of zeros and ones sorts everything (Knuth, 5.3.4, theorem Z).
TEST_P(SlicesOps, SortColumnsSortsEveryPattern) {
  std::vector<float> x(kColumns * kColumnRows), sorted(x.size());
  const std::vector<uint8_t> counts(kColumns, uint8_t{kColumnRows});
  for (uint32_t first = 0; first < 1u << kColumnRows; first += kColumns) {
    for (uint32_t c = 0; c < kColumns; ++c) {
      for (uint32_t row = 0; row < kColumnRows; ++row) {
        x[row * kColumns + c] = static_cast<float>((first + c) >> row & 1);
      }
    }
    ASSERT_EQ(kernels_->sort_columns(x.data(), kColumns, counts.data(), sorted.data()), x.size());
    for (uint32_t c = 0; c < kColumns; ++c) {
      const float* column = sorted.data() + c * kColumnRows;
      const auto ones = static_cast<size_t>(__builtin_popcount(first + c));
      ASSERT_TRUE(std::is_sorted(column, column + kColumnRows, std::greater<float>()));
      ASSERT_EQ(std::accumulate(column, column + kColumnRows, 0.0f), static_cast<float>(ones));
    }
  }
}

SOTTO_INSTANTIATE_ISAS(SlicesOps);

}  // namespace
}  // namespace sotto::test
