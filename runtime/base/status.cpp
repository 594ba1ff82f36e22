#include "runtime/base/status.h"

#include <cmath>
#include <cstring>

namespace sotto {

void MessageWriter::add(const char* text) { add({text, std::strlen(text)}); }

void MessageWriter::add(std::span<const char> text) {
  if (error_ == nullptr) return;
  for (const char byte : text) {
    if (size_ + 1 == sizeof error_->message) break;
    error_->message[size_++] = byte >= 0x20 && byte < 0x7f ? byte : '?';
  }
  error_->message[size_] = '\0';
}

void MessageWriter::add_unsigned(uint64_t value) {
  char digits[20];
  size_t first = sizeof digits;
  do {
    digits[--first] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  add(std::span<const char>(digits + first, sizeof digits - first));
}

void MessageWriter::add_signed(int64_t value) {
  if (value < 0) add("-");
  const auto bits = static_cast<uint64_t>(value);
  add_unsigned(value < 0 ? 0 - bits : bits);
}

void MessageWriter::add(float value) {
  if (std::isnan(value)) return add("NaN");
  if (std::signbit(value)) add("-");
  if (std::isinf(value)) return add("infinity");
  if (value == 0) return add("0");
  // |value| is digits[0].digits[1]... * 10^exponent.
  double scaled = std::fabs(static_cast<double>(value));
  int exponent = 5;
  for (; scaled >= 999999.5; scaled /= 10) ++exponent;
  for (; scaled < 99999.95; scaled *= 10) --exponent;
  char digits[6];
  auto rest = static_cast<uint32_t>(scaled + 0.5);  // NOLINT(bugprone-incorrect-roundings): it is positive
  for (int i = 5; i >= 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  int count = 6;
  while (count > 1 && digits[count - 1] == '0') --count;

  const bool scientific = exponent < -5 || exponent >= 15;
  const int point = scientific ? 0 : exponent;  // index of the last digit before the decimal point
  if (point < 0) add("0.");
  for (int i = point; i < -1; ++i) add("0");
  for (int i = 0; i < count || i <= point; ++i) {
    add(std::span<const char>(i < count ? &digits[i] : "0", 1));
    if (i == point && i + 1 < count) add(".");
  }
  if (!scientific) return;
  add("e");
  add_signed(exponent);
}

}  // namespace sotto
