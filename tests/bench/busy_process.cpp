#include "tests/bench/busy_process.h"

#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#  include <sys/prctl.h>
#endif

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

namespace sotto::bench {

BusyProcess::BusyProcess() : process_(fork()) {
  if (process_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (process_ > 0) return;
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // also where the benchmark is killed
#endif
  for (std::atomic<unsigned> count = 0;; count.fetch_add(1, std::memory_order_relaxed)) {
  }
}

BusyProcess::~BusyProcess() {
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace sotto::bench
