// Attention whose int8 products are widened to int16 and added in pairs.
#include "kernels/generic/attention.h"

#include "kernels/arm/neon/dots.h"
#include "kernels/arm/neon/vector.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon {
namespace {

struct WideningStep {
  // As |query| <= 127, the sum of two products of at most 127 * 128 fits int16.
  static int32x4_t add(int32x4_t sum, int8x16_t query, int8x16_t key) {
    int16x8_t products = vmull_s8(vget_low_s8(query), vget_low_s8(key));
    products = vmlal_high_s8(products, query, key);
    return vpadalq_s16(sum, products);
  }
};

}  // namespace

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots<WideningStep>>(args); }

}  // namespace sotto::neon
