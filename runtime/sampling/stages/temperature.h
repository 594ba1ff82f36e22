// Stages that sharpen or flatten the distribution.
#pragma once

#include "runtime/sampling/candidates.h"

namespace sotto {

// Divides l by T. If T <= 0, keeps only the most likely token.
void temperature(Candidates& candidates, float t);

// Dynamic temperature (kalomaze 2023): returns lowest + (highest - lowest) (H / ln N)^exponent, where
// lowest = max(0, t - range), highest = t + range, and H is the entropy of the N candidates.
float dynamic_temperature(Candidates& candidates, float t, float range, float exponent);

// Quadratic smoothing (kalomaze 2024): replaces l by max - k f d^2 + s f d^3, where d = l - max, k = (3 - c) / 2 and s
// = (c - 1) / 2.
void smooth(Candidates& candidates, float factor, float curve);

}  // namespace sotto
