// Which table find_kernels gives.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"
#include "kernels/kernels.h"

namespace sotto::test {
namespace {

constexpr int32_t kLastIsa = static_cast<int32_t>(Isa::kAvx512Amx);

TEST(Dispatch, TheReferenceIsAlwaysThere) {
  ASSERT_NE(find_kernels(Isa::kReference), nullptr);
  EXPECT_EQ(find_kernels(Isa::kReference)->isa, Isa::kReference);
}

TEST(Dispatch, AutoIsTheHighestThatCanRun) {
  const Kernels* best = find_kernels(Isa::kReference);
  for (int32_t i = 1; i <= kLastIsa; ++i) {
    const Kernels* kernels = find_kernels(static_cast<Isa>(i));
    if (kernels != nullptr) best = kernels;
  }
  EXPECT_EQ(find_kernels(Isa::kAuto), best);
}

TEST(Dispatch, ATableIsGivenExactlyWhereBuildAndCpuAllow) {
  for (int32_t i = 1; i <= kLastIsa; ++i) {
    const Isa isa = static_cast<Isa>(i);
    const bool available = built_table(isa) != nullptr && (supported_isas() & isa_bit(isa)) != 0 && may_use(isa);
    const Kernels* kernels = find_kernels(isa);
    ASSERT_EQ(kernels != nullptr, available) << isa_name(isa);
    if (available) {
      EXPECT_EQ(kernels->isa, isa);
    }
  }
}

TEST(Dispatch, VectorKernelsAreTheBestOfWhatNeedsNoTiles) {
  const Kernels* best = find_kernels(Isa::kAuto);
  if (best->isa == Isa::kAvx512Amx) best = find_kernels(Isa::kAvx512Vnni);
  EXPECT_EQ(find_vector_kernels(), best);
}

TEST(Dispatch, NumbersThatAreNoInstructionSet) {
  for (const int32_t number : {-1, kLastIsa + 1, 1000}) {
    EXPECT_EQ(find_kernels(static_cast<Isa>(number)), nullptr);
    EXPECT_STREQ(isa_name(static_cast<Isa>(number)), "unknown");
  }
}

TEST(Dispatch, TablesAreComplete) {
  for (int32_t i = 1; i <= kLastIsa; ++i) {
    const Kernels* kernels = built_table(static_cast<Isa>(i));
    if (kernels == nullptr) continue;
    const void* const null = nullptr;
    // After `isa` the table is function pointers only.
    const auto* bytes = reinterpret_cast<const char*>(kernels);
    for (size_t at = offsetof(Kernels, layer_norm); at < sizeof(Kernels); at += sizeof null) {
      if (at == offsetof(Kernels, sum_column_bends)) continue;  // not everywhere
      EXPECT_NE(std::memcmp(bytes + at, &null, sizeof null), 0) << isa_name(kernels->isa) << " at " << at;
    }
  }
}

}  // namespace
}  // namespace sotto::test
