#include "runtime/grammar/json_schema/schema_decimal.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr int64_t kMaxExponent = 1000000;

}  // namespace

bool Decimal::parse(std::string_view text) {
  digits_.truncate(0);
  size_t at = 0;
  negative_ = !text.empty() && text[0] == '-';
  if (negative_) ++at;
  int64_t exponent = 0;
  bool fraction = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    if (text[at] < '0' || text[at] > '9') return false;
    const auto digit = static_cast<uint8_t>(text[at] - '0');
    const bool leading = digits_.empty() && digit == 0;
    if (!fraction && !leading) ++exponent;
    if (fraction && leading) --exponent;
    if (!leading) digits_.push(digit);
  }
  if (at < text.size()) {
    ++at;
    const bool minus = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    int64_t power = 0;
    for (; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') return false;
      power = std::min<int64_t>(power * 10 + (text[at] - '0'), 2 * kMaxExponent);
    }
    exponent += minus ? -power : power;
  }
  while (!digits_.empty() && digits_.back() == 0) digits_.pop();
  if (digits_.empty()) {
    exponent = 0;
    negative_ = false;
  }
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return false;
  exponent_ = static_cast<int32_t>(exponent);
  return true;
}

uint64_t Decimal::to_integer() const {
  uint64_t value = 0;
  for (uint32_t i = 0; i < whole_digits(); ++i) {
    if (value > (UINT64_MAX - 9) / 10) return UINT64_MAX;
    value = value * 10 + digit(i);
  }
  return value;
}

uint32_t Decimal::fraction_digits() const {
  const int32_t count = static_cast<int32_t>(digits_.size()) - exponent_;
  return is_zero() || count < 0 ? 0 : static_cast<uint32_t>(count);
}

uint32_t Decimal::digit(uint32_t position) const {
  // Below 0.1 the digits begin after -exponent_ zeros.
  const int64_t index = static_cast<int64_t>(position) + (exponent_ < 0 ? exponent_ : 0);
  return index < 0 || index >= static_cast<int64_t>(digits_.size()) ? 0 : digits_[static_cast<size_t>(index)];
}

void Decimal::copy(const Decimal& other) {
  digits_.truncate(0);
  for (const uint8_t digit : other.digits_.span()) digits_.push(digit);
  exponent_ = other.exponent_;
  negative_ = other.negative_;
}

int Decimal::compare_magnitude(const Decimal& other) const {
  if (is_zero() || other.is_zero()) return (is_zero() ? 0 : 1) - (other.is_zero() ? 0 : 1);
  if (exponent_ != other.exponent_) return exponent_ < other.exponent_ ? -1 : 1;
  const uint32_t count = std::max(digits_.size(), other.digits_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const int a = i < digits_.size() ? digits_[i] : 0;
    const int b = i < other.digits_.size() ? other.digits_[i] : 0;
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

int Decimal::compare(const Decimal& other) const {
  if (negative_ != other.negative_) return negative_ ? -1 : 1;
  const int magnitude = compare_magnitude(other);
  return negative_ ? -magnitude : magnitude;
}

bool same_number(std::string_view a, std::string_view b, Workspace& workspace) {
  Decimal first(workspace);
  Decimal second(workspace);
  return first.parse(a) && second.parse(b) ? first.compare(second) == 0 : a == b;
}

}  // namespace sotto
