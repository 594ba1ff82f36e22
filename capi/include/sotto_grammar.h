/* sotto_grammar.h - grammars that constrain generated text: GBNF, JSON Schema, regular expressions.
 *
 * A matcher follows a text through a grammar and computes which tokens may come next. The result is
 * exact: a token is allowed if and only if the text and the token can be completed to a text of the
 * grammar. With root ::= "yes" | "no", for example, the tokens y, ye, yes, n and no may come first.
 *
 * A grammar is compiled once, or loaded from an image. A vocabulary is prepared once. Threads may
 * share both, because they never change; one thread at a time may use a matcher.
 * sotto_session_set_matcher constrains a session. Without a model, any vocabulary will do.
 */
/* The enums and structs below are generated from capi/params/grammar.toml: edit that file. */
#ifndef SOTTO_GRAMMAR_H
#define SOTTO_GRAMMAR_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Vocabulary ------------------------------------------------------------ */

/* The tokens of a tokenizer, prepared for computing masks. A vocabulary is immutable, so any number
 * of threads may use it at the same time. */
typedef struct sotto_vocabulary sotto_vocabulary;

/* Source of a vocabulary's tokens: either `model`, or arrays of the caller. The source must outlive
 * the vocabulary. */
typedef struct sotto_vocabulary_params {
  uint32_t struct_size;
  /* Number of tokens. Default: 0 (with a model). Range: 1 to 16777215. */
  uint32_t token_count;
  /* The model that defines the tokens. Its end-of-text tokens are the end tokens. If NULL, the
   * fields below define the tokens. */
  const sotto_model* model;
  /* The bytes of all tokens, one token after the other. A token has at most 255 bytes and may begin
   * or end inside a character. */
  const char* bytes;
  /* token_count + 1 offsets into `bytes`. */
  const uint32_t* offsets;
  /* One flag per token, or NULL if no token is special. A special token has no text, so only a
   * token literal in a grammar can match it. End tokens are special. */
  const uint8_t* special;
  /* Tokens that end a text. Masks allow them only where the grammar allows the text to end. */
  const sotto_token* end_tokens;
  size_t end_token_count;
} sotto_vocabulary_params;

SOTTO_API void sotto_vocabulary_params_init(sotto_vocabulary_params* params, size_t params_size);

/* Validates the tokens and returns the number of bytes that sotto_vocabulary_init needs. It is a
 * few hundred if the model file contains the prepared vocabulary, and otherwise about 23 per token.
 * Errors: INVALID_ARGUMENT naming the parameter or the token, TOKENIZER_MISSING, MODEL_CORRUPT. */
SOTTO_API sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params* params, size_t* memory_size,
                                                    sotto_error* error);

/* Prepares a vocabulary in `memory`. Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_vocabulary_init(const sotto_vocabulary_params* params, void* memory, size_t memory_size,
                                             sotto_vocabulary** vocabulary, sotto_error* error);

/* ---- Grammar --------------------------------------------------------------- */

/* A compiled grammar. It is immutable, so any number of threads may use it at the same time. */
typedef struct sotto_grammar sotto_grammar;

/* Languages of grammars. */
typedef int32_t sotto_grammar_language;
enum {
  /* GBNF, the grammar notation of llama.cpp. Ranges (<[1-9]>) and complements (!<[5]>) of tokens do
   * not contain end tokens. */
  SOTTO_GRAMMAR_GBNF = 0,
  /* JSON Schema, drafts 4 to 7 and 2020-12. The grammar never allows an invalid value. In three
   * cases (see "JSON Schema" in capi/README.md) it excludes some valid values. A schema that cannot
   * be translated is rejected; the message names the keyword and its JSON pointer. Keywords that
   * the draft does not define are ignored with a warning. */
  SOTTO_GRAMMAR_JSON_SCHEMA = 1,
  /* A regular expression that the whole text must match. Look-ahead is supported after a leading ^;
   * other look-around and back-references are not. */
  SOTTO_GRAMMAR_REGEX = 2,
  /* Any JSON value. There is no source. */
  SOTTO_GRAMMAR_JSON = 3,
  /* Any JSON object. There is no source. */
  SOTTO_GRAMMAR_JSON_OBJECT = 4,
  /* One of several strings. The source is a JSON array of them. */
  SOTTO_GRAMMAR_CHOICES = 5,
  /* A JSON number. The source is a JSON object. Its optional members are "minimum" and "maximum",
   * both inclusive, and "integer": true. */
  SOTTO_GRAMMAR_NUMBER = 6,
  /* A call {"name": ..., "arguments": {...}} of one of several functions. The source is a JSON
   * array of {"name", "parameters"}. Each element may be wrapped as {"type": "function",
   * "function": {...}}. */
  SOTTO_GRAMMAR_TOOLS = 7,
  /* Free text, tags and constrained parts, in XGrammar's notation. The source is a JSON object
   * {"type": "structural_tag", "format": {...}}. The formats are const_string, json_schema, regex,
   * grammar, any_text, sequence, or, tag, triggered_tags and tags_with_separator; capi/README.md
   * describes them. */
  SOTTO_GRAMMAR_STRUCTURAL_TAG = 8
};

/* White space in generated JSON. */
typedef int32_t sotto_json_space;
enum {
  /* Wherever JSON allows it: up to max_space spaces, tabs and line breaks in one place. */
  SOTTO_JSON_FLEXIBLE = 0,
  /* Nowhere, as in {"a":1,"b":[2,3]}. */
  SOTTO_JSON_COMPACT = 1,
  /* One space after each colon and comma, as in {"a": 1, "b": [2, 3]}. */
  SOTTO_JSON_ONE_SPACE = 2
};

/* Parameters of a grammar. */
typedef struct sotto_grammar_params {
  uint32_t struct_size;
  /* Language of the source. Default: GBNF. */
  sotto_grammar_language language;
  /* Start rule of a GBNF grammar. Default: "root". */
  sotto_text root;
  /* Token literals of GBNF and trigger_tokens are looked up in this vocabulary. May be NULL if
   * there are none. */
  const sotto_vocabulary* vocabulary;
  /* Receives warnings: about unreachable rules, and about keywords and formats of a JSON Schema
   * that are ignored. May be NULL. */
  sotto_log_fn log;
  void* log_user_data;

  /* ---- Lazy activation. If there are triggers, the text is unconstrained until the first trigger
   * appears, and the grammar applies right after it. The text may also end without a trigger ---- */

  /* Strings that activate the grammar. */
  const sotto_text* triggers;
  size_t trigger_count;
  /* Tokens that activate the grammar. Only the token itself activates it, not the same text in
   * other tokens. */
  const sotto_token* trigger_tokens;
  size_t trigger_token_count;

  /* ---- All JSON languages ---- */

  /* White space in generated JSON. With FLEXIBLE, small models tend to write nothing but white
   * space. Default: ONE_SPACE. */
  sotto_json_space json_space;
  /* Maximum number of white space characters in one place, with FLEXIBLE. Default: 20. Range: 0
   * to 2147483648. UINT32_MAX means unlimited. */
  uint32_t max_space;
  /* If true, FLEXIBLE also allows white space before and after the document. Default: 0. */
  uint32_t allow_surrounding_whitespace;
  /* Maximum number of digits of a number before the decimal point, after it, and in the exponent.
   * Values of enum and const may have more. Default: 0 (no limit). Range: 1 to 400. */
  uint32_t max_digits;
  /* Maximum number of characters of a string, unless its schema has a pattern, a format or values.
   * A larger minLength takes precedence. If the schema lists properties, the names of other
   * properties are not limited. Default: 0 (no limit). Range: 1 to 2147483648. */
  uint32_t max_string_length;

  /* ---- JSON Schema, and the parameters of tools ---- */

  /* Draft that a JSON Schema without $schema follows. Default: 2020. Values: 7 or 2020. */
  uint32_t schema_draft;
  /* If true, "format" is enforced, for the formats that the standard defines. Default: 1. */
  uint32_t assert_formats;
  /* If true, objects with "properties" have no other properties, and arrays with a tuple have no
   * further items. A schema can override this. Default: 0. */
  uint32_t forbid_additional;
  /* If true, property names that the schema does not list count towards minProperties. The grammar
   * cannot prevent such a name from occurring twice. Default: 0. */
  uint32_t assume_distinct_names;
  /* If true, the members of an object come in the order of their first mention in the schema, and
   * unlisted members come last. If false, they come in any order, but unlisted members come after
   * the required ones. Three kinds of objects always keep the order of the schema: objects with
   * more than 64 listed names, objects with counted members, and objects that must contain a
   * violation of a condition (such as propertyNames under "not"). Default: 0. */
  uint32_t schema_order;
  /* If true, the text is an array of one or more calls instead of a single call. Default: 0. */
  uint32_t parallel_tool_calls;
  /* Maximum number of elementary steps in which a schema is translated, which bounds the time; the
   * default is about a second. A schema that needs more fails with GRAMMAR_TOO_LARGE.
   * Default: 100000000. Range: at least 1. */
  uint32_t max_schema_steps;
} sotto_grammar_params;

SOTTO_API void sotto_grammar_params_init(sotto_grammar_params* params, size_t params_size);

/* Returns a size of memory that suffices to compile most sources of `source_size` bytes. */
SOTTO_API size_t sotto_grammar_typical_memory(size_t source_size);

/* Compiles a grammar from its UTF-8 source. `source` may be NULL when `source_size` is 0. The
 * compiler works in `memory`. Afterwards, the grammar occupies its first `*grammar_size` bytes; the
 * rest is free for other uses. Errors: GRAMMAR_SYNTAX (the message contains line and column, or the
 * JSON pointer, and the text there; error->offset is the byte), GRAMMAR_UNSUPPORTED,
 * GRAMMAR_TOO_LARGE, MEMORY_MISALIGNED, INVALID_ARGUMENT naming the parameter. After
 * GRAMMAR_TOO_LARGE, try again with more memory, unless error->offset is set: more memory does not
 * help then, because the source exceeds a limit, such as max_schema_steps. */
SOTTO_API sotto_status sotto_grammar_compile(const char* source, size_t source_size, const sotto_grammar_params* params,
                                             void* memory, size_t memory_size, sotto_grammar** grammar,
                                             size_t* grammar_size, sotto_error* error);

/* Writes a compiled grammar as an image that can be stored in a file or in flash memory. The bytes
 * are the same on every platform. `*size` receives the number of bytes needed, even with
 * SOTTO_BUFFER_TOO_SMALL. `image` may be NULL when `capacity` is 0. Errors: BUFFER_TOO_SMALL. */
SOTTO_API sotto_status sotto_grammar_save(const sotto_grammar* grammar, void* image, size_t capacity, size_t* size);

/* Verifies the image of a grammar and uses it in place. The image may come from an untrusted
 * source. The bytes must be aligned to SOTTO_MEMORY_ALIGNMENT and must outlive the grammar. Errors:
 * GRAMMAR_CORRUPT, GRAMMAR_TOO_LARGE (verifying takes more than about a second),
 * MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_grammar_load(const void* image, size_t image_size, const sotto_grammar** grammar,
                                          sotto_error* error);

/* ---- Matcher --------------------------------------------------------------- */

/* The state of one or more sequences under a grammar. One thread at a time may use a matcher. */
typedef struct sotto_matcher sotto_matcher;

/* Capacities of a matcher. All memory is reserved at init. Nodes, frames, state sets and states
 * share one block, in which the given numbers of each fit; a text may need more of one and fewer of
 * another. When the memory is exhausted, the matcher evicts cached results that are not in use. If
 * that does not free enough, the call fails with GRAMMAR_TOO_LARGE and changes nothing. */
typedef struct sotto_matcher_params {
  uint32_t struct_size;
  /* Number of sequences that the matcher follows at the same time. A session needs
   * matcher_sequence_count of sotto_session_info. Default: 1. Range: 1 to 65536. */
  uint32_t sequence_count;
  /* Number of tokens of sequence 0 that can be rolled back. Default: 64. Range: 0 to 268435456. */
  uint32_t rollback_count;
  /* Number of tokens within which each sequence is complete, counted from its reset, without the
   * end token. Masks allow a token only if the text can still be completed within this number. Text
   * that is appended as a whole counts as one token. Only the grammar is considered: bans and
   * filters of a sampler may leave no token. Default: 0 (no limit). */
  uint32_t finish_within;
  /* Maximum number of elementary steps of a call, which bounds its time. A call that needs more
   * fails with GRAMMAR_TOO_LARGE. Default: 20000000. Range: at least 1. */
  uint64_t step_budget;

  /* ---- Capacities. The automatic values suffice for all but very ambiguous grammars ---- */

  /* Number of stack nodes. A stack node records positions at which rules have called other rules.
   * Default: 0 (automatic). Range: 16 to 268435456. */
  uint32_t node_count;
  /* Total number of stack frames in all nodes. Default: 0 (automatic). Range: 16 to 268435456. */
  uint32_t frame_count;
  /* Number of cached state sets. Default: 0 (automatic). Range: 16 to 65535. */
  uint32_t state_set_count;
  /* Total number of states in all sets. Default: 0 (automatic). Range: 16 to 268435456. */
  uint32_t state_count;
  /* Number of states that one step can visit. Default: 0 (automatic). Range: 16 to 268435456. */
  uint32_t visit_count;
  /* Bytes of cached masks. Default: 0 (automatic). */
  uint32_t mask_bytes;
} sotto_matcher_params;

/* State of one sequence of a matcher. */
typedef struct sotto_matcher_info {
  uint32_t struct_size;
  /* True if the text is complete and may end here. */
  uint32_t may_end;
  /* True if the text is complete and nothing may follow, or finish_within is used up. */
  uint32_t must_end;
  uint32_t reserved;
  /* Number of tokens and texts that sequence 0 has accepted since it was reset, without those that
   * were rolled back. */
  uint64_t token_count;
} sotto_matcher_info;

SOTTO_API void sotto_matcher_params_init(sotto_matcher_params* params, size_t params_size);

/* Returns the number of bytes that sotto_matcher_init needs. Errors: INVALID_ARGUMENT naming the
 * parameter. */
SOTTO_API sotto_status sotto_matcher_memory_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                                 const sotto_matcher_params* params, size_t* memory_size,
                                                 sotto_error* error);

/* Builds a matcher in `memory`, with empty sequences. `grammar`, `vocabulary` and `memory` must
 * outlive it. If `vocabulary` is NULL, the matcher can follow text but not tokens. Errors: as
 * above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_matcher_init(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                          const sotto_matcher_params* params, void* memory, size_t memory_size,
                                          sotto_matcher** matcher, sotto_error* error);

/* Makes a sequence empty again. */
SOTTO_API sotto_status sotto_matcher_reset(sotto_matcher* matcher, uint32_t sequence);

/* Computes the mask of the tokens that may come next. Bit t%64 of words[t/64] stands for token t;
 * there are (token_count+63)/64 words. End tokens are allowed if the text may end here. On success,
 * at least one token is allowed. Errors: GRAMMAR_DEAD_END (no token of the vocabulary fits),
 * GRAMMAR_TOO_LARGE, BUFFER_TOO_SMALL, INVALID_ARGUMENT. */
SOTTO_API sotto_status sotto_matcher_mask(sotto_matcher* matcher, uint32_t sequence, uint64_t* words,
                                          size_t word_count);

/* Computes the same mask without copying it. `*words` receives a pointer to words that belong to
 * the matcher and are aligned to 8 bytes. Any thread may read them, but not write them, until the
 * next call with this matcher or with a session that uses it. Errors: as above; on failure `*words`
 * is unchanged. */
SOTTO_API sotto_status sotto_matcher_borrow_mask(sotto_matcher* matcher, uint32_t sequence, const uint64_t** words);

/* Appends a token to a sequence. Errors, after which the sequence is unchanged: INVALID_ARGUMENT
 * (the mask does not allow the token), GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_accept_token(sotto_matcher* matcher, uint32_t sequence, sotto_token token);
/* Appends text to a sequence. The text may begin and end inside a token or a character. Errors,
 * after which the sequence is unchanged: INVALID_ARGUMENT (the grammar rejects the text),
 * GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_accept_text(sotto_matcher* matcher, uint32_t sequence, const char* text,
                                                 size_t text_size);

/* Tests whether `text` may follow a sequence, without changing the sequence. `*begins` receives 1
 * if some text of the grammar begins with the sequence and `text`, or else 0. `*matches` receives 1
 * if the two together are a complete text, or else 0. Errors: GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_test(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size,
                                          uint32_t* begins, uint32_t* matches);

/* Rolls back the last `count` tokens or texts that sequence 0 accepted. Errors: INVALID_STATE
 * (`count` exceeds rollback_count, or the number accepted since sequence 0 was last reset,
 * overwritten by a fork, or returned to its start by a session). */
SOTTO_API sotto_status sotto_matcher_rewind(sotto_matcher* matcher, uint64_t count);

/* Makes sequence `to` a copy of sequence `from`, in constant time. */
SOTTO_API sotto_status sotto_matcher_fork(sotto_matcher* matcher, uint32_t from, uint32_t to);

/* Writes the bytes that must come next, up to the point where the text may end or several bytes are
 * possible. `*size` receives the number of bytes written, at most `capacity`. Errors:
 * GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_matcher_forced_text(sotto_matcher* matcher, uint32_t sequence, char* text, size_t capacity,
                                                 size_t* size);

/* Writes the state of a sequence to *info. */
SOTTO_API sotto_status sotto_matcher_get_info(const sotto_matcher* matcher, uint32_t sequence,
                                              sotto_matcher_info* info);

/* Constrains the text that the session generates from now on. The text continues sequence 0 of the
 * matcher. The constraint holds in every mode of sampling and search; searches use the other
 * sequences. The mask applies before all stages of the sampler. The end-of-text token is allowed
 * where the grammar allows the text to end, and generation ends with SOTTO_STOP_GRAMMAR when
 * nothing can follow. Bytes that token healing omits do not count as text.
 *
 * The matcher must stay valid while it is set, and the caller must not use it. NULL removes it. To
 * constrain another text, reset the matcher and set it again.
 *
 * A rewind of the session also rewinds the matcher, by at most rollback_count tokens or to the
 * state in which it was set. Otherwise, sotto_session_rewind returns INVALID_STATE. Saved states do
 * not contain the matcher; therefore sotto_session_reset, sotto_session_restore and a fork into
 * this session return it to the state in which it was set.
 *
 * If sotto_session_next returns GRAMMAR_TOO_LARGE or GRAMMAR_DEAD_END, nothing has changed, and
 * generation can continue without a matcher. Errors: INVALID_ARGUMENT (the vocabulary does not have
 * the model's size, or the matcher has too few sequences for the session's searches), INVALID_STATE
 * (tokens that are buffered for banned strings cannot be rolled back). */
SOTTO_API sotto_status sotto_session_set_matcher(sotto_session* session, sotto_matcher* matcher, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_GRAMMAR_H */
