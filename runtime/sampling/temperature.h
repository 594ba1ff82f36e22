// Stages that sharpen or flatten the distribution.
#pragma once

#include "runtime/sampling/candidates.h"

namespace sotto {

// l / T; T <= 0: the most likely token alone stays.
void temperature(Candidates& candidates, float t);

}  // namespace sotto
