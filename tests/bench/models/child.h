// Child processes: new processes of this program that measure something, and a process that keeps a core busy.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sotto::bench {

// Runs this program with `arguments` and returns its output, a JSON object. Adds "started_ns" to it: the time just
// before the start. The first argument selects the measurement; the help does not list it. Throws the message of a
// child that fails.
nlohmann::json run_child(const std::vector<std::string>& arguments);

// Returns the path of this program.
std::string program_path();

// A process that keeps a core busy, as other programs of a machine may, until the destructor ends it.
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
