// Ctrl-C while a session generates: the first ends it cleanly, the second kills.
#pragma once

#include <csignal>

#include "capi/include/sotto.h"

namespace sotto::cli {

// For its lifetime SIGINT cancels `session`. One at a time.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(sotto_session* session);
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  struct sigaction previous_ = {};
};

}  // namespace sotto::cli
