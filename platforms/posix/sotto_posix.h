/* sotto_posix.h - memory for the runtime on Linux, macOS, other POSIX systems and Windows: model files mapped
 * read-only, and blocks on huge pages. The core never allocates, so this is a library of its own. Link with
 * sotto_posix, or copy its two files.
 *
 * The functions return 0 or an errno value. On failure they write the reason and the path to `message`, which is
 * NUL-terminated, truncated to `message_size` bytes, and may be NULL if the size is 0.
 */
#ifndef SOTTO_POSIX_H
#define SOTTO_POSIX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mapped file, or a part of one, aligned to SOTTO_MEMORY_ALIGNMENT. */
typedef struct sotto_posix_mapping {
  const void* bytes;
  size_t size;
  size_t copied_size; /* 0, or the memory that a copy of the bytes takes */
} sotto_posix_mapping;

/* Maps a regular, non-empty file read-only. The file must not shrink while it is mapped, so replace model files by
 * rename, never in place. The path is UTF-8 on Windows. */
int sotto_posix_map_file(const char* path, sotto_posix_mapping* mapping, char* message, size_t message_size);

/* Maps `size` bytes of an open file from `offset` on, or the rest if the size is 0. Use it for a model inside another
 * file, such as an Android package, or for a file that another process has opened. The descriptor may be closed
 * afterwards. If the offset is not a multiple of 64, the bytes are copied, and sotto_posix_release must not be used. */
int sotto_posix_map_descriptor(int file, uint64_t offset, uint64_t size, sotto_posix_mapping* mapping, char* message,
                               size_t message_size);

/* Unmaps a file. Does nothing if the struct is all zeros. */
void sotto_posix_unmap_file(sotto_posix_mapping* mapping);

/* A sotto_release_fn for sotto_model_params.release: drops the whole pages inside `bytes`, a part of a mapped file. The
 * next access reads them from the file again. `user_data` is ignored. */
void sotto_posix_release(void* user_data, const void* bytes, size_t size);

/* Memory from the system, zeroed and aligned to at least a page. */
typedef struct sotto_posix_memory {
  void* bytes;
  size_t size; /* the requested size */
  size_t mapped_size;
  int huge_pages; /* 1: the system accepted the advice to use huge pages */
} sotto_posix_memory;

/* Allocates a block. A block of at least SOTTO_POSIX_HUGE_PAGE_SIZE is aligned to that size, and the system is advised
 * to use huge pages for it. Decoding reads every weight for every token; huge pages make this 1.2 to 2 times faster. */
int sotto_posix_allocate(size_t size, sotto_posix_memory* memory, char* message, size_t message_size);

/* Frees a block. Does nothing if the struct is all zeros. */
void sotto_posix_free(sotto_posix_memory* memory);

#define SOTTO_POSIX_HUGE_PAGE_SIZE ((size_t)2 << 20)

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_POSIX_H */
