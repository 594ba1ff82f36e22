// The parts of the sampler that a build may leave out. Code asks these constants; the functions that
// nothing refers to any more are dropped by the linker.
#pragma once

namespace sotto {

// SOTTO_FEATURE_SAMPLERS=full: all stages and selections, not only the basic ones.
inline constexpr bool kHasAllSamplers = SOTTO_HAS_ALL_SAMPLERS != 0;
// SOTTO_FEATURE_WATERMARK=ON.
inline constexpr bool kHasWatermark = SOTTO_HAS_WATERMARK != 0;

}  // namespace sotto
