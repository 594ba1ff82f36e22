/* C11: cc json_output.c -lsotto -o json_output && ./json_output demo.sotto "A person: " */
#include <sotto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] =
    "{\"type\": \"object\", \"required\": [\"name\", \"age\"], \"additionalProperties\": false,"
    " \"properties\": {\"name\": {\"type\": \"string\", \"maxLength\": 20},"
    "                \"age\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 120}}}";

static sotto_error error = {sizeof error, SOTTO_OK, 0, ""};

static void check(sotto_status status) {
  if (status >= 0) return;
  fprintf(stderr, "%s\n", error.status == status ? error.message : sotto_status_text(status));
  exit(1);
}

static void* block(size_t size) { /* allocates memory for an object of the library */
  return aligned_alloc(SOTTO_MEMORY_ALIGNMENT, (size + 63) / 64 * 64);
}

static int32_t print(void* stream, const sotto_piece* piece) {
  fwrite(piece->text, 1, piece->text_size, stream);
  return fflush(stream); /* a value other than 0 stops the generation */
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: json_output MODEL PROMPT\n"), 2;
  FILE* file = fopen(argv[1], "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return perror(argv[1]), 1;
  size_t file_size = (size_t)ftell(file), size, count;
  void* bytes = block(file_size);
  rewind(file);
  if (!bytes || fread(bytes, 1, file_size, file) != file_size) return perror(argv[1]), 1;

  sotto_model* model;
  check(sotto_model_memory_size(bytes, file_size, NULL, &size, &error));
  check(sotto_model_init(bytes, file_size, NULL, block(size), size, &model, &error));
  sotto_session* session;
  check(sotto_session_memory_size(model, NULL, &size, &error));
  check(sotto_session_init(model, NULL, block(size), size, &session, &error));

  sotto_vocabulary_params words; /* the vocabulary of the model, prepared once */
  sotto_vocabulary_params_init(&words, sizeof words);
  words.model = model;
  sotto_vocabulary* vocabulary;
  check(sotto_vocabulary_memory_size(&words, &size, &error));
  check(sotto_vocabulary_init(&words, block(size), size, &vocabulary, &error));

  sotto_grammar_params language;
  sotto_grammar_params_init(&language, sizeof language);
  language.language = SOTTO_GRAMMAR_JSON_SCHEMA;
  sotto_grammar* grammar; /* occupies `size` bytes at the beginning of its memory; the rest is free */
  void* memory = block(size = sotto_grammar_typical_memory(strlen(schema)));
  check(sotto_grammar_compile(schema, strlen(schema), &language, memory, size, &grammar, &size, &error));

  sotto_matcher* matcher;
  check(sotto_matcher_memory_size(grammar, vocabulary, NULL, &size, &error));
  check(sotto_matcher_init(grammar, vocabulary, NULL, block(size), size, &matcher, &error));
  check(sotto_session_set_matcher(session, matcher, &error));

  sotto_token tokens[1024];
  check(sotto_tokenize(model, argv[2], strlen(argv[2]), 0, tokens, 1024, &count, &error));
  sotto_status end = sotto_session_generate(session, tokens, count, 400, print, stdout);
  if (end < 0) sotto_session_get_error(session, &error);
  check(end);
  puts("");
  sotto_session_deinit(session);
  if (end == SOTTO_STOP_GRAMMAR) return 0;
  fprintf(stderr, "the object is not complete: %s\n", sotto_status_text(end));
  return 3;
}
