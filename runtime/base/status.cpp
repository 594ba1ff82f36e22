#include "runtime/base/status.h"

#include <cmath>
#include <cstring>

namespace sotto {

const char* status_text(Status status) {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kStopEndOfText: return "end of text";
    case Status::kStopMaxTokens: return "token limit reached";
    case Status::kStopContextFull: return "context full";
    case Status::kStopCallback: return "stopped by the callback";
    case Status::kStopCancelled: return "cancelled";
    case Status::kInvalidArgument: return "invalid argument";
    case Status::kInvalidState: return "call not possible in this state";
    case Status::kMemoryTooSmall: return "memory too small";
    case Status::kMemoryMisaligned: return "memory misaligned";
    case Status::kBufferTooSmall: return "buffer too small";
    case Status::kModelCorrupt: return "model file damaged";
    case Status::kModelUnsupported: return "model file not supported by this library";
    case Status::kCpuUnsupported: return "instruction set not available";
    case Status::kTextInvalid: return "text is not UTF-8";
    case Status::kTokenizerMissing: return "model has no tokenizer";
    case Status::kThreadsUnavailable: return "threads unavailable";
    case Status::kInternal: return "internal error";
  }
  return "unknown status";
}

Failure::Failure(Error* error, Status status, uint64_t offset) : error_(error), status_(status) {
  if (error_ == nullptr) return;
  error_->status = status;
  error_->offset = offset;
  error_->message[0] = '\0';
}

Failure& Failure::text(const char* text) { return this->text(text, std::strlen(text)); }

Failure& Failure::text(const char* bytes, size_t size) {
  if (error_ == nullptr) return *this;
  for (size_t i = 0; i < size && size_ + 1 < sizeof error_->message; ++i) {
    const char byte = bytes[i];
    error_->message[size_++] = byte >= 0x20 && byte < 0x7f ? byte : '?';
  }
  error_->message[size_] = '\0';
  return *this;
}

Failure& Failure::number(uint64_t value) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) text(&digits[--count], 1);
  return *this;
}

Failure& Failure::number(float value) {
  if (std::isnan(value)) return text("NaN");
  if (std::signbit(value)) text("-");
  if (std::isinf(value)) return text("infinity");
  if (value == 0) return text("0");
  // |value| = digits[0].digits[1]... * 10^exponent
  double scaled = std::fabs(static_cast<double>(value));
  int exponent = 5;
  for (; scaled >= 999999.5; scaled /= 10) ++exponent;
  for (; scaled < 99999.95; scaled *= 10) --exponent;
  char digits[6];
  auto rest = static_cast<uint32_t>(scaled + 0.5);
  for (int i = 5; i >= 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  int count = 6;
  while (count > 1 && digits[count - 1] == '0') --count;

  const bool scientific = exponent < -5 || exponent >= 15;
  const int point = scientific ? 0 : exponent;  // the digit before the decimal point
  if (point < 0) text("0.");
  for (int i = point; i < -1; ++i) text("0");
  for (int i = 0; i < count || i <= point; ++i) {
    text(i < count ? &digits[i] : "0", 1);
    if (i == point && i + 1 < count) text(".");
  }
  if (!scientific) return *this;
  text(exponent < 0 ? "e-" : "e");
  return number(static_cast<uint64_t>(exponent < 0 ? -exponent : exponent));
}

}  // namespace sotto
