#include "runtime/base/clock.h"

#if __has_include(<time.h>)
#  include <time.h>
#endif

namespace sotto {

uint64_t monotonic_ns() {
#if defined(CLOCK_MONOTONIC)
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
#else
  return 0;
#endif
}

}  // namespace sotto
