// A process that computes for as long as this object lives, as another program on the
// machine may.
#pragma once

#include <sys/types.h>

namespace sotto::bench {

class BusyProcess {
 public:
  BusyProcess();  // throws std::runtime_error if it cannot be started
  ~BusyProcess();
  BusyProcess(const BusyProcess&) = delete;
  BusyProcess& operator=(const BusyProcess&) = delete;

 private:
  pid_t process_;
};

}  // namespace sotto::bench
