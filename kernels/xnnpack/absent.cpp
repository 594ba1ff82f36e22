// Architectures that multiply by the reference engine alone: nothing can be selected here, and
// therefore nothing else is called.
#include "kernels/xnnpack/fully_connected.h"
#include "kernels/xnnpack/process_state.h"

namespace sotto::xnnpack {

bool select_isa(Isa) { return false; }

uint64_t packed_layout_fingerprint() { return 0; }
size_t packed_size(uint32_t, uint32_t) { return 0; }
size_t pack(const LinearWeights&, void*) { return 0; }
bool packs_tiles(uint32_t, uint32_t) { return false; }
bool packed_rows_are_readable() { return false; }
void read_packed_row(const LinearWeights&, size_t, int8_t*) {}

FullyConnected* create_fully_connected(uint32_t, uint32_t, void*, size_t) { return nullptr; }
bool run_fully_connected(FullyConnected*, const void*, size_t, const int8_t*, RowQuantization*, float*, ThreadPool*) {
  return false;
}

}  // namespace sotto::xnnpack
