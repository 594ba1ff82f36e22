// The optional parts that this build contains (platforms/cmake/SottoFeatures.cmake). The functions of a missing part
// remain and fail with kUnsupported, but their implementation is not linked.
#pragma once

namespace sotto {

inline constexpr bool kHasAllSamplers = SOTTO_HAS_ALL_SAMPLERS != 0;
inline constexpr bool kHasGrammar = SOTTO_HAS_GRAMMAR != 0;
inline constexpr bool kHasSearch = SOTTO_HAS_SEARCH != 0;
inline constexpr bool kHasSpeculation = SOTTO_HAS_SPECULATION != 0;
inline constexpr bool kHasWatermark = SOTTO_HAS_WATERMARK != 0;

}  // namespace sotto
