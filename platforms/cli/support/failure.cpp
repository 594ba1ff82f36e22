// Turns the library's statuses into messages for people.
#include "platforms/cli/support/failure.h"

#include <cstdint>

namespace sotto::cli {

sotto_error no_error() {
  sotto_error error = {};
  error.struct_size = sizeof error;
  error.offset = UINT64_MAX;
  return error;
}

void check(sotto_status status, const sotto_error& error, const std::string& subject) {
  if (status >= 0) return;
  std::string message = subject + ": ";
  message += error.message[0] != '\0' ? error.message : sotto_status_text(status);
  if (error.offset != UINT64_MAX) message += " (byte " + std::to_string(error.offset) + ")";
  throw Failure(message);
}

void check(sotto_status status, const std::string& subject) { check(status, no_error(), subject); }

}  // namespace sotto::cli
