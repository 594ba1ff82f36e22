/* C11 or C++: cc generate.c -lsotto -o generate && ./generate demo.sotto "Once upon a time" */
#include <sotto.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

/* For model files of less than 8 MiB. sotto_model_memory_size and sotto_session_memory_size return exact sizes. */
alignas(SOTTO_MEMORY_ALIGNMENT) static char file[8 << 20], model_memory[8 << 20], session_memory[8 << 20];
static sotto_token tokens[1024];

static int32_t print(void* stream, const sotto_piece* piece) {
  fwrite(piece->text, 1, piece->text_size, (FILE*)stream);
  return fflush((FILE*)stream); /* a value other than 0 stops the generation */
}

int main(int argc, char** argv) {
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  sotto_model* model;
  sotto_session* session;
  if (argc != 3) return fprintf(stderr, "usage: generate MODEL PROMPT\n"), 2;
  FILE* input = fopen(argv[1], "rb");
  if (input == NULL) return perror(argv[1]), 1;
  size_t count, file_size = fread(file, 1, sizeof file, input);
  if (sotto_model_init(file, file_size, NULL, model_memory, sizeof model_memory, &model, &error) < 0 ||
      sotto_session_init(model, NULL, session_memory, sizeof session_memory, &session, &error) < 0 ||
      sotto_tokenize(model, argv[2], strlen(argv[2]), 0, tokens, 1024, &count, &error) < 0)
    return fprintf(stderr, "%s\n", error.message), 1;
  sotto_status status = sotto_session_generate(session, tokens, count, 100, print, stdout);
  if (status < 0 && sotto_session_get_error(session, &error) == SOTTO_OK) fprintf(stderr, "%s\n", error.message);
  sotto_session_deinit(session);
  return puts("") < 0 || status < 0;
}
