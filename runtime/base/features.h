// The optional parts that this build contains (platforms/cmake/SottoFeatures.cmake). The functions of a missing part
// stay and fail with kUnsupported; the linker drops what they would have called.
#pragma once

namespace sotto {

inline constexpr bool kHasAllSamplers = SOTTO_HAS_ALL_SAMPLERS != 0;
inline constexpr bool kHasSearch = SOTTO_HAS_SEARCH != 0;
inline constexpr bool kHasSpeculation = SOTTO_HAS_SPECULATION != 0;
inline constexpr bool kHasWatermark = SOTTO_HAS_WATERMARK != 0;

}  // namespace sotto
