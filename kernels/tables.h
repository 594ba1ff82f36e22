// The tables this build contains.
#pragma once

#include "kernels/kernels.h"

namespace sotto {

// Null where the build lacks the instruction set. One file an architecture.
const Kernels* built_table(Isa isa);

}  // namespace sotto
