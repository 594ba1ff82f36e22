/* Generates text without a heap, as firmware would: all memory is declared at compile time.
 * C11: cc static_arena.c -lsotto -o static_arena && ./static_arena demo.sotto "Once upon a time" */
#include <sotto.h>
#include <sotto_memory.h>
#include <stdio.h>
#include <string.h>

/* Vocabulary, embedding, heads, layers and feed-forward of the model, as `sotto inspect` prints them. */
#define SHAPE 4096, 256, 4, 6, 1024
#define CONTEXT 256
#define BATCH 16
#define SINKS 4

/* On a device, the file would be in flash memory and would be used in place. */
static _Alignas(SOTTO_MEMORY_ALIGNMENT) unsigned char model_file[8 << 20];
static _Alignas(SOTTO_MEMORY_ALIGNMENT) unsigned char model_memory[SOTTO_MODEL_MEMORY_BYTES(SHAPE)];
static _Alignas(
    SOTTO_MEMORY_ALIGNMENT) unsigned char session_memory[SOTTO_SESSION_MEMORY_BYTES(SHAPE, CONTEXT, BATCH, SINKS)];
static sotto_token tokens[CONTEXT];

static sotto_error error = {sizeof error, SOTTO_OK, 0, ""};

static int failed(sotto_status status) {
  if (status >= 0) return 0;
  fprintf(stderr, "%s\n", error.status == status ? error.message : sotto_status_text(status));
  return 1;
}

static size_t read_model(const char* path) {
  FILE* file = fopen(path, "rb");
  size_t size = file ? fread(model_file, 1, sizeof model_file, file) : 0;
  if (file) fclose(file);
  return size;
}

static int32_t print(void* stream, const sotto_piece* piece) {
  fwrite(piece->text, 1, piece->text_size, stream);
  return fflush(stream);
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: static_arena MODEL PROMPT\n"), 2;
  size_t file_size = read_model(argv[1]);
  if (file_size == 0) return fprintf(stderr, "%s cannot be read\n", argv[1]), 2;
  sotto_model_params model_params;
  sotto_model_params_init(&model_params, sizeof model_params);
  sotto_model* model;
  if (failed(sotto_model_init(model_file, file_size, &model_params, model_memory, sizeof model_memory, &model, &error)))
    return 1;

  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = CONTEXT;
  params.batch_tokens = BATCH;
  params.overflow = SOTTO_OVERFLOW_RING; /* memory stays constant for texts of any length */
  params.sink_tokens = SINKS;
  sotto_session* session;
  if (failed(sotto_session_init(model, &params, session_memory, sizeof session_memory, &session, &error))) return 1;

  size_t count;
  if (failed(sotto_tokenize(model, argv[2], strlen(argv[2]), 0, tokens, CONTEXT, &count, &error))) return 1;
  sotto_status status = sotto_session_generate(session, tokens, count, 400, print, stdout);
  if (status < 0) sotto_session_get_error(session, &error);
  if (failed(status)) return 1;
  printf("\n%zu bytes for the model, %zu for the session\n", sizeof model_memory, sizeof session_memory);
  sotto_session_deinit(session);
  sotto_model_deinit(model);
  return 0;
}
