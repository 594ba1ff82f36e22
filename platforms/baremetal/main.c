/* Firmware that streams text without an operating system, heap, files, stdio or threads. All memory is declared here,
 * with the sizes that sotto_memory.h computes. The model is read in place, from flash memory. */
#include <sotto.h>
#include <sotto_memory.h>
#include <string.h>

#include "platforms/baremetal/board.h"

/* Vocabulary, embedding, heads, layers and feed-forward of the model, as `sotto inspect` prints them. */
#define SHAPE 4096, 256, 4, 6, 1024
#define CONTEXT 96
#define BATCH 4

extern const unsigned char model_file[], model_file_end[];

static _Alignas(SOTTO_MEMORY_ALIGNMENT) unsigned char model_memory[SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(SHAPE)];
static _Alignas(
    SOTTO_MEMORY_ALIGNMENT) unsigned char session_memory[SOTTO_SESSION_MEMORY_BYTES(SHAPE, CONTEXT, BATCH, 0)];
static sotto_token tokens[CONTEXT];
static size_t token_count;
static sotto_error error = {sizeof error, SOTTO_OK, 0, ""};

static void write(const char* text) { board_write(text, strlen(text)); }

static void check(sotto_status status) {
  if (status >= 0) return;
  write(sotto_status_text(status));
  write(": ");
  write(error.message);
  write("\n");
  board_exit(1);
}

static void write_number(sotto_token number) {
  char digits[10];
  size_t first = sizeof digits;
  do {
    digits[--first] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  board_write(digits + first, sizeof digits - first);
}

static int32_t receive(void* unused, const sotto_piece* piece) {
  (void)unused;
  board_write(piece->text, piece->text_size);
  if (piece->token >= 0) tokens[token_count++] = piece->token;
  return 0;
}

/* Streams text, then prints its tokens on the next line. */
static void generate(const sotto_model* model, sotto_session* session, const sotto_sampler_params* params,
                     const char* prompt, size_t max_tokens) {
  sotto_token prompt_tokens[32];
  size_t count;
  check(sotto_tokenize(model, prompt, strlen(prompt), 0, prompt_tokens, 32, &count, &error));
  sotto_session_reset(session);
  check(sotto_session_set_sampler(session, params, &error));
  token_count = 0;
  write(prompt);
  check(sotto_session_generate(session, prompt_tokens, count, max_tokens, receive, NULL));
  write("\ntokens");
  for (size_t i = 0; i < token_count; ++i) {
    write(" ");
    write_number(tokens[i]);
  }
  write("\n");
}

int main(void) {
  sotto_model* model;
  check(sotto_model_init(model_file, (size_t)(model_file_end - model_file), NULL, model_memory, sizeof model_memory,
                         &model, &error));
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = CONTEXT;
  params.batch_tokens = BATCH;
  sotto_session* session;
  check(sotto_session_init(model, &params, session_memory, sizeof session_memory, &session, &error));

  sotto_sampler_params sampler;
  sotto_sampler_params_init(&sampler, sizeof sampler);
  sampler.temperature = 0;
  generate(model, session, &sampler, "Once upon a time", 48);
  sampler.temperature = 0.9f;
  sampler.top_p = 0.9f;
  sampler.top_k = 50;
  sampler.repetition_penalty = 1.1f;
  sampler.seed = 42;
  generate(model, session, &sampler, "It was a dark night,", 64);
  sotto_session_deinit(session);
  sotto_model_deinit(model);
  return 0;
}
