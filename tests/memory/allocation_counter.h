// Counts calls that request memory from the system, in the whole process.
#pragma once

#include <cstdint>

namespace sotto {

// Returns how often malloc and its relatives, mmap, mremap, brk and sbrk have been called on any thread since counting
// began, or 0 while counting is off.
void begin_counting();
uint64_t end_counting();

}  // namespace sotto
