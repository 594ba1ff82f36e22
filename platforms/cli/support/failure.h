// How the program fails: one line on standard error and an exit code.
#pragma once

#include <stdexcept>
#include <string>

#include "capi/include/sotto.h"

namespace sotto::cli {

enum ExitCode {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitInterrupted = 130  // what a shell reports for a program that Ctrl-C ended
};

class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& message, ExitCode exit_code = kExitFailure)
      : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

// A sotto_error ready to be filled.
sotto_error no_error();

// Throws a Failure "subject: what is wrong" if `status` is negative.
void check(sotto_status status, const sotto_error& error, const std::string& subject);
void check(sotto_status status, const std::string& subject);

}  // namespace sotto::cli
