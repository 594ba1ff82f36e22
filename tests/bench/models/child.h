// Child processes: fresh processes of this program, and one that only keeps a core busy.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sotto::bench {

// Runs this program with `arguments` and waits. A hidden first argument makes it measure one thing and print it as
// JSON. Returns its output with "started_ns", the time just before it was started. If it fails, throws with its
// message.
nlohmann::json run_child(const std::vector<std::string>& arguments);

// Returns the path of this program.
std::string program_path();

// A process that computes for as long as this object lives, as another program of the machine may.
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
