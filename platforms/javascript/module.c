/* Exports of the WebAssembly modules besides the functions of sotto.h: memory, and C callbacks that call imported
 * functions of JavaScript with the number of the object that set them. */
#include <sotto.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT(name) __attribute__((export_name(#name))) name
#define IMPORT(name) __attribute__((import_module("sotto"), import_name(name)))

IMPORT("piece") int32_t call_piece(void* user_data, const sotto_piece* piece);
IMPORT("logits") void call_logits(void* user_data, float* logits, size_t count);
IMPORT("log") void call_log(void* user_data, sotto_log_level level, const char* text);

/* Returns aligned memory, or NULL. */
void* EXPORT(allocate)(size_t size) {
  const size_t unit = SOTTO_MEMORY_ALIGNMENT;
  if (size > SIZE_MAX - unit) return NULL;
  return aligned_alloc(unit, (size + unit) / unit * unit);
}
void EXPORT(release)(void* memory) { free(memory); }

/* The addresses of the callbacks. */
sotto_piece_fn EXPORT(piece_callback)(void) { return call_piece; }
sotto_logits_fn EXPORT(logits_callback)(void) { return call_logits; }
sotto_log_fn EXPORT(log_callback)(void) { return call_log; }
