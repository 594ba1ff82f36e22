/* See bridge.h. */
#include "bridge.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "_cgo_export.h"
#if defined(__unix__) || defined(__APPLE__)
#  include <sys/mman.h>
#  include <unistd.h>
#endif

#ifdef MADV_HUGEPAGE
static const size_t huge_page = (size_t)2 << 20;
static void ask_for_huge_pages(void* memory, size_t size) { madvise(memory, size, MADV_HUGEPAGE); }
#else
static const size_t huge_page = SIZE_MAX; /* no block reaches this size */
static void ask_for_huge_pages(void* memory, size_t size) {
  (void)memory;
  (void)size;
}
#endif

static atomic_llong block_count;

/* Allocates large blocks on huge pages if the system has them, because decoding reads all weights for every token. The
 * address that the system returned is stored in front of the aligned block, for sotto_go_free. */
void* sotto_go_allocate(size_t size) {
  const size_t alignment = size < huge_page ? SOTTO_MEMORY_ALIGNMENT : huge_page;
  const size_t extra = alignment + sizeof(void*);
  char* block = size > SIZE_MAX - extra ? NULL : calloc(1, size + extra);
  if (block == NULL) return NULL;
  const uintptr_t first = (uintptr_t)block + sizeof(void*);
  const uintptr_t aligned = (first + alignment - 1) / alignment * alignment;
  void** memory = (void**)(block + (aligned - (uintptr_t)block));
  memory[-1] = block;
  if (size >= huge_page) ask_for_huge_pages(memory, size);
  atomic_fetch_add(&block_count, 1);
  return memory;
}

void sotto_go_free(void* memory) {
  if (memory == NULL) return;
  atomic_fetch_sub(&block_count, 1);
  free(((void**)memory)[-1]);
}

int64_t sotto_go_blocks(void) { return atomic_load(&block_count); }

static void log_message(void* handle, sotto_log_level level, const char* message) {
  sottoGoLog((uintptr_t)handle, level, (char*)message);
}

/* Drops the whole pages of a mapped file, so that the next access reads them from the file again. */
static void release(void* unused, const void* bytes, size_t size) {
  (void)unused;
#if defined(__unix__) || defined(__APPLE__)
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t first = ((uintptr_t)bytes + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)bytes + size) / page * page;
  if (end > first) madvise((void*)first, end - first, MADV_DONTNEED);
#else
  (void)bytes;
  (void)size;
#endif
}

static void change_logits(void* handle, float* logits, size_t count) {
  sottoGoLogits((uintptr_t)handle, logits, count);
}

static void process_logits(void* handle, const sotto_token* tokens, size_t token_count, uint32_t sequence,
                           float* logits, size_t count) {
  sottoGoProcessor((uintptr_t)handle, (sotto_token*)tokens, token_count, sequence, logits, count);
}

static double similarity(void* handle, const sotto_token* a, size_t a_count, const sotto_token* b, size_t b_count) {
  return sottoGoSimilarity((uintptr_t)handle, (sotto_token*)a, a_count, (sotto_token*)b, b_count);
}

static int32_t step(void* handle, uint32_t sequence, sotto_token token) {
  return sottoGoStep((uintptr_t)handle, sequence, token);
}

static size_t draft(void* handle, const sotto_token* tokens, size_t token_count, const float* hidden,
                    size_t hidden_count, sotto_token* drafts, size_t capacity) {
  return sottoGoDraft((uintptr_t)handle, (sotto_token*)tokens, token_count, (float*)hidden, hidden_count, drafts,
                      capacity);
}

static int32_t on_piece(void* handle, const sotto_piece* piece) {
  return sottoGoPiece((uintptr_t)handle, (sotto_piece*)piece);
}

void sotto_go_set_log(sotto_model_params* params, uintptr_t handle) {
  params->log = log_message;
  params->log_user_data = (void*)handle;
}

void sotto_go_set_release(sotto_model_params* params) { params->release = release; }

void sotto_go_set_grammar_log(sotto_grammar_params* params, uintptr_t handle) {
  params->log = log_message;
  params->log_user_data = (void*)handle;
}

void sotto_go_set_logits(sotto_sampler_params* params, uintptr_t handle) {
  params->logits_callback = change_logits;
  params->logits_user_data = (void*)handle;
}

void sotto_go_set_processor(sotto_sampler_params* params, uintptr_t handle) {
  params->logits_processor = process_logits;
  params->processor_user_data = (void*)handle;
}

void sotto_go_set_similarity(sotto_search_params* params, uintptr_t handle) {
  params->similarity = similarity;
  params->similarity_user_data = (void*)handle;
}

void sotto_go_set_step(sotto_search_params* params, uintptr_t handle) {
  params->on_step = step;
  params->step_user_data = (void*)handle;
}

void sotto_go_set_draft(sotto_speculation_params* params, uintptr_t handle) {
  params->draft = draft;
  params->user_data = (void*)handle;
}

// Methods of sotto_session, written by capi/generate from capi/params.

sotto_status sotto_go_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                       size_t max_tokens, uintptr_t handle) {
  return sotto_session_generate(session, prompt, prompt_count, max_tokens, handle == 0 ? NULL : on_piece,
                                (void*)handle);
}

// End of the generated methods.

// Methods of sotto_chat, written by capi/generate from capi/params.

sotto_status sotto_go_chat_reply(sotto_chat* chat, size_t max_tokens, uintptr_t handle, sotto_error* error) {
  return sotto_chat_reply(chat, max_tokens, handle == 0 ? NULL : on_piece, (void*)handle, error);
}

// End of the generated methods.
