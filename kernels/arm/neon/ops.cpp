// The operations of kernels/generic over NEON vectors, with the attention of each instruction set.
#include "kernels/arm/neon/vector.h"
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"

namespace sotto::neon {

constinit const Kernels kTable = generic::make_table<Vector>(Isa::kNeon, attention, generic::attention_rows<attention>);
constinit const Kernels kDotprodTable = generic::make_table<Vector>(Isa::kNeonDotprod, neon_dotprod::attention,
                                                                    generic::attention_rows<neon_dotprod::attention>);
constinit const Kernels kI8mmTable = generic::make_table<Vector>(Isa::kNeonI8mm, neon_dotprod::attention,
                                                                 generic::attention_rows<neon_dotprod::attention>);

}  // namespace sotto::neon
