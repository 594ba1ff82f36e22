// Errors: their details, and helpers that return failures to the caller. The status codes are generated
// (runtime/generated).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/status.h"

namespace sotto {

// Describes a failure in words. The function that fails fills it in.
struct Error {
  static constexpr uint64_t kNoOffset = UINT64_MAX;

  Status status = Status::kOk;
  uint64_t offset = kNoOffset;  // offset of the first invalid byte of the input
  char message[240] = {};
};

// Composes a message piece by piece, without allocation or printf. Cuts off text that does not fit, and writes nothing
// if `error` is null.
class MessageWriter {
 public:
  explicit MessageWriter(Error* error) : error_(error) {}
  void add(const char* text);
  void add(std::span<const char> text);  // replaces unprintable bytes by '?'
  void add(float value);                 // writes six significant digits
  template <std::unsigned_integral T>
  void add(T value) {
    add_unsigned(value);
  }
  template <std::signed_integral T>
  void add(T value) {
    add_signed(value);
  }

 private:
  void add_unsigned(uint64_t value);
  void add_signed(int64_t value);

  Error* error_;
  size_t size_ = 0;
};

// Returns `status` and writes a message, joined from text and numbers, to `error` unless that is null. `offset` is the
// position of the first invalid byte of the input.
//   return fail(error, Status::kInvalidArgument, "top_k is ", top_k, "; it must be at least 1");
template <typename... Parts>
Status fail_at(Error* error, Status status, uint64_t offset, const Parts&... parts) {
  if (error == nullptr) return status;
  *error = {status, offset, {}};
  MessageWriter writer(error);
  (writer.add(parts), ...);
  return status;
}

template <typename... Parts>
Status fail(Error* error, Status status, const Parts&... parts) {
  return fail_at(error, status, Error::kNoOffset, parts...);
}

// Fails because a sampler or a session is called from its own callback. The parts are its name.
template <typename... Parts>
Status fail_in_use(Error* error, const Parts&... name) {
  return fail(error, Status::kInvalidState, name...,
              " is in use: it cannot be called from a callback of its sampler, search or executor");
}

// Evaluates an expression, and returns its status from the calling function unless it is kOk.
#define SOTTO_TRY(expression)                                                                            \
  do {                                                                                                   \
    if (const ::sotto::Status sotto_try_status = (expression); sotto_try_status != ::sotto::Status::kOk) \
      return sotto_try_status;                                                                           \
  } while (false)

}  // namespace sotto
