// The truncations written down a second time: long double, full sorts, no shared code. Each
// gives what must stay and what may stay, where rounding of single precision decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/sampling/oracle.h"

namespace sotto::oracle {

enum class Mode { kTopK, kTopP, kMinP, kTopA, kTailFree, kTypical, kEpsilon, kEta, kTopNSigma, kTopH, kXtc, kCount };
const char* mode_name(Mode mode);

// Why `kept` (ascending ids) cannot be what the mode leaves of `set` at temperature T; empty
// if it can.
std::string judge(Mode mode, const Set& set, float temperature, double setting, size_t min_keep,
                  const std::vector<int32_t>& kept);

// H, in nats.
long double entropy(const std::vector<long double>& p);

}  // namespace sotto::oracle
