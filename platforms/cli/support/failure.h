// A failure of the program: one line on standard error and an exit code.
#pragma once

#include <sotto.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace sotto::cli {

enum ExitCode {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitIncomplete = 3,    // a text that is not complete under its grammar
  kExitInterrupted = 130  // the code that a shell reports for a program that Ctrl-C ended
};

class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& message, ExitCode exit_code = kExitFailure)
      : std::runtime_error(message), exit_code_(exit_code) {}
  // A parameter of the library has an invalid value. The message is its `option` and `reason`.
  Failure(std::string parameter, const std::string& option, std::string reason)
      : std::runtime_error(option + ' ' + reason), parameter_(std::move(parameter)), reason_(std::move(reason)) {}
  ExitCode exit_code() const { return exit_code_; }
  const std::string& parameter() const { return parameter_; }  // empty if no parameter is known to be the cause
  const std::string& reason() const { return reason_; }  // "is 9; it must be from 0 to 8", if there is a parameter

 private:
  ExitCode exit_code_ = kExitFailure;
  std::string parameter_;
  std::string reason_;
};

// Returns the Failure "subject: message". The message includes the offset in the input if the library reports one.
inline Failure failure_of(const std::string& subject, const Error& error) {
  // The binding allocates as much memory as the library needs, so this status means that an allocation failed.
  if (error.status() == SOTTO_MEMORY_TOO_SMALL) return Failure(subject + ": not enough memory");
  std::string message = subject + ": " + error.what();
  if (error.offset() != Error::no_offset) message += " (byte " + std::to_string(error.offset()) + ")";
  return Failure(message);
}

// Returns the Failure of a call whose parameters were set by options. Messages of the library about a parameter begin
// with its name; the Failure names the option instead: "--sink-tokens is 9" for "sink_tokens is 9". Defined in
// options/parameters.cpp, which has the tables.
Failure option_failure(const std::string& subject, const Error& error);

// Calls `run` for main() as the other run_main() does. After a Failure, its exit code is returned.
int run_main(const char* program, int (*run)(int argc, char** argv), int argc, char** argv);

// Calls the library with parameters that were set by options. Errors become Failures that name the option.
template <typename Call>
auto call_with_options(const std::string& subject, Call&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const Error& error) {
    throw option_failure(subject, error);
  }
}

// Calls the library. Errors become Failures that name `subject`.
template <typename Call>
auto call(const std::string& subject, Call&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const Error& error) {
    throw failure_of(subject, error);
  }
}

// Calls a function of the library that throws when a stop leaves it without a result. Returns the stop, or Status::ok.
// Errors become Failures that name `subject`.
template <typename Call>
Status call_until_stop(const std::string& subject, Call&& function) {
  try {
    function();
    return Status::ok;
  } catch (const Error& error) {
    if (error.status() > 0) return Status{error.status()};
    throw failure_of(subject, error);
  }
}

}  // namespace sotto::cli
