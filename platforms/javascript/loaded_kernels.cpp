// The row of the kernel table that JavaScript loads as a second module.
#include "kernels/dispatch/tables.h"

namespace {
const sotto::InstructionSet* loaded = nullptr;
}

const sotto::InstructionSet* sotto::loaded_instruction_set() { return loaded; }

extern "C" __attribute__((export_name("use_kernels"))) void use_kernels(const sotto::InstructionSet* set) {
  loaded = set;
}
