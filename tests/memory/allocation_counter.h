// Counts what asks the system for memory, in the whole process.
#pragma once

#include <cstdint>

namespace sotto {

// Calls of malloc and its relatives, mmap, mremap, brk and sbrk since counting began; 0 while it
// is off. Threads of every kind are counted.
void begin_counting();
uint64_t end_counting();

}  // namespace sotto
