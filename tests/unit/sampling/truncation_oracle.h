// A second implementation of the truncations: long double, full sorts, no shared code. Each returns the tokens that
// must stay, and the tokens that may stay because single-precision rounding decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/generated/params.h"
#include "tests/unit/sampling/oracle.h"

namespace sotto::oracle {

enum class Mode { kTopK, kTopP, kMinP, kTopA, kTailFree, kTypical, kEpsilon, kEta, kTopNSigma, kTopH, kXtc, kCount };
const char* mode_name(Mode mode);

// Returns parameters that turn on only the truncation of this mode.
SamplerParams params_of(Mode mode, double setting, uint32_t min_keep = 1);

// Returns why `kept` (ascending ids) cannot be the result of the mode for `set` at temperature T, or an empty string if
// it can.
std::string judge(Mode mode, const Set& set, float temperature, double setting, size_t min_keep,
                  const std::vector<int32_t>& kept);

// Returns the entropy H in nats.
long double entropy(const std::vector<long double>& p);

}  // namespace sotto::oracle
