// Status codes and error details shared by the whole runtime. The values are those of
// sotto.h, which the C API asserts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

enum class [[nodiscard]] Status : int32_t {
  kOk = 0,
  kStopEndOfText = 1,
  kStopMaxTokens = 2,
  kStopContextFull = 3,
  kStopCallback = 5,
  kStopCancelled = 6,
  kInvalidArgument = -1,
  kInvalidState = -2,
  kMemoryTooSmall = -3,
  kMemoryMisaligned = -4,
  kBufferTooSmall = -5,
  kModelCorrupt = -6,
  kModelUnsupported = -7,
  kCpuUnsupported = -11,
  kTextInvalid = -12,
  kTokenizerMissing = -13,
  kThreadsUnavailable = -14,
  kInternal = -100,
};

const char* status_text(Status status);

// What went wrong, for people. Filled by the function that fails.
struct Error {
  static constexpr uint64_t kNoOffset = UINT64_MAX;

  Status status = Status::kOk;
  uint64_t offset = kNoOffset;  // byte of the input at fault
  char message[240] = {};
};

// Builds a message without allocating or printf; longer text is cut.
//   return fail(error, Status::kModelCorrupt).text("layer ").number(3).text(" lacks a bias").done();
class Failure {
 public:
  Failure(Error* error, Status status, uint64_t offset);
  Failure& text(const char* text);
  Failure& text(const char* bytes, size_t size);  // unprintable bytes become '?'
  Failure& number(uint64_t value);
  Failure& number(float value);  // six significant digits
  Status done() const { return status_; }

 private:
  Error* error_;
  Status status_;
  size_t size_ = 0;
};

inline Failure fail(Error* error, Status status, uint64_t offset = Error::kNoOffset) {
  return Failure(error, status, offset);
}

// Passes on any status other than kOk.
#define SOTTO_TRY(expression)                                                        \
  do {                                                                               \
    if (const ::sotto::Status sotto_try_status = (expression);                       \
        sotto_try_status != ::sotto::Status::kOk)                                    \
      return sotto_try_status;                                                       \
  } while (false)

}  // namespace sotto
