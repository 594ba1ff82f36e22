// Compares truncations with numpy and transformers (tests/tools/make_truncation_goldens.py). The oracle is compared
// with the same rows.
#include <gtest/gtest.h>

#include "runtime/base/random.h"
#include "tests/unit/sampling/sampling_fixture.h"
#include "tests/unit/sampling/truncation_goldens.h"

namespace sotto {
namespace {

using oracle::Mode;

std::vector<float> golden_logits(int kind, size_t count) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = split_mix(1000 * static_cast<uint64_t>(kind) + count, i);
    const auto sum = static_cast<float>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff));
    const float x = sum * 0x1p-16f - 1.5f;
    switch (kind) {
      case 0:
        logits[i] = x;
        break;
      case 1:
        logits[i] = 16 * x - 30;
        break;
      case 2:
        logits[i] = (bits >> 48 & 0xfff) < 8 ? 8 * x + 12 : 4 * x;
        break;
      case 3:
        logits[i] = std::floor(4 * x) / 2;
        break;
      default:
        logits[i] = bits >> 60 < 13 ? kMinusInfinity : 4 * x;
    }
  }
  return logits;
}

uint64_t digest(const std::vector<int32_t>& ids) {
  uint64_t h = 0xcbf29ce484222325;
  for (const int32_t id : ids) h = (h ^ static_cast<uint32_t>(id)) * 0x100000001b3;
  return h;
}

TEST(TruncationGoldens, EqualNumpyAndTransformers) {
  for (const TruncationGolden& golden : kTruncationGoldens) {
    SCOPED_TRACE(testing::Message() << oracle::mode_name(golden.mode) << " " << golden.setting << ", kind "
                                    << golden.kind << " of " << golden.count);
    const std::vector<float> logits = golden_logits(golden.kind, golden.count);
    TestCandidates bench(golden.count);
    Candidates& candidates = bench.begin(logits);
    bench.run(oracle::params_of(golden.mode, golden.setting));
    EXPECT_EQ(candidates.count(), golden.kept);
    EXPECT_EQ(digest(ids_of(candidates)), golden.digest);
    if (golden.count > 3000) continue;
    EXPECT_EQ(oracle::judge(golden.mode, oracle::begin(logits, {}), 1, golden.setting, 1, ids_of(candidates)), "");
  }
}

}  // namespace
}  // namespace sotto
