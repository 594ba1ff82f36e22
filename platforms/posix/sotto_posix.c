/* Mapped model files and huge-page memory (sotto_posix.h): what all systems share, then the parts for Windows and for
 * POSIX systems. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "sotto_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#if defined(_WIN32)
#  define WIN32_LEAN_AND_MEAN
#  include <io.h>
#  include <windows.h>
#else
#  include <sys/mman.h>
#  include <sys/stat.h>
#  include <unistd.h>
#endif

#define MODEL_ALIGNMENT 64 /* SOTTO_MEMORY_ALIGNMENT */

static int fail(int code, const char* subject, const char* reason, char* message, size_t message_size) {
  if (message_size > 0) snprintf(message, message_size, "%s: %s", subject, reason);
  return code;
}

/* Returns why bytes of a file cannot be mapped, or NULL. A size of 0 becomes that of the rest of the file. */
static const char* why_unusable(uint64_t file_size, uint64_t offset, uint64_t* size) {
  if (file_size == 0) return "the file is empty";
  if (offset >= file_size || *size > file_size - offset) return "the file ends before the requested bytes";
  if (*size == 0) *size = file_size - offset;
  if (*size > SIZE_MAX / 2) return "the file is too large for this system";
  return NULL;
}

/* The parts that differ between systems. Functions that return int return 0 or an errno value, with its reason. */

/* Maps bytes of an open file, which may begin anywhere. */
static int map_bytes(int file, uint64_t offset, uint64_t size, sotto_posix_mapping* mapping, const char** reason);
static void unmap_bytes(const void* bytes, size_t size);
static int allocate_block(size_t size, sotto_posix_memory* memory);
static void free_block(const sotto_posix_memory* memory);

static int map_open_file(int file, const char* name, uint64_t offset, uint64_t size, sotto_posix_mapping* mapping,
                         char* message, size_t message_size) {
  const char* reason = NULL;
  int code = map_bytes(file, offset, size, mapping, &reason);
  if (code != 0) return fail(code, name, reason, message, message_size);
  if ((uintptr_t)mapping->bytes % MODEL_ALIGNMENT == 0) return 0;

  sotto_posix_memory copy;
  const sotto_posix_mapping mapped = *mapping;
  memset(mapping, 0, sizeof *mapping);
  code = sotto_posix_allocate(mapped.size, &copy, message, message_size);
  if (code == 0) {
    memcpy(copy.bytes, mapped.bytes, mapped.size);
    mapping->bytes = copy.bytes;
    mapping->size = copy.size;
    mapping->copied_size = copy.mapped_size;
  }
  unmap_bytes(mapped.bytes, mapped.size);
  return code;
}

int sotto_posix_map_descriptor(int file, uint64_t offset, uint64_t size, sotto_posix_mapping* mapping, char* message,
                               size_t message_size) {
  memset(mapping, 0, sizeof *mapping);
  char name[40];
  snprintf(name, sizeof name, "file descriptor %d", file);
  return map_open_file(file, name, offset, size, mapping, message, message_size);
}

void sotto_posix_unmap_file(sotto_posix_mapping* mapping) {
  if (mapping->copied_size > 0) {
    const sotto_posix_memory copy = {(void*)(uintptr_t)mapping->bytes, mapping->size, mapping->copied_size, 0};
    free_block(&copy);
  } else if (mapping->bytes != NULL) {
    unmap_bytes(mapping->bytes, mapping->size);
  }
  memset(mapping, 0, sizeof *mapping);
}

int sotto_posix_allocate(size_t size, sotto_posix_memory* memory, char* message, size_t message_size) {
  memset(memory, 0, sizeof *memory);
  char subject[64];
  snprintf(subject, sizeof subject, "%zu bytes of memory", size);
  if (size == 0 || size > SIZE_MAX - 2 * SOTTO_POSIX_HUGE_PAGE_SIZE) {
    return fail(EINVAL, subject, "the size must be greater than 0 and fit the address space", message, message_size);
  }
  memory->size = size;
  const int code = allocate_block(size, memory);
  if (code == 0) return 0;
  memset(memory, 0, sizeof *memory);
  return fail(code, subject, strerror(code), message, message_size);
}

void sotto_posix_free(sotto_posix_memory* memory) {
  if (memory->bytes != NULL) free_block(memory);
  memset(memory, 0, sizeof *memory);
}

#if defined(_WIN32)

/* Returns the errno value of Windows' last error, and its text in `reason`. */
static int last_error(const char** reason) {
  int code = EIO;
  switch (GetLastError()) {
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NOT_ENOUGH_MEMORY:
      code = ENOMEM;
      break;
    case ERROR_ACCESS_DENIED:
      code = EACCES;
      break;
    default:
      break;
  }
  *reason = strerror(code);
  return code;
}

/* Returns the unit of the offsets and addresses of views. */
static size_t granularity(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwAllocationGranularity;
}

int sotto_posix_map_file(const char* path, sotto_posix_mapping* mapping, char* message, size_t message_size) {
  memset(mapping, 0, sizeof *mapping);
  wchar_t wide[32768];
  if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, (int)(sizeof wide / sizeof *wide)) == 0) {
    return fail(EINVAL, path, "is not a path in UTF-8", message, message_size);
  }
  const DWORD attributes = GetFileAttributesW(wide);
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return fail(EINVAL, path, "is a directory, not a file", message, message_size);
  }
  const int file = _wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  if (file < 0) {
    const int code = errno;
    return fail(code, path, strerror(code), message, message_size);
  }
  const int code = map_open_file(file, path, 0, 0, mapping, message, message_size);
  _close(file);
  return code;
}

static int map_bytes(int file, uint64_t offset, uint64_t size, sotto_posix_mapping* mapping, const char** reason) {
  LARGE_INTEGER length;
  HANDLE handle = (HANDLE)_get_osfhandle(file);
  if (handle == INVALID_HANDLE_VALUE) {
    *reason = strerror(EBADF);
    return EBADF;
  }
  if (GetFileType(handle) != FILE_TYPE_DISK) {
    *reason = "is not a regular file";
    return EINVAL;
  }
  if (!GetFileSizeEx(handle, &length)) return last_error(reason);
  if ((*reason = why_unusable((uint64_t)length.QuadPart, offset, &size)) != NULL) return EINVAL;
  HANDLE section = CreateFileMappingW(handle, NULL, PAGE_READONLY, 0, 0, NULL);
  if (section == NULL) return last_error(reason);
  const size_t before = (size_t)(offset % granularity());
  const uint64_t begin = offset - before;
  const char* view = MapViewOfFile(section, FILE_MAP_READ, (DWORD)(begin >> 32), (DWORD)begin, before + (size_t)size);
  const int code = view == NULL ? last_error(reason) : 0;
  CloseHandle(section); /* a view outlives its section */
  if (code != 0) return code;
  mapping->bytes = view + before;
  mapping->size = (size_t)size;
  return 0;
}

static void unmap_bytes(const void* bytes, size_t size) {
  (void)size;
  UnmapViewOfFile((const char*)bytes - (uintptr_t)bytes % granularity());
}

void sotto_posix_release(void* user_data, const void* bytes, size_t size) {
  /* Removes the pages from the working set, so that they stay in memory only as long as nothing else needs it. */
  (void)user_data;
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  const uintptr_t page = info.dwPageSize;
  const uintptr_t begin = ((uintptr_t)bytes + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)bytes + size) / page * page;
  if (begin < end) VirtualUnlock((void*)begin, end - begin);
}

/* Large pages of Windows need a privilege that few users have. */
static int allocate_block(size_t size, sotto_posix_memory* memory) {
  const size_t alignment = size >= SOTTO_POSIX_HUGE_PAGE_SIZE ? SOTTO_POSIX_HUGE_PAGE_SIZE : 1;
  char* reserved = VirtualAlloc(NULL, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
  if (reserved == NULL) return ENOMEM;
  char* block = reserved + (alignment - (uintptr_t)reserved % alignment) % alignment;
  if (VirtualAlloc(block, size, MEM_COMMIT, PAGE_READWRITE) == NULL) {
    VirtualFree(reserved, 0, MEM_RELEASE);
    return ENOMEM;
  }
  memory->bytes = block;
  memory->mapped_size = size;
  return 0;
}

static void free_block(const sotto_posix_memory* memory) {
  MEMORY_BASIC_INFORMATION block;
  if (VirtualQuery(memory->bytes, &block, sizeof block) != 0) VirtualFree(block.AllocationBase, 0, MEM_RELEASE);
}

#else

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

int sotto_posix_map_file(const char* path, sotto_posix_mapping* mapping, char* message, size_t message_size) {
  memset(mapping, 0, sizeof *mapping);
  /* O_NONBLOCK: opening a pipe must not block until it has a writer. */
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    const int code = errno;
    return fail(code, path, strerror(code), message, message_size);
  }
  const int code = map_open_file(file, path, 0, 0, mapping, message, message_size);
  close(file); /* a mapping outlives its descriptor */
  return code;
}

static int last_error(const char** reason) {
  const int code = errno;
  *reason = strerror(code);
  return code;
}

static int map_bytes(int file, uint64_t offset, uint64_t size, sotto_posix_mapping* mapping, const char** reason) {
  struct stat status;
  if (fstat(file, &status) != 0) return last_error(reason);
  if (S_ISDIR(status.st_mode)) {
    *reason = "is a directory, not a file";
  } else if (!S_ISREG(status.st_mode)) {
    *reason = "is not a regular file";
  } else {
    *reason = why_unusable((uint64_t)status.st_size, offset, &size);
  }
  if (*reason != NULL) return EINVAL;
  const size_t before = (size_t)(offset % page_size());
  const char* view = mmap(NULL, before + (size_t)size, PROT_READ, MAP_PRIVATE, file, (off_t)(offset - before));
  if (view == MAP_FAILED) return last_error(reason);
  mapping->bytes = view + before;
  mapping->size = (size_t)size;
  return 0;
}

static void unmap_bytes(const void* bytes, size_t size) {
  const size_t before = (uintptr_t)bytes % page_size();
  munmap((void*)((uintptr_t)bytes - before), before + size);
}

void sotto_posix_release(void* user_data, const void* bytes, size_t size) {
  (void)user_data;
  const uintptr_t page = page_size();
  const uintptr_t begin = ((uintptr_t)bytes + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)bytes + size) / page * page;
  if (begin < end) madvise((void*)begin, end - begin, MADV_DONTNEED);
}

static int allocate_block(size_t size, sotto_posix_memory* memory) {
  const size_t page = page_size();
  const size_t huge = SOTTO_POSIX_HUGE_PAGE_SIZE;
  const size_t slack = size >= huge ? huge : 0;
  const size_t mapped_size = (size + page - 1) / page * page;
  char* block = mmap(NULL, mapped_size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return errno;
  if (slack > 0) {
    /* The mapping is one huge page longer than needed; keep its aligned part. */
    const size_t before = (huge - (uintptr_t)block % huge) % huge;
    const size_t after = slack - before;
    if (before > 0) munmap(block, before);
    block += before;
    if (after > 0) munmap(block + mapped_size, after);
#  ifdef MADV_HUGEPAGE
    memory->huge_pages = madvise(block, mapped_size, MADV_HUGEPAGE) == 0;
#  endif
  }
  memory->bytes = block;
  memory->mapped_size = mapped_size;
  return 0;
}

static void free_block(const sotto_posix_memory* memory) { munmap(memory->bytes, memory->mapped_size); }

#endif
