// Another runtime in a process of its own, that measures what it is asked to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace sotto::bench {

class PeerProcess {
 public:
  // `directory`: as tests/bench/peers/setup.sh leaves it. `kind`: as serve.py there names it.
  // Throws std::runtime_error where it cannot be started.
  PeerProcess(const std::string& directory, const std::string& kind, uint32_t thread_count);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Throws std::runtime_error if the process ends without an answer.
  nlohmann::json ask(const nlohmann::json& request);

 private:
  std::string name_;
  pid_t process_ = -1;
  std::FILE* requests_ = nullptr;
  std::FILE* answers_ = nullptr;
};

}  // namespace sotto::bench
