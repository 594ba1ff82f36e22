/* Mapped model files and huge-page memory (sotto_posix.h). */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "sotto_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(int code, const char* subject, const char* reason, char* message, size_t message_size) {
  if (message_size > 0) snprintf(message, message_size, "%s: %s", subject, reason);
  return code;
}

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static const char* why_unusable(const struct stat* status) {
  if (S_ISDIR(status->st_mode)) return "is a directory, not a file";
  if (!S_ISREG(status->st_mode)) return "is not a regular file";
  if (status->st_size == 0) return "the file is empty";
  if ((uintmax_t)status->st_size > SIZE_MAX) return "the file is too large for this system";
  return NULL;
}

int sotto_posix_map_file(const char* path, sotto_posix_mapping* mapping, char* message, size_t message_size) {
  memset(mapping, 0, sizeof *mapping);
  /* O_NONBLOCK: opening a pipe must not block until it has a writer. */
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    const int code = errno;
    return fail(code, path, strerror(code), message, message_size);
  }
  struct stat status;
  int code = 0;
  const char* reason = NULL;
  if (fstat(file, &status) != 0) {
    code = errno;
    reason = strerror(code);
  } else if ((reason = why_unusable(&status)) != NULL) {
    code = EINVAL;
  } else {
    void* bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
      code = errno;
      reason = strerror(code);
    } else {
      mapping->bytes = bytes;
      mapping->size = (size_t)status.st_size;
    }
  }
  close(file); /* a mapping outlives its descriptor */
  return code == 0 ? 0 : fail(code, path, reason, message, message_size);
}

void sotto_posix_unmap_file(sotto_posix_mapping* mapping) {
  if (mapping->bytes != NULL) munmap((void*)(uintptr_t)mapping->bytes, mapping->size);
  memset(mapping, 0, sizeof *mapping);
}

void sotto_posix_release(void* user_data, const void* bytes, size_t size) {
  (void)user_data;
  const uintptr_t page = page_size();
  const uintptr_t begin = ((uintptr_t)bytes + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)bytes + size) / page * page;
  if (begin < end) madvise((void*)begin, end - begin, MADV_DONTNEED);
}

int sotto_posix_allocate(size_t size, sotto_posix_memory* memory, char* message, size_t message_size) {
  memset(memory, 0, sizeof *memory);
  char subject[64];
  snprintf(subject, sizeof subject, "%zu bytes of memory", size);
  const size_t page = page_size();
  const size_t huge = SOTTO_POSIX_HUGE_PAGE_SIZE;
  const size_t slack = size >= huge ? huge : 0;
  if (size == 0 || size > SIZE_MAX - slack - page) {
    return fail(EINVAL, subject, "the size must be greater than 0 and fit the address space", message, message_size);
  }
  const size_t mapped_size = (size + page - 1) / page * page;
  char* block = mmap(NULL, mapped_size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    const int code = errno;
    return fail(code, subject, strerror(code), message, message_size);
  }
  if (slack > 0) {
    /* The mapping is one huge page longer than needed; keep its aligned part. */
    const size_t before = (huge - (uintptr_t)block % huge) % huge;
    const size_t after = slack - before;
    if (before > 0) munmap(block, before);
    block += before;
    if (after > 0) munmap(block + mapped_size, after);
#ifdef MADV_HUGEPAGE
    memory->huge_pages = madvise(block, mapped_size, MADV_HUGEPAGE) == 0;
#endif
  }
  memory->bytes = block;
  memory->size = size;
  memory->mapped_size = mapped_size;
  return 0;
}

void sotto_posix_free(sotto_posix_memory* memory) {
  if (memory->bytes != NULL) munmap(memory->bytes, memory->mapped_size);
  memset(memory, 0, sizeof *memory);
}
