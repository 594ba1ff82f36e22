/* client MODEL BINDINGS: a program of the time of the headers it is compiled with, run with the library of today. It
 * streams what tests/golden/data/bindings.txt says it must, and passes every struct in every size that a caller of
 * that time or before could have: none is refused, and nothing is written behind one. */
#include <sotto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64
#define UNTOUCHED 0xa5

static const void *file;
static size_t file_size;
static sotto_model *model;
static sotto_session *session, *guide;
static sotto_vocabulary *vocabulary;
static sotto_grammar *grammar;
static sotto_matcher *matcher;
static sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
static int failures;

static void expect(int condition, const char *what, size_t size) {
  if (condition) return;
  printf("%s (%lu bytes)\n", what, (unsigned long)size);
  ++failures;
}

static void check(sotto_status status, const char *what) {
  if (status >= 0) return;
  printf("%s: %s: %s\n", what, sotto_status_text(status), error.message);
  exit(1);
}

/* All memory, the newest first; each block begins with the one before it. */
static void **blocks;

static void *block(size_t size) {
  void **memory = malloc(sizeof *memory + size + SOTTO_MEMORY_ALIGNMENT);
  if (!memory) exit(2);
  *memory = blocks;
  blocks = memory;
  const uintptr_t begin = (uintptr_t)(memory + 1);
  return (char *)(memory + 1) + (SOTTO_MEMORY_ALIGNMENT - begin % SOTTO_MEMORY_ALIGNMENT);
}

static void free_blocks(void) {
  while (blocks) {
    void **previous = *blocks;
    free(blocks);
    blocks = previous;
  }
}

static char *read_file(const char *path, size_t *size) {
  FILE *opened = fopen(path, "rb");
  if (!opened || fseek(opened, 0, SEEK_END) != 0) exit(2);
  *size = (size_t)ftell(opened);
  rewind(opened);
  char *bytes = block(*size + 1);
  if (fread(bytes, 1, *size, opened) != *size) exit(2);
  bytes[*size] = '\0';
  fclose(opened);
  return bytes;
}

/* ---- Structs that the caller fills ---------------------------------------- */

#define PARAMS(name, call)                                            \
  static void init_##name(void *params, size_t size) {                \
    sotto_##name##_params_init((sotto_##name##_params *)params, size); \
  }                                                                   \
  static sotto_status use_##name(void *params) {                      \
    size_t bytes;                                                     \
    (void)bytes;                                                      \
    return call;                                                      \
  }

static sotto_status compile(const void *params) {
  static const char kSource[] = "root ::= \"yes\" | \"no\"";
  const size_t size = sotto_grammar_typical_memory(sizeof kSource - 1);
  size_t used;
  return sotto_grammar_compile(kSource, sizeof kSource - 1, params, block(size), size, &grammar, &used, &error);
}

static sotto_status search(const void *params) {
  const sotto_sequence *sequences;
  size_t count;
  const sotto_token prompt[] = {100};
  sotto_session_reset(session);
  check(sotto_session_prefill(session, prompt, 1), "prefill");
  return sotto_session_search(session, params, &sequences, &count, &error);
}

static sotto_status vocabulary_size(void *params, size_t *bytes) {
  ((sotto_vocabulary_params *)params)->model = model;
  return sotto_vocabulary_memory_size(params, bytes, &error);
}

PARAMS(model, sotto_model_memory_size(file, file_size, params, &bytes, &error))
PARAMS(session, sotto_session_memory_size(model, params, &bytes, &error))
PARAMS(sampler, sotto_session_set_sampler(session, params, &error))
PARAMS(watermark, ((void)params, SOTTO_OK)) /* off by default: part of another struct */
PARAMS(stop, sotto_session_set_stops(session, params, &error))
PARAMS(guide, sotto_session_set_guide(session, guide, params, &error))
PARAMS(speculation, sotto_session_set_speculation(session, params, &error))
PARAMS(search, search(params))
PARAMS(grammar, compile(params))
PARAMS(matcher, sotto_matcher_memory_size(grammar, vocabulary, params, &bytes, &error))
PARAMS(vocabulary, vocabulary_size(params, &bytes))

struct given {
  const char *name;
  size_t least, size; /* `least`: with what the function cannot do without */
  void (*init)(void *params, size_t size);
  sotto_status (*use)(void *params);
};

#define GIVEN(name) {#name, sizeof(uint32_t), sizeof(sotto_##name##_params), init_##name, use_##name}
static const struct given kGiven[] = {
    GIVEN(model), GIVEN(session), GIVEN(sampler), GIVEN(watermark), GIVEN(stop), GIVEN(guide), GIVEN(speculation),
    GIVEN(search), GIVEN(grammar), GIVEN(matcher),
    {"vocabulary", offsetof(sotto_vocabulary_params, bytes), sizeof(sotto_vocabulary_params), init_vocabulary,
     use_vocabulary}};

static int is_untouched(const unsigned char *bytes, size_t count) {
  while (count > 0 && bytes[count - 1] == UNTOUCHED) --count;
  return count == 0;
}

static void give(const struct given *what) {
  unsigned char *params = block(what->size + GUARD);
  for (size_t size = what->least; size <= what->size; size += sizeof(uint32_t)) {
    uint32_t struct_size;
    memset(params, UNTOUCHED, what->size + GUARD);
    what->init(params, size);
    memcpy(&struct_size, params, sizeof struct_size);
    expect(struct_size == size, what->name, size);
    expect(is_untouched(params + size, what->size + GUARD - size), "defaults written behind the struct", size);
    const sotto_status status = what->use(params);
    if (status < 0) printf("%s: %s\n", what->name, error.message);
    expect(status >= 0, "a caller that knows less is refused", size);
  }
  if (what->init == init_guide) check(sotto_session_set_guide(session, NULL, NULL, &error), "guide");
}

/* ---- Structs that the library fills ---------------------------------------- */

static sotto_status fill_model_info(void *info) { return sotto_model_get_info(model, info); }
static sotto_status fill_session_info(void *info) { return sotto_session_get_info(session, info); }
static sotto_status fill_timings(void *timings) { return sotto_session_get_timings(session, timings); }
static sotto_status fill_matcher_info(void *info) { return sotto_matcher_get_info(matcher, 0, info); }
static sotto_status fill_speculation_info(void *info) { return sotto_session_get_speculation_info(session, info); }
static sotto_status fill_score(void *score) {
  const sotto_token tokens[] = {100, 200};
  return sotto_session_score(session, tokens, 2, NULL, score);
}
static sotto_status fill_error(void *failure) {
  size_t size;
  return sotto_model_memory_size(file, 0, NULL, &size, failure) < 0 ? SOTTO_OK : SOTTO_INTERNAL;
}

struct filled {
  const char *name;
  size_t size;
  sotto_status (*fill)(void *target);
};
static const struct filled kFilled[] = {{"model_info", sizeof(sotto_model_info), fill_model_info},
                                        {"session_info", sizeof(sotto_session_info), fill_session_info},
                                        {"timings", sizeof(sotto_session_timings), fill_timings},
                                        {"matcher_info", sizeof(sotto_matcher_info), fill_matcher_info},
                                        {"speculation_info", sizeof(sotto_speculation_info), fill_speculation_info},
                                        {"score", sizeof(sotto_score), fill_score},
                                        {"error", sizeof(sotto_error), fill_error}};

static void fill(const struct filled *what) {
  unsigned char *target = block(what->size + GUARD);
  for (uint32_t size = sizeof(uint32_t); size <= what->size; size += sizeof(uint32_t)) {
    memset(target, UNTOUCHED, what->size + GUARD);
    memcpy(target, &size, sizeof size);
    expect(what->fill(target) >= 0, what->name, size);
    expect(memcmp(target, &size, sizeof size) == 0, "struct_size is the caller's", size);
    expect(is_untouched(target + size, what->size + GUARD - size), "written behind the struct", size);
    const size_t first = sizeof(uint32_t);
    expect(size < 2 * first || !is_untouched(target + first, size - first), "nothing was filled", size);
  }
}

/* ---- What it is all for ------------------------------------------------------ */

static void open_model(void) {
  size_t size;
  check(sotto_model_memory_size(file, file_size, NULL, &size, &error), "model");
  check(sotto_model_init(file, file_size, NULL, block(size), size, &model, &error), "model");
}

static sotto_session *open_session(uint32_t features) {
  sotto_session_params params;
  sotto_session *opened;
  size_t size;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = 256;
  params.sequence_count = 2;
  params.sequence_tokens = 8;
  params.draft_tokens = 4;
  params.features = features;
  check(sotto_session_memory_size(model, &params, &size, &error), "session");
  check(sotto_session_init(model, &params, block(size), size, &opened, &error), "session");
  return opened;
}

static void open_matcher(void) {
  sotto_vocabulary_params params;
  size_t size;
  sotto_vocabulary_params_init(&params, sizeof params);
  params.model = model;
  check(sotto_vocabulary_memory_size(&params, &size, &error), "vocabulary");
  check(sotto_vocabulary_init(&params, block(size), size, &vocabulary, &error), "vocabulary");
  check(compile(NULL), "grammar");
  check(sotto_matcher_memory_size(grammar, vocabulary, NULL, &size, &error), "matcher");
  check(sotto_matcher_init(grammar, vocabulary, NULL, block(size), size, &matcher, &error), "matcher");
}

/* The token behind `*text`, which moves on. */
static sotto_token next_number(char **text) { return (sotto_token)strtol(*text, text, 10); }

static char *find(char *text, const char *key) {
  char *found = strstr(text, key);
  if (!found) exit(2);
  return found + strlen(key);
}

/* The case "sampled" of the figures that all bindings share. */
static void stream(char *bindings) {
  char *sampled = find(bindings, "\ncase sampled\n");
  char *prompt = find(sampled, "\nprompt_tokens "), *expected = find(sampled, "\ntokens ");
  sotto_sampler_params params;
  sotto_token tokens[64];
  size_t count = 0;
  sotto_sampler_params_init(&params, sizeof params);
  params.temperature = 0.9f;
  params.top_k = 50;
  params.top_p = 0.9f;
  params.repetition_penalty = 1.1f;
  params.seed = 42;
  sotto_session *fresh = open_session(0);
  check(sotto_session_set_sampler(fresh, &params, &error), "sampler");
  while (*prompt != '\n') tokens[count++] = next_number(&prompt);
  check(sotto_session_prefill(fresh, tokens, count), "prefill");
  for (count = 0; *expected != '\n'; ++count) {
    const sotto_piece *piece;
    check(sotto_session_next(fresh, &piece), "next");
    expect(piece->token == next_number(&expected), "another token than the bindings' figures have", count);
    expect(piece->text_size == 0 || piece->text[0] != '\0', "a piece without its text", count);
  }
  expect(count == 64, "the stream's length", count);
  sotto_session_deinit(fresh);
}

/* What is filled in is where this program looks for it. */
static void read_values(void) {
  sotto_model_info of_model = {.struct_size = sizeof of_model};
  sotto_session_info of_session = {.struct_size = sizeof of_session};
  sotto_matcher_info of_matcher = {.struct_size = sizeof of_matcher};
  sotto_score score = {.struct_size = sizeof score};
  check(sotto_model_get_info(model, &of_model), "info");
  expect(of_model.embedding_size == 256 && of_model.has_tokenizer == 1 && of_model.parameter_count > 1000000 &&
             of_model.head_weight_bits == 8, "wrong values", sizeof of_model);
  check(sotto_session_get_info(session, &of_session), "info");
  expect(of_session.context_tokens == 256 && of_session.memory_bytes > of_session.kv_bytes, "wrong values",
         sizeof of_session);
  check(sotto_matcher_accept_text(matcher, 0, "yes", 3), "accept");
  check(sotto_matcher_get_info(matcher, 0, &of_matcher), "info");
  expect(of_matcher.must_end == 1 && of_matcher.token_count == 1, "wrong values", sizeof of_matcher);
  check(fill_score(&score), "score");
  expect(score.token_count == 2 && score.log_probability < 0 && score.perplexity > 1, "wrong values", sizeof score);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const uint32_t version = sotto_version();
  expect(version >> 16 == SOTTO_VERSION_MAJOR && version >= SOTTO_VERSION, "another version", version);
  size_t size;
  file = read_file(argv[1], &file_size);
  open_model();
  session = open_session(SOTTO_FEATURE_GUIDE);
  guide = open_session(0);
  open_matcher();
  for (size_t i = 0; i < sizeof kGiven / sizeof *kGiven; ++i) give(&kGiven[i]);
  for (size_t i = 0; i < sizeof kFilled / sizeof *kFilled; ++i) fill(&kFilled[i]);
  read_values();
  stream(read_file(argv[2], &size));
  sotto_session_deinit(session);
  sotto_session_deinit(guide);
  sotto_model_deinit(model);
  free_blocks();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
