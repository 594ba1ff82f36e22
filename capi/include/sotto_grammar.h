/* sotto_grammar.h - grammars that constrain generated text: GBNF, JSON Schema, regular expressions.
 *
 * A grammar is compiled once, or loaded from an image; a vocabulary is prepared once. Neither
 * changes after that, and both may be shared between threads. A matcher follows texts through a
 * grammar and computes which tokens may come next, exactly: a token is allowed if and only if some
 * text of the grammar continues with it. A matcher belongs to one thread at a time. All of this
 * also works without a model, with any vocabulary.
 */
#ifndef SOTTO_GRAMMAR_H
#define SOTTO_GRAMMAR_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vocabulary ------------------------------------------------------------ */

/* The tokens of a tokenizer, prepared for masks. Any number of threads may use the same vocabulary. */
typedef struct sotto_vocabulary sotto_vocabulary;

/* The source of a vocabulary: either `model`, or arrays of the caller, which must outlive the
 * vocabulary. */
typedef struct sotto_vocabulary_params {
  uint32_t struct_size;
  /* Number of tokens. Default 0: with a model; from 1 to 16777215. */
  uint32_t token_count;
  /* Model that defines the tokens; it must outlive the vocabulary. Its end-of-text token is the end
   * token. NULL means that the fields below define the tokens. */
  const sotto_model* model;
  /* Bytes of all tokens, one after the other, at most 255 per token. Tokens may begin and end
   * inside a character. */
  const char* bytes;
  /* token_count + 1 offsets into `bytes`. */
  const uint32_t* offsets;
  /* One flag per token, or NULL if no token is special. A special token has no text, so only a
   * token literal of a grammar allows it. End tokens are special. */
  const uint8_t* special;
  /* Tokens that are allowed where the text may end, and only there. */
  const sotto_token* end_tokens;
  size_t end_token_count;
} sotto_vocabulary_params;

SOTTO_API void sotto_vocabulary_params_init(sotto_vocabulary_params* params, size_t params_size);

/* Returns the number of bytes that sotto_vocabulary_init needs: a few hundred if the model's file
 * holds the vocabulary prepared, otherwise about 23 per token. Checks the tokens. Errors:
 * INVALID_ARGUMENT naming parameter or token, TOKENIZER_MISSING, MODEL_CORRUPT. */
SOTTO_API sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params* params, size_t* memory_size,
                                                    sotto_error* error);

/* Prepares a vocabulary in `memory`. Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_vocabulary_init(const sotto_vocabulary_params* params, void* memory, size_t memory_size,
                                             sotto_vocabulary** vocabulary, sotto_error* error);

/* ---- Grammar --------------------------------------------------------------- */

/* A compiled grammar. Any number of threads may use the same grammar. */
typedef struct sotto_grammar sotto_grammar;

/* Languages in which the source text of a grammar can be written. */
typedef int32_t sotto_grammar_language;
enum {
  /* GBNF, the grammar language of llama.cpp. */
  SOTTO_GRAMMAR_GBNF = 0,
  /* JSON Schema, drafts 7 and 2020-12. A schema that has no exact grammar is rejected, with its
   * keyword and JSON pointer. Nothing is ignored. */
  SOTTO_GRAMMAR_JSON_SCHEMA = 1,
  /* A regular expression that the whole text must match, without look-around and back-references. */
  SOTTO_GRAMMAR_REGEX = 2,
  /* Any JSON value. There is no source. */
  SOTTO_GRAMMAR_JSON = 3,
  /* Any JSON object. There is no source. */
  SOTTO_GRAMMAR_JSON_OBJECT = 4,
  /* One of the strings in a JSON array. */
  SOTTO_GRAMMAR_CHOICES = 5,
  /* A JSON number. The source is a JSON object with the optional members "minimum" and "maximum",
   * which are included, and "integer": true. */
  SOTTO_GRAMMAR_NUMBER = 6,
  /* A call {"name": ..., "arguments": {...}} of one of the functions in a JSON array of {"name",
   * "parameters"}, also inside {"type": "function", "function": {...}}. */
  SOTTO_GRAMMAR_TOOLS = 7
};

/* White space in generated JSON. */
typedef int32_t sotto_json_space;
enum {
  /* Up to max_space blanks, tabs and line ends at every place where JSON allows them. */
  SOTTO_JSON_FLEXIBLE = 0,
  /* {"a":1,"b":[2,3]}. */
  SOTTO_JSON_COMPACT = 1,
  /* {"a": 1, "b": [2, 3]}. */
  SOTTO_JSON_ONE_SPACE = 2
};

/* Parameters of a grammar. */
typedef struct sotto_grammar_params {
  uint32_t struct_size;
  /* Language of the source. Default GBNF. */
  sotto_grammar_language language;
  /* Start rule of a GBNF grammar. Default "root". */
  sotto_text root;
  /* Vocabulary of token literals in GBNF and of trigger_tokens. It may be NULL if there are none. */
  const sotto_vocabulary* vocabulary;

  /* ---- Lazy activation. With triggers, text is free until the first trigger appears, and the
   * grammar's text begins right after it. The text may also end before that ---- */

  /* Strings that activate the grammar. */
  const sotto_text* triggers;
  size_t trigger_count;
  /* Tokens that activate the grammar. One that has text cannot be combined with `triggers`, because
   * free text is then matched by token, not by byte. */
  const sotto_token* trigger_tokens;
  size_t trigger_token_count;

  /* ---- All JSON languages ---- */

  /* White space in JSON. With FLEXIBLE, small models tend to fill their budget with blanks. Default
   * ONE_SPACE. */
  sotto_json_space json_space;
  /* Maximal number of FLEXIBLE white space characters at one place. Default 20; from 0 to
   * 2147483648; UINT32_MAX: unlimited. */
  uint32_t max_space;
  /* Whether FLEXIBLE white space is also allowed before and after the document. Default 0. */
  uint32_t allow_surrounding_whitespace;

  /* ---- JSON Schema, and the parameters of tools ---- */

  /* Draft of a JSON Schema that has no $schema. Default 2020; 7 or 2020. */
  uint32_t schema_draft;
  /* Whether "format" is enforced for the formats that the standard names. Default 1. */
  uint32_t assert_formats;
  /* Whether objects with "properties" and arrays with a tuple hold nothing else, unless the schema
   * says otherwise. Default 0. */
  uint32_t forbid_additional;
  /* Whether minProperties may count names that the schema does not list, although such names could
   * occur twice. Default 0. */
  uint32_t assume_distinct_names;
  /* Whether the text is an array of one or more calls instead of one call. Default 0. */
  uint32_t parallel_tool_calls;
  /* Receives warnings about rules that occur in no text. It may be NULL. */
  sotto_log_fn log;
  void* log_user_data;
} sotto_grammar_params;

SOTTO_API void sotto_grammar_params_init(sotto_grammar_params* params, size_t params_size);

/* Returns a size of memory that suffices to compile most sources of `source_size` bytes. */
SOTTO_API size_t sotto_grammar_typical_memory(size_t source_size);

/* Compiles UTF-8 `source`, which may be NULL when `source_size` is 0, in `memory`. Afterwards the
 * grammar occupies the first `*grammar_size` bytes of `memory`, and the rest may be used again.
 * Errors: GRAMMAR_SYNTAX (the message has line:column or the JSON pointer and the text there;
 * error->offset is its byte), GRAMMAR_UNSUPPORTED, GRAMMAR_TOO_LARGE (try again with more memory),
 * MEMORY_MISALIGNED, INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_grammar_compile(const char* source, size_t source_size, const sotto_grammar_params* params,
                                             void* memory, size_t memory_size, sotto_grammar** grammar,
                                             size_t* grammar_size, sotto_error* error);

/* Writes a grammar as an image for files and flash. The bytes are the same on every platform.
 * `*size` receives the number of bytes needed, even with SOTTO_BUFFER_TOO_SMALL. `image` may be
 * NULL when `capacity` is 0. Errors: BUFFER_TOO_SMALL. */
SOTTO_API sotto_status sotto_grammar_save(const sotto_grammar* grammar, void* image, size_t capacity, size_t* size);

/* Verifies an image, which may come from an untrusted source, and uses it in place. `image` must be
 * aligned to SOTTO_MEMORY_ALIGNMENT and must outlive the grammar. Errors: GRAMMAR_CORRUPT,
 * MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_grammar_load(const void* image, size_t image_size, const sotto_grammar** grammar,
                                          sotto_error* error);

/* ---- Matcher --------------------------------------------------------------- */

/* The state of one or more sequences under a grammar. Only one thread at a time may use it. */
typedef struct sotto_matcher sotto_matcher;

/* Capacities of a matcher. All memory is reserved at init. When a capacity is exhausted, the
 * matcher evicts results that are no longer needed. If that is not enough, the call fails with
 * GRAMMAR_TOO_LARGE and changes nothing. */
typedef struct sotto_matcher_params {
  uint32_t struct_size;
  /* Number of texts that are followed at the same time. A session that searches with n sequences
   * needs 2n+1. Default 1; from 1 to 65536. */
  uint32_t sequence_count;
  /* Number of the newest tokens of sequence 0 that can be rolled back. Default 64; from 0 to
   * 268435456. */
  uint32_t rollback_count;

  /* ---- Capacities. 0 selects one with which all but very ambiguous grammars are fast ---- */

  /* Number of stack nodes, which are places in rules where other rules are called. Default 0:
   * automatic; from 16 to 268435456. */
  uint32_t node_count;
  /* Number of stack frames in all nodes. Default 0: automatic; from 16 to 268435456. */
  uint32_t frame_count;
  /* Number of state sets. Default 0: automatic; from 16 to 65535. */
  uint32_t state_set_count;
  /* Number of states in all sets. Default 0: automatic; from 16 to 268435456. */
  uint32_t state_count;
  /* Number of states visited in one step. Default 0: automatic; from 16 to 268435456. */
  uint32_t work_count;
  /* Bytes of cached masks. Default 0: automatic. */
  uint32_t mask_bytes;
  uint32_t reserved;
  /* Number of elementary steps of one call. Default 20000000; at least 1. */
  uint64_t step_budget;
} sotto_matcher_params;

/* State of a sequence of a matcher. */
typedef struct sotto_matcher_info {
  uint32_t struct_size;
  /* Whether the text may end here. */
  uint32_t may_end;
  /* Whether nothing can follow. */
  uint32_t must_end;
  uint32_t reserved;
  /* Number of tokens that sequence 0 has accepted since its reset. */
  uint64_t token_count;
} sotto_matcher_info;

SOTTO_API void sotto_matcher_params_init(sotto_matcher_params* params, size_t params_size);

/* Returns the number of bytes that sotto_matcher_init needs. `params` may be NULL. Errors:
 * INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_matcher_memory_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                                 const sotto_matcher_params* params, size_t* memory_size,
                                                 sotto_error* error);

/* Builds a matcher in `memory`, with all sequences empty. Grammar, vocabulary and memory must
 * outlive it. If `vocabulary` is NULL, the matcher follows only texts. Errors: as above,
 * MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_matcher_init(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                          const sotto_matcher_params* params, void* memory, size_t memory_size,
                                          sotto_matcher** matcher, sotto_error* error);

/* Empties a sequence. */
SOTTO_API sotto_status sotto_matcher_reset(sotto_matcher* matcher, uint32_t sequence);

/* Writes the mask of the tokens that may come next. Bit t%64 of words[t/64] stands for token t, and
 * there are (token_count+63)/64 words. End tokens are allowed if the text may end here. On success
 * at least one is allowed. Errors: GRAMMAR_DEAD_END (the vocabulary has no token that fits),
 * GRAMMAR_TOO_LARGE, BUFFER_TOO_SMALL, INVALID_ARGUMENT. */
SOTTO_API sotto_status sotto_matcher_mask(sotto_matcher* matcher, uint32_t sequence, uint64_t* words,
                                          size_t word_count);

/* Returns the same mask without a copy. `*words` receives a pointer to the matcher's own words,
 * which are aligned to 8 bytes. Any thread may read them until the next call with this matcher or
 * with a session that uses it. They must not be written. Errors: as above; on failure `*words` is
 * unchanged. */
SOTTO_API sotto_status sotto_matcher_borrow_mask(sotto_matcher* matcher, uint32_t sequence, const uint64_t** words);

/* Accepts a token. Errors, which change nothing: INVALID_ARGUMENT (the mask does not allow the
 * token), GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_accept_token(sotto_matcher* matcher, uint32_t sequence, sotto_token token);
/* Accepts text, which may begin and end inside a token or a character. Errors, which change
 * nothing: INVALID_ARGUMENT (no text of the grammar begins like this), GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_accept_text(sotto_matcher* matcher, uint32_t sequence, const char* text,
                                                 size_t text_size);

/* Tests the sequence followed by `text`. `*begins` receives 1 if a text of the grammar begins with
 * them, and `*matches` receives 1 if they are a text of the grammar, otherwise 0. The sequence does
 * not change. Errors: GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_test(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size,
                                          uint32_t* begins, uint32_t* matches);

/* Rolls back the newest `count` tokens or texts that sequence 0 accepted. Errors: INVALID_STATE
 * (`count` exceeds rollback_count, or the number accepted since sequence 0 was last reset, made by
 * a fork, or returned to its start by a session). */
SOTTO_API sotto_status sotto_matcher_rewind(sotto_matcher* matcher, uint64_t count);

/* Makes sequence `to` a copy of `from`, in constant time. */
SOTTO_API sotto_status sotto_matcher_fork(sotto_matcher* matcher, uint32_t from, uint32_t to);

/* Writes the text that must follow: bytes as long as exactly one is possible and the text may not
 * end. `*size` receives the number of bytes written, at most `capacity`. Errors: GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_forced_text(sotto_matcher* matcher, uint32_t sequence, char* text, size_t capacity,
                                                 size_t* size);

/* Writes the state of a sequence to *info. */
SOTTO_API sotto_status sotto_matcher_get_info(const sotto_matcher* matcher, uint32_t sequence,
                                              sotto_matcher_info* info);

/* Constrains the session: the text that it generates from here on continues the matcher's sequence
 * 0, in every mode of sampling and search. The mask applies before all stages, the end-of-text
 * token is allowed where the grammar allows the end, and generation ends with SOTTO_STOP_GRAMMAR
 * when nothing can follow. Bytes that token healing hides are not part of the text. Before the next
 * answer, reset the matcher and set it again. NULL removes the matcher. The matcher must outlive
 * its use, and must not be called otherwise in the meantime. Searches use its other sequences. The
 * matcher follows the session's rewinds, either up to rollback_count tokens at once or back to the
 * place where it was set. Otherwise sotto_session_rewind returns INVALID_STATE. Reset, restore and
 * a fork into this session also return it to that place, because saved states do not contain it. If
 * sotto_session_next returns GRAMMAR_TOO_LARGE or GRAMMAR_DEAD_END, nothing has changed, and
 * generation can continue without a matcher. Errors: INVALID_ARGUMENT (the vocabulary is not the
 * model's size, or too few sequences for the session's searches), INVALID_STATE (tokens buffered
 * for banned strings cannot be rolled back). */
SOTTO_API sotto_status sotto_session_set_matcher(sotto_session* session, sotto_matcher* matcher, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_GRAMMAR_H */
