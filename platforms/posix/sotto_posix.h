/* sotto_posix.h - memory for the runtime on Linux, macOS and other POSIX systems: a model
 * file mapped read-only, and blocks backed by huge pages. The core never allocates, so this is
 * a separate helper: link sotto_posix, or copy the two files.
 *
 * Functions return 0 or an errno value. On failure they write the reason, with the path, to
 * `message` (truncated to `message_size` bytes, always terminated; may be NULL if the size is 0).
 */
#ifndef SOTTO_POSIX_H
#define SOTTO_POSIX_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mapped file. It is page-aligned, which satisfies SOTTO_MEMORY_ALIGNMENT. */
typedef struct sotto_posix_mapping {
  const void* bytes;
  size_t size;
} sotto_posix_mapping;

/* Maps a regular, non-empty file read-only. The file must not shrink while it is mapped:
 * replace model files by rename, never in place. */
int sotto_posix_map_file(const char* path, sotto_posix_mapping* mapping, char* message, size_t message_size);

/* Does nothing for a mapping that is all zero. */
void sotto_posix_unmap_file(sotto_posix_mapping* mapping);

/* A sotto_release_fn for sotto_model_params.release: drops the whole pages inside `bytes`. An access
 * reads them from the file again, so use it for mapped files only. `user_data` is ignored. */
void sotto_posix_release(void* user_data, const void* bytes, size_t size);

/* Memory from the system: zeroed, aligned to at least a page. */
typedef struct sotto_posix_memory {
  void* bytes;
  size_t size; /* the requested size */
  size_t mapped_size;
  int huge_pages; /* 1: the system accepted the advice to use huge pages */
} sotto_posix_memory;

/* Allocates a block. One of at least SOTTO_POSIX_HUGE_PAGE_SIZE is aligned to it and advised to use
 * huge pages; a system without them uses small pages. Decoding reads every weight for every token,
 * and huge pages make that 1.2 to 2 times faster. */
int sotto_posix_allocate(size_t size, sotto_posix_memory* memory, char* message, size_t message_size);

/* Does nothing for memory that is all zero. */
void sotto_posix_free(sotto_posix_memory* memory);

#define SOTTO_POSIX_HUGE_PAGE_SIZE ((size_t)2 << 20)

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_POSIX_H */
