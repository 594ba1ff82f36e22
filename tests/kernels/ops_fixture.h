// Test cases for operations of every instruction set, in arrays that end at an inaccessible page.
#pragma once

#include <vector>

#include "tests/kernels/isa_test.h"

namespace sotto::test {

inline constexpr Placement kPlacements[] = {Placement::kBeforeGuard, Placement::kAfterGuard};

class OpsTest : public IsaTest {
 protected:
  // Runs body(numbers, n, placement) over finite numbers of every kind.
  template <typename Body>
  void for_each_case(Body&& body) {
    const uint64_t seed = test_seed();
    random_.seed(seed);
    for (const Numbers numbers : kFiniteNumbers) {
      for (const size_t n : edge_lengths()) {
        for (const Placement placement : kPlacements) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << seed << ", numbers " << static_cast<int>(numbers) << ", n " << n);
          body(numbers, n, placement);
          if (HasFailure()) return;
        }
      }
    }
  }

  // Runs op(kernels, data) on guarded copies of x and compares the results.
  template <typename Op>
  void expect_same_in_place(const std::vector<float>& x, Placement placement, Op&& op) {
    std::vector<float> expected = x;
    op(*reference_, expected.data());
    const GuardedArray<float> actual(x, placement);
    op(*kernels_, actual.data());
    EXPECT_EQ(difference(expected, actual.values()), "");
    EXPECT_TRUE(actual.intact());
  }

  Random random_;
};

}  // namespace sotto::test
