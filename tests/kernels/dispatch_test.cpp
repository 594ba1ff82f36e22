// Tests the rows of the kernel table and how one of them is selected.
#include <gtest/gtest.h>
#if defined(__linux__) && defined(__x86_64__)
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>

#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"
#include "kernels/kernels.h"
#include "tests/kernels/isa_test.h"

namespace sotto::test {
namespace {

TEST(Dispatch, TheReferenceAlwaysExists) {
  ASSERT_NE(find_kernels(Isa::kReference), nullptr);
  EXPECT_EQ(find_kernels(Isa::kReference)->isa, Isa::kReference);
}

TEST(Dispatch, AutoIsTheHighestThatCanRun) {
  const Kernels* best = find_kernels(Isa::kReference);
  for (const Isa isa : named_isas()) {
    const Kernels* kernels = find_kernels(isa);
    if (kernels != nullptr) best = kernels;
  }
  EXPECT_EQ(find_kernels(Isa::kAuto), best);
}

TEST(Dispatch, FindsKernelsExactlyIfBuildAndCpuAllow) {
  for (const Isa isa : named_isas()) {
    const InstructionSet* row = find_instruction_set(isa);
    const bool available =
        row != nullptr && (supported_isas() & isa_bit(isa)) != 0 && (row->enable == nullptr || row->enable());
    const Kernels* kernels = find_kernels(isa);
    ASSERT_EQ(kernels != nullptr, available) << isa_name(isa);
    if (available) {
      EXPECT_EQ(kernels->isa, isa);
    }
  }
}

TEST(Dispatch, VectorKernelsAreTheBestThatNeedNoTiles) {
  const Kernels* best = find_kernels(Isa::kAuto);
  if (best->isa == Isa::kAvx512amx) best = find_kernels(Isa::kAvx512vnni);
  EXPECT_EQ(find_vector_kernels(), best);
}

#if defined(__linux__) && defined(__x86_64__)
// Returns whether this process may use the tile registers of AMX.
bool has_tile_permission() {
  constexpr long kGetPermission = 0x1022;  // ARCH_GET_XCOMP_PERM
  constexpr int kTileData = 18;
  uint64_t features = 0;
  return syscall(SYS_arch_prctl, kGetPermission, &features) == 0 && (features >> kTileData & 1) != 0;
}

TEST(DispatchDeathTest, OnlyAmxRequestsTilePermission) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts a new process for each statement
  for (const Isa isa : built_isas()) {
    EXPECT_EXIT((find_vector_kernels(), find_kernels(isa), std::exit(has_tile_permission())),
                testing::ExitedWithCode(isa == Isa::kAvx512amx && find_kernels(isa) != nullptr), "")
        << isa_name(isa);
  }
}
#endif

TEST(Dispatch, UnknownNumbersHaveNoKernels) {
  const auto next = static_cast<int32_t>(named_isas().size()) + 1;
  for (const int32_t number : {-1, next, 1000}) {
    EXPECT_EQ(find_kernels(static_cast<Isa>(number)), nullptr);
    EXPECT_STREQ(isa_name(static_cast<Isa>(number)), "unknown");
  }
}

// CMake registers tests once per instruction set from a list, which must be complete.
TEST(Dispatch, CMakeListsTheInstructionSetsOfThisBuild) {
  std::set<std::string> built;
  for (const Isa isa : built_isas()) {
    if (isa != Isa::kReference) built.insert(isa_name(isa));
  }
  std::set<std::string> listed;
  std::istringstream list(SOTTO_INSTRUCTION_SETS);
  for (std::string name; std::getline(list, name, ',');) listed.insert(name);
  EXPECT_EQ(listed, built);
}

TEST(Dispatch, EveryRowBelongsToItsInstructionSet) {
  for (const Isa isa : built_isas()) {
    const InstructionSet& row = *find_instruction_set(isa);
    EXPECT_EQ(row.ops->isa, isa);
    EXPECT_EQ(row.int4 != nullptr, int4_available());
  }
}

TEST(Dispatch, TablesAreComplete) {
  for (const Isa isa : built_isas()) {
    const Kernels* kernels = find_instruction_set(isa)->ops;
    const void* const null = nullptr;
    // The table consists of `isa` and function pointers.
    const auto* bytes = reinterpret_cast<const char*>(kernels);
    for (size_t at = offsetof(Kernels, layer_norm); at < sizeof(Kernels); at += sizeof null) {
      EXPECT_NE(std::memcmp(bytes + at, &null, sizeof null), 0) << isa_name(kernels->isa) << " at " << at;
    }
  }
}

}  // namespace
}  // namespace sotto::test
