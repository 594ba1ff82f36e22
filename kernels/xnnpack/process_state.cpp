#include "kernels/xnnpack/process_state.h"

#include <cpuinfo.h>
#include <xnnpack.h>

#include <atomic>
#include <cassert>

#include "kernels/dispatch/cpu_features.h"
#include "xnnpack/hardware-config.h"

namespace sotto::xnnpack {
namespace {

struct ArenaOfThread {
  uint8_t* next = nullptr;
  size_t remaining = 0;
};

// The only mutable globals of the library.
constinit thread_local ArenaOfThread arena_of_thread;
constinit std::atomic<int32_t> selected_isa = 0;  // an Isa, 0 before the first call, or -1 during initialization

void* allocate_aligned(void*, size_t alignment, size_t size) {
  ArenaOfThread& arena = arena_of_thread;
  const size_t padding = (alignment - reinterpret_cast<uintptr_t>(arena.next) % alignment) % alignment;
  if (arena.next == nullptr || padding > arena.remaining || size > arena.remaining - padding) return nullptr;
  uint8_t* place = arena.next + padding;
  arena.next = place + size;
  arena.remaining -= padding + size;
  return place;
}

void* allocate(void* context, size_t size) { return allocate_aligned(context, 64, size); }

// XNNPACK's operators never reallocate.
void* reallocate(void*, void*, size_t) { return nullptr; }

void deallocate(void*, void*) {}

constexpr xnn_allocator kArenaAllocator = {nullptr, allocate, reallocate, deallocate, allocate_aligned, deallocate};

// Hides the features beyond `isa` from XNNPACK before it chooses its kernels.
void limit_hardware(Isa isa) {
  auto* hardware = const_cast<xnn_hardware_config*>(xnn_init_hardware_config());
  if (hardware == nullptr) return;
  if (isa == Isa::kNeonI8mm) return;
  hardware->use_arm_neon_i8mm = false;
  if (isa == Isa::kNeonDotprod) return;
  hardware->use_arm_neon_dot = false;
}

}  // namespace

bool select_isa(Isa isa) {
  assert(isa != Isa::kAuto && isa != Isa::kReference);
  int32_t selected = 0;
  if (selected_isa.compare_exchange_strong(selected, -1)) {
    limit_hardware(isa);
    const bool ready = xnn_initialize(&kArenaAllocator) == xnn_status_success;
    selected_isa.store(ready ? static_cast<int32_t>(isa) : 0);
    return ready;
  }
  while (selected == -1) selected = selected_isa.load();  // waits for a few microseconds, once per process
  return selected == static_cast<int32_t>(isa);
}

ScopedArena::ScopedArena(void* memory, size_t size) {
  assert(arena_of_thread.next == nullptr);
  arena_of_thread = {static_cast<uint8_t*>(memory), size};
}

ScopedArena::~ScopedArena() { arena_of_thread = {}; }

}  // namespace sotto::xnnpack

// Replaces the functions of the library cpuinfo that XNNPACK calls, with the detection of kernels/dispatch. cpuinfo
// itself reads files of /proc and /sys, and without them it prints messages and fails.
extern "C" {

struct cpuinfo_arm_isa cpuinfo_isa;  // cpuinfo_initialize() sets it, which XNNPACK calls once

bool cpuinfo_initialize() {
  const uint32_t isas = sotto::supported_isas();
  cpuinfo_isa.dot = (isas & sotto::isa_bit(sotto::Isa::kNeonDotprod)) != 0;
  cpuinfo_isa.i8mm = (isas & sotto::isa_bit(sotto::Isa::kNeonI8mm)) != 0;
  return true;
}

// Only kernels of convolutions, which are not used here, depend on the kind of core.
const struct cpuinfo_core* cpuinfo_get_core(uint32_t) {
  static constexpr struct cpuinfo_core kUnknown = {};
  return &kUnknown;
}

}  // extern "C"
