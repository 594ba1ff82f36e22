// Ctrl-C while a session works.
#pragma once

#include <csignal>
#include <sotto.hpp>

namespace sotto::cli {

// While an object exists, the first Ctrl-C cancels the session and the second ends the program.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(const Session& session);
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  void (*previous_)(int) = nullptr;
};

}  // namespace sotto::cli
