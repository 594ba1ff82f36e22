// Attention with the dot product instruction sdot.
#include "kernels/generic/attention.h"

#include "kernels/arm/neon/dots.h"
#include "kernels/arm/neon/vector.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon_dotprod {
namespace {

struct DotStep {
  static int32x4_t add(int32x4_t sum, int8x16_t query, int8x16_t key) { return vdotq_s32(sum, query, key); }
};

}  // namespace

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots<DotStep>>(args); }

}  // namespace sotto::neon_dotprod
