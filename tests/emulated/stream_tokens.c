/* stream_tokens MODEL ISA PROMPT COUNT: streams COUNT tokens after a prompt of PROMPT tokens on one instruction set.
 * What one token costs is the difference between two runs. */
#include <sotto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sotto_error error = {sizeof error, SOTTO_OK, 0, ""};

static void check(sotto_status status) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", sotto_status_text(status), error.message);
  exit(1);
}

static void* block(size_t size) {
  void* memory = aligned_alloc(SOTTO_MEMORY_ALIGNMENT, (size + 63) / 64 * 64);
  if (!memory) exit(2);
  return memory;
}

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) exit(2);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = block(*size);
  if (fread(bytes, 1, *size, file) != *size) exit(2);
  fclose(file);
  return bytes;
}

static int32_t print(void* stream, const sotto_piece* piece) {
  fwrite(piece->text, 1, piece->text_size, stream);
  return 0;
}

int main(int argc, char** argv) {
  enum { kMaxPrompt = 512 };
  if (argc != 5) return 2;
  const size_t prompt_size = (size_t)atol(argv[3]);
  if (prompt_size > kMaxPrompt) return 2;
  size_t file_size, size;
  const void* bytes = read_file(argv[1], &file_size);
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  while (strcmp(sotto_isa_text(params.isa), argv[2]) != 0 && strcmp(sotto_isa_text(params.isa), "unknown") != 0)
    ++params.isa;
  sotto_model* model;
  check(sotto_model_memory_size(bytes, file_size, &params, &size, &error));
  check(sotto_model_init(bytes, file_size, &params, block(size), size, &model, &error));
  sotto_session* session;
  check(sotto_session_memory_size(model, NULL, &size, &error));
  check(sotto_session_init(model, NULL, block(size), size, &session, &error));
  sotto_token prompt[kMaxPrompt];
  for (size_t i = 0; i < prompt_size; ++i) prompt[i] = (sotto_token)(100 + i);
  check(sotto_session_generate(session, prompt, prompt_size, (size_t)atol(argv[4]), print, stdout));
  sotto_session_deinit(session);
  return 0;
}
