// Ops that only some features need; where the build leaves these out, the ops are null in every
// table, and the linker drops what they would be.
#pragma once

namespace sotto {

inline constexpr bool kHasWatermarkOps = SOTTO_WATERMARK_OPS != 0;
// Of the samplers beyond the basic ones.
inline constexpr bool kHasSamplerOps = SOTTO_SAMPLER_OPS != 0;

}  // namespace sotto
