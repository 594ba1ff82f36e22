/* Exports of the WebAssembly module in addition to the functions of sotto.h: memory, and C callbacks, which call an
 * imported function of JavaScript with the number of the object that set them. */
#include <sotto.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name))) name
#define IMPORT(name) __attribute__((import_module("sotto"), import_name(name)))

IMPORT("piece") int32_t call_piece(void* user_data, const sotto_piece* piece);
IMPORT("logits") void call_logits(void* user_data, float* logits, size_t count);
IMPORT("processor")
void call_processor(void* user_data, const sotto_token* tokens, size_t token_count, uint32_t sequence, float* logits,
                    size_t count);
IMPORT("log") void call_log(void* user_data, sotto_log_level level, const char* text);

/* The addresses of the callbacks. */
sotto_piece_fn EXPORT(piece_callback)(void) { return call_piece; }
sotto_logits_fn EXPORT(logits_callback)(void) { return call_logits; }
sotto_logits_processor_fn EXPORT(processor_callback)(void) { return call_processor; }
sotto_log_fn EXPORT(log_callback)(void) { return call_log; }

/* ---- Memory: blocks in the order of their addresses, of which the first that is large enough is taken. A model
 * needs few blocks, but large ones, so none is larger than requested, and adjacent free blocks are merged. ---- */

enum { kUnit = SOTTO_MEMORY_ALIGNMENT, kPage = 65536, kMaxPages = 65536 };

typedef struct Block {
  _Alignas(SOTTO_MEMORY_ALIGNMENT) struct Block* next; /* NULL for the last one */
  uint64_t size;                                       /* without this header; a multiple of kUnit */
  uint32_t is_free;
} Block;
_Static_assert(sizeof(Block) == kUnit, "the memory after a header is aligned");

extern unsigned char __heap_base; /* where the data of the module end */
static Block* first_block;

/* Grows the module's memory up to `end` if needed. Returns whether it reaches `end`. */
static int reach(uint64_t end) {
  const uint64_t pages = __builtin_wasm_memory_size(0), needed = (end + kPage - 1) / kPage;
  if (needed <= pages) return 1;
  return needed <= kMaxPages && __builtin_wasm_memory_grow(0, (size_t)(needed - pages)) != SIZE_MAX;
}

static uint64_t end_of(const Block* block) { return (uintptr_t)block + sizeof *block + block->size; }

/* Returns aligned memory, or NULL. */
void* EXPORT(allocate)(size_t requested) {
  const uint64_t size = ((uint64_t)requested + kUnit - 1) / kUnit * kUnit;
  uint64_t end = ((uintptr_t)&__heap_base + kUnit - 1) / kUnit * kUnit; /* of the blocks before *at */
  Block** at = &first_block;
  for (; *at != NULL && !((*at)->is_free && ((*at)->size >= size || (*at)->next == NULL)); at = &(*at)->next) {
    end = end_of(*at);
  }
  Block* block = *at;
  if (block == NULL || block->size < size) { /* at the end: a new block, or a free one that becomes larger */
    if (!reach(end + sizeof *block + size)) return NULL;
    *at = block = (Block*)(uintptr_t)end;
    block->size = size;
    block->next = NULL;
  } else if (block->size > size + sizeof *block) {
    Block* rest = (Block*)((uintptr_t)block + sizeof *block + (uintptr_t)size);
    *rest = (Block){.next = block->next, .size = block->size - size - sizeof *rest, .is_free = 1};
    block->next = rest;
    block->size = size;
  }
  block->is_free = 0;
  return block + 1;
}

/* Frees a block of memory, which may be NULL. */
void EXPORT(release)(void* memory) {
  if (memory == NULL) return;
  ((Block*)memory)[-1].is_free = 1;
  for (Block* block = first_block; block != NULL; block = block->next) {
    while (block->is_free && block->next != NULL && block->next->is_free) {
      block->size = end_of(block->next) - (uintptr_t)(block + 1);
      block->next = block->next->next;
    }
  }
}
