#include "tests/memory/allocation_counter.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace sotto {
namespace {

std::atomic<bool> counting = false;
std::atomic<uint64_t> calls = 0;

void count() {
  if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void begin_counting() {
  calls = 0;
  counting = true;
}

uint64_t end_counting() {
  counting = false;
  return calls;
}

}  // namespace sotto

// These functions replace the C library's in the whole program.
extern "C" {

void* malloc(size_t size) {
  sotto::count();
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  sotto::count();
  return __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) {
  sotto::count();
  return __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
  sotto::count();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  sotto::count();
#ifdef SYS_mmap2  // an offset would not fit a register, so it counts in units of 4,096 bytes
  const long pages = static_cast<long>(offset >> 12);
  return reinterpret_cast<void*>(syscall(SYS_mmap2, address, size, protection, flags, file, pages));
#else
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
#endif
}

void* mremap(void* address, size_t old_size, size_t size, int flags, ...) noexcept {
  sotto::count();
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, old_size, size, flags, nullptr));
}

void* sbrk(intptr_t increment) noexcept {
  sotto::count();
  static const auto next = reinterpret_cast<void* (*)(intptr_t)>(dlsym(RTLD_NEXT, "sbrk"));
  return next(increment);
}

}  // extern "C"
