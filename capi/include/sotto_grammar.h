/* sotto_grammar.h - text that must fit a grammar: GBNF, JSON Schema, regular expressions.
 * Part of sotto.h, which includes it. Also usable without a model, with any vocabulary.
 *
 * A grammar is compiled once, or loaded from an image made before; a vocabulary is prepared
 * once; both never change after that and may be shared between threads. A matcher follows texts
 * through a grammar and tells which tokens may come next, exactly: a token is allowed if, and
 * only if, some text of the grammar goes on with it. It belongs to one thread at a time.
 */
#ifndef SOTTO_GRAMMAR_H
#define SOTTO_GRAMMAR_H

#include "sotto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vocabulary ------------------------------------------------------------ */

typedef struct sotto_vocabulary sotto_vocabulary;

/* Either `model`, or a vocabulary of the caller, whose arrays must outlive it. */
typedef struct sotto_vocabulary_params {
  uint32_t struct_size;
  uint32_t token_count;          /* 1 ... 2^24-1; 0 with a model */
  const sotto_model* model;      /* default NULL. Must outlive the vocabulary. Its end-of-text token
                                    is the end token */
  const char* bytes;             /* of all tokens, one behind the other: up to 255 each. They may
                                    begin and end inside a character */
  const uint32_t* offsets;       /* token_count + 1, into bytes */
  const uint8_t* special;        /* token_count of 0 or 1, or NULL: no token is special. A special
                                    token has no place in a text, as an empty one: only a grammar's
                                    token literal allows it. End tokens are special */
  const sotto_token* end_tokens; /* allowed where the text may end, and only there */
  size_t end_token_count;
} sotto_vocabulary_params;

SOTTO_API void sotto_vocabulary_params_init(sotto_vocabulary_params* params, size_t params_size);

/* Bytes sotto_vocabulary_init needs: some hundred for a model whose file holds its vocabulary
 * prepared, else about 23 a token. Checks the tokens.
 * Errors: INVALID_ARGUMENT naming parameter or token, TOKENIZER_MISSING, MODEL_CORRUPT. */
SOTTO_API sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params* params, size_t* memory_size,
                                                    sotto_error* error);

/* Prepares a vocabulary in `memory`. Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_vocabulary_init(const sotto_vocabulary_params* params, void* memory, size_t memory_size,
                                             sotto_vocabulary** vocabulary, sotto_error* error);

/* ---- Grammar --------------------------------------------------------------- */

typedef struct sotto_grammar sotto_grammar;

/* What the source text of a grammar is. */
typedef int32_t sotto_grammar_language;
enum {
  SOTTO_GRAMMAR_GBNF = 0,
  SOTTO_GRAMMAR_JSON_SCHEMA = 1, /* drafts 7 and 2020-12. What cannot be said exactly is
                                    refused by keyword and JSON pointer, never ignored */
  SOTTO_GRAMMAR_REGEX = 2,       /* the whole text matches. No look-around, no back-references */
  SOTTO_GRAMMAR_JSON = 3,        /* any JSON value; no source */
  SOTTO_GRAMMAR_JSON_OBJECT = 4, /* any JSON object; no source */
  SOTTO_GRAMMAR_CHOICES = 5,     /* one of the strings in a JSON array */
  SOTTO_GRAMMAR_NUMBER = 6,      /* a JSON number; source: a JSON object of "minimum", "maximum"
                                    (both included) and "integer": true, all optional */
  SOTTO_GRAMMAR_TOOLS = 7        /* a call {"name": ..., "arguments": {...}} of one of the
                                    functions in a JSON array of {"name", "parameters"}, also
                                    inside {"type": "function", "function": {...}} */
};

typedef int32_t sotto_json_space;
enum {
  SOTTO_JSON_FLEXIBLE = 0, /* up to maximum_space blanks, tabs and line ends where JSON has them */
  SOTTO_JSON_COMPACT = 1,  /* {"a":1,"b":[2,3]} */
  SOTTO_JSON_ONE_SPACE = 2 /* {"a": 1, "b": [2, 3]} */
};

typedef struct sotto_grammar_params {
  uint32_t struct_size;
  sotto_grammar_language language;    /* default GBNF */
  sotto_text root;                    /* GBNF: the start rule; default "root" */
  const sotto_vocabulary* vocabulary; /* for GBNF's token literals, and trigger_tokens; default
                                         NULL: there are none */
  /* Lazy activation: if there are triggers, text is free until the first of them appears, and
   * the grammar's text begins right behind it. Text may also end before. Trigger tokens that
   * have text do not go with triggers; what comes before them is told by tokens, not by bytes. */
  const sotto_text* triggers;
  size_t trigger_count;
  const sotto_token* trigger_tokens;
  size_t trigger_token_count;
  /* JSON of every kind. */
  sotto_json_space json_space;           /* default FLEXIBLE */
  uint32_t maximum_space;                /* default 20; UINT32_MAX: any */
  uint32_t allow_surrounding_whitespace; /* 1: flexible space also around the document; default 0 */
  /* JSON Schema, and the parameters of tools. */
  uint32_t schema_draft;        /* where $schema names none: 7 or 2020; default 2020 */
  uint32_t assert_formats;      /* default 1: "format" is checked where the standard names it */
  uint32_t closed;              /* 1: objects with "properties" and arrays with a tuple hold nothing else
                                   unless the schema says so; default 0 */
  uint32_t distinct_names;      /* 1: minProperties may count names that could repeat; default 0 */
  uint32_t parallel_tool_calls; /* 1: an array of one or more calls; default 0 */
  sotto_log_fn log;             /* default NULL. Warnings: rules that no text can use */
  void* log_user_data;
} sotto_grammar_params;

SOTTO_API void sotto_grammar_params_init(sotto_grammar_params* params, size_t params_size);

/* A size of memory that is enough to compile most sources of `source_size` bytes. */
SOTTO_API size_t sotto_grammar_typical_memory(size_t source_size);

/* Compiles UTF-8 `source`, which may be NULL when `source_size` is 0, working in `memory`. The
 * grammar lies at the beginning of it and keeps `*grammar_size` bytes; the rest is free again.
 * Errors: GRAMMAR_SYNTAX (message: line:column or JSON pointer, and the text there;
 * error->offset: its byte), GRAMMAR_UNSUPPORTED, GRAMMAR_TOO_LARGE (try again with more memory),
 * MEMORY_MISALIGNED, INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_grammar_compile(const char* source, size_t source_size, const sotto_grammar_params* params,
                                             void* memory, size_t memory_size, sotto_grammar** grammar,
                                             size_t* grammar_size, sotto_error* error);

/* Writes a grammar as an image for files and flash: the same bytes on every platform. `*size`
 * is set to the bytes needed, also with SOTTO_BUFFER_TOO_SMALL; `image` may be NULL when
 * `capacity` is 0. Errors: BUFFER_TOO_SMALL. */
SOTTO_API sotto_status sotto_grammar_save(const sotto_grammar* grammar, void* image, size_t capacity, size_t* size);

/* Verifies an image, which may come from anyone, and uses it in place: `image`, aligned to
 * SOTTO_MEMORY_ALIGNMENT, must outlive the grammar.
 * Errors: GRAMMAR_CORRUPT, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_grammar_load(const void* image, size_t image_size, const sotto_grammar** grammar,
                                          sotto_error* error);

/* ---- Matcher --------------------------------------------------------------- */

typedef struct sotto_matcher sotto_matcher;

/* How much a matcher may keep; all of it is reserved at init. What it has found out and no
 * longer needs makes room when a limit is reached; what does not fit even so is refused
 * (GRAMMAR_TOO_LARGE), and nothing has changed. */
typedef struct sotto_matcher_params {
  uint32_t struct_size;
  uint32_t sequence_count; /* texts followed side by side; default 1, at most 65536. A session
                              that searches with n sequences needs 2n+1 */
  uint32_t rollback_count; /* newest tokens of sequence 0 that can be taken back; default 64 */
  /* Default 0 for each: enough for the grammar to be fast, unless it is very ambiguous. */
  uint32_t node_count;   /* places in rules where others are called */
  uint32_t frame_count;  /* in all contexts */
  uint32_t config_count; /* sets of states; at most 65535 */
  uint32_t item_count;   /* in all sets */
  uint32_t work_count;   /* states visited in one step */
  uint32_t mask_bytes;   /* of remembered masks */
  uint32_t reserved;
  uint64_t step_budget; /* elementary steps of one call; default 20,000,000 */
} sotto_matcher_params;

typedef struct sotto_matcher_info {
  uint32_t struct_size;
  uint32_t may_end;  /* 1: the text may end here */
  uint32_t must_end; /* 1: nothing can follow */
  uint32_t reserved;
  uint64_t token_count; /* accepted by sequence 0 since its reset */
} sotto_matcher_info;

SOTTO_API void sotto_matcher_params_init(sotto_matcher_params* params, size_t params_size);

/* Bytes sotto_matcher_init needs. `params` may be NULL.
 * Errors: INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_matcher_memory_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                                 const sotto_matcher_params* params, size_t* memory_size,
                                                 sotto_error* error);

/* Builds a matcher in `memory`, all sequences empty. Grammar, vocabulary and memory must outlive
 * it. `vocabulary` may be NULL: texts only. Errors: as above, MEMORY_TOO_SMALL,
 * MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_matcher_init(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                          const sotto_matcher_params* params, void* memory, size_t memory_size,
                                          sotto_matcher** matcher, sotto_error* error);

/* Empties a sequence. */
SOTTO_API sotto_status sotto_matcher_reset(sotto_matcher* matcher, uint32_t sequence);

/* The tokens that may come next: token t's is bit t%64 of words[t/64], of (token_count+63)/64
 * words. End tokens are allowed where the text may end. On success at least one is allowed.
 * Errors: GRAMMAR_DEAD_END (the vocabulary has no token that fits), GRAMMAR_TOO_LARGE,
 * BUFFER_TOO_SMALL, INVALID_ARGUMENT. */
SOTTO_API sotto_status sotto_matcher_mask(sotto_matcher* matcher, uint32_t sequence, uint64_t* words,
                                          size_t word_count);

/* The same mask without a copy: `*words` is set to the matcher's own words, as many, on a boundary
 * of 8 bytes. They may be read, also by other threads, until the next call with this matcher, or
 * with a session that uses it; nobody may write to them. Errors: as above, and `*words` is as it
 * was. Since 1.1. */
SOTTO_API sotto_status sotto_matcher_borrow_mask(sotto_matcher* matcher, uint32_t sequence, const uint64_t** words);

/* Accepts a token, or text, that may begin and end inside a token or character.
 * Errors: INVALID_ARGUMENT (it does not fit), GRAMMAR_TOO_LARGE; nothing has changed. */
SOTTO_API sotto_status sotto_matcher_accept_token(sotto_matcher* matcher, uint32_t sequence, sotto_token token);
SOTTO_API sotto_status sotto_matcher_accept_text(sotto_matcher* matcher, uint32_t sequence, const char* text,
                                                 size_t text_size);

/* Whether sequence and text together begin a text of the grammar (`*begins`) and are one
 * (`*matches`), 0 or 1 each. The sequence stays as it is. Errors: GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_test(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size,
                                          uint32_t* begins, uint32_t* matches);

/* Takes back the newest `count` tokens or texts accepted by sequence 0.
 * Errors: INVALID_STATE (more than rollback_count, or than there are since it was reset, forked
 * into, or taken back by a session to where it was set). */
SOTTO_API sotto_status sotto_matcher_rewind(sotto_matcher* matcher, uint64_t count);

/* Sequence `to` becomes a copy of `from`; costs next to nothing. */
SOTTO_API sotto_status sotto_matcher_fork(sotto_matcher* matcher, uint32_t from, uint32_t to);

/* Text that must follow: bytes as long as only one is possible and the text may not end.
 * `*size` is set to those written, at most `capacity`. Errors: GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_forced_text(sotto_matcher* matcher, uint32_t sequence, char* text, size_t capacity,
                                                 size_t* size);

SOTTO_API sotto_status sotto_matcher_get_info(const sotto_matcher* matcher, uint32_t sequence,
                                              sotto_matcher_info* info);

/* The text that the session generates from here on continues the matcher's sequence 0, in every
 * mode of sampling and search: the mask comes before all else, end of text where the grammar
 * allows it, and SOTTO_STOP_GRAMMAR when nothing can follow. Bytes that healing hides are no
 * part of it. Before the next answer reset the matcher and set it again.
 * The matcher follows the session's rewinds, up to rollback_count tokens at once or all the way
 * back to where it was set (else sotto_session_rewind gives INVALID_STATE); reset, restore and
 * a fork into this session take it there, too: saved states do not hold it. Searches use its
 * other sequences. Nobody else calls it meanwhile, and it must outlive its use.
 * Where sotto_session_next gives GRAMMAR_TOO_LARGE or GRAMMAR_DEAD_END, nothing has changed, and
 * generation can go on without a matcher. NULL ends its use.
 * Errors: INVALID_ARGUMENT (the vocabulary is not the model's size, or too few sequences for the
 * session's searches), INVALID_STATE (tokens held for banned strings cannot be taken back). */
SOTTO_API sotto_status sotto_session_set_matcher(sotto_session* session, sotto_matcher* matcher, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_GRAMMAR_H */
