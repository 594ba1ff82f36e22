// The limit on architectures that have only the reference kernels.
#include "tests/bench/machine/dot_limit.h"

namespace sotto::bench {

DotLoop dot_loop(sotto_isa) { return scalar_dot_loop(); }

DotLoop tile_loop(sotto_isa) { return {nullptr, 0}; }

}  // namespace sotto::bench
