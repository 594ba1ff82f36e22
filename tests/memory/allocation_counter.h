// Counts calls that request memory from the system, in the whole process.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sotto {

// Returns how often malloc and its relatives, mmap, mremap, brk and sbrk have been called on any thread since counting
// began, or 0 while counting is off.
void begin_counting();
uint64_t end_counting();

// Checks that a call that returns a status succeeds without an allocation.
template <typename Call>
void expect_no_allocation(const std::string& name, Call&& call) {
  begin_counting();
  const auto status = static_cast<int32_t>(call());
  const uint64_t allocations = end_counting();
  EXPECT_EQ(allocations, 0u) << name;
  EXPECT_GE(status, 0) << name;
}

}  // namespace sotto
