// The operations of kernels/generic with NEON vectors, compiled once for all instruction sets of ARM. Their attention
// differs: the one in this file widens int8 products to int16 and adds them in pairs.
#include "kernels/arm/neon/dots.h"
#include "kernels/arm/neon/vector.h"
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/reference/attention_rows.h"

namespace sotto::neon {
namespace {

struct WideningStep {
  // Adds the products of 16 bytes to four sums. The sum of two products fits int16, because |query| <= 127 and |key| <=
  // 128.
  static int32x4_t add(int32x4_t sum, int8x16_t query, int8x16_t key) {
    int16x8_t products = vmull_s8(vget_low_s8(query), vget_low_s8(key));
    products = vmlal_high_s8(products, query, key);
    return vpadalq_s16(sum, products);
  }
};

}  // namespace

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots<WideningStep>>(args); }

constinit const Kernels kOps = generic::make_table<Vector>(Isa::kNeon, attention, reference::attention_rows<attention>);

}  // namespace sotto::neon

namespace sotto {

constinit const Kernels neon_dotprod::kOps = neon::generic::make_table<neon::Vector>(
    Isa::kNeonDotprod, neon_dotprod::attention, reference::attention_rows<neon_dotprod::attention>);
constinit const Kernels neon_i8mm::kOps = neon::generic::make_table<neon::Vector>(
    Isa::kNeonI8mm, neon_dotprod::attention, reference::attention_rows<neon_dotprod::attention>);

}  // namespace sotto
