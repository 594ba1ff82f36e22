/* sotto_chat.h - conversations: messages with roles, and replies that a session generates.
 *
 *   sotto_chat_add(chat, SOTTO_ROLE_USER, "Hello.", 6, &error);
 *   sotto_chat_reply(chat, 200, print, stdout, &error);
 *
 * A format turns the messages into a prompt. When the prompt no longer fits the context, the oldest
 * turns are dropped.
 */
/* The enums and structs below are generated from capi/params/chat.toml: edit that file. */
#ifndef SOTTO_CHAT_H
#define SOTTO_CHAT_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A conversation: messages, and a session that generates replies to them. Before each reply, the
 * conversation makes the session's stream equal to the messages, and evaluates only the tokens
 * after the common prefix. One thread at a time may use a conversation and its session. */
typedef struct sotto_chat sotto_chat;

/* Authors of messages. */
typedef int32_t sotto_chat_role;
enum {
  /* The instructions of the application, before all other messages. */
  SOTTO_ROLE_SYSTEM = 0,
  /* The user. A message of the user begins a turn. */
  SOTTO_ROLE_USER = 1,
  /* The model. */
  SOTTO_ROLE_ASSISTANT = 2,
  /* A tool that the model has called. */
  SOTTO_ROLE_TOOL = 3
};

/* Predefined formats. */
typedef int32_t sotto_chat_format;
enum {
  /* Names before the messages: "User: ", "Assistant:". */
  SOTTO_CHAT_PLAIN = 0,
  /* Headings before the messages: "### Instruction:", "### Response:". */
  SOTTO_CHAT_INSTRUCT = 1,
  /* Messages between "<|im_start|>" and "<|im_end|>". */
  SOTTO_CHAT_CHATML = 2,
  /* The headings of INSTRUCT after a sentence about the task (Taori et al. 2023). */
  SOTTO_CHAT_ALPACA = 3
};

/* Parameters of a conversation, which determine how much memory it needs. */
typedef struct sotto_chat_params {
  uint32_t struct_size;
  /* Number of context tokens reserved for a reply. It must be less than context_tokens of the
   * session. Default: 256. Range: 1 to 1048576. */
  uint32_t reply_tokens;
  /* Bytes reserved for the texts of messages. A reply also takes 4 bytes per token. The value must
   * be at least 8 times reply_tokens. Default: 65536. Range: 1024 to 16777216. */
  uint32_t history_bytes;
  /* Maximum number of messages. Default: 512. Range: 4 to 65536. */
  uint32_t message_limit;
} sotto_chat_params;

/* Current state of a conversation. */
typedef struct sotto_chat_info {
  uint32_t struct_size;
  /* Number of messages, including the system message. */
  uint32_t message_count;
  /* Number of user messages. */
  uint32_t turn_count;
  /* Number of tokens before the last reply. */
  uint32_t prompt_tokens;
  /* Number of turns that were dropped because they did not fit the context or the capacity. */
  uint64_t dropped_turn_count;
  /* Number of prompt tokens of the last reply that were appended to the stream. The other prompt
   * tokens were already in the stream; only the last of those was evaluated again. */
  uint32_t evaluated_tokens;
  /* Bytes in use of history_bytes in sotto_chat_params. */
  uint32_t history_bytes;
} sotto_chat_info;

/* Returns the text of a predefined format, or an empty string for other values. The text is static.
 *
 * A format says how messages become a prompt. It consists of parts with "{|}" between them. A part
 * contains one of the placeholders {system}, {user}, {assistant} and {tool}; the text of a message
 * with that role replaces it. A first part without a placeholder is the text at the start. For
 * example:
 *
 *   {system}\n\n{|}User: {user}\n{|}Assistant:{assistant}\n
 *
 * The start and each message, with the text around it, are tokenized one by one, in order, and
 * texts of special tokens in the format become these tokens. A reply follows the text before
 * {assistant}, and its own tokens stay in the stream. A stop string ends the reply: the text after
 * {assistant}, without its trailing white space. If that text is only white space, the stop string
 * is that text and the first line of the text before {user}. */
SOTTO_API const char* sotto_chat_format_text(sotto_chat_format format);

SOTTO_API void sotto_chat_params_init(sotto_chat_params* params, size_t params_size);

/* Returns the number of bytes that sotto_chat_init needs. Errors: INVALID_ARGUMENT naming the
 * parameter. */
SOTTO_API sotto_status sotto_chat_memory_size(const sotto_session* session, const sotto_chat_params* params,
                                              size_t* memory_size, sotto_error* error);

/* Begins a conversation without messages in `memory`. The format has `format_size` bytes and is
 * copied. `session` and `memory` must outlive the conversation, for which there is no _deinit
 * function. The call replaces the stops of the session, as sotto_chat_set_stops does with defaults.
 * Errors: as above, INVALID_ARGUMENT (the format, with the offset of the error), TOKENIZER_MISSING,
 * MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_chat_init(sotto_session* session, const sotto_chat_params* params, const char* format,
                                       size_t format_size, void* memory, size_t memory_size, sotto_chat** chat,
                                       sotto_error* error);

/* Sets the stops of the session as sotto_session_set_stops does, and adds the string that ends a
 * reply. At most 63 stop_strings are allowed. */
SOTTO_API sotto_status sotto_chat_set_stops(sotto_chat* chat, const sotto_stop_params* params, sotto_error* error);

/* Adds a copy of a message of `size` bytes. The system message comes before all others and is never
 * dropped; a new one replaces it, and an empty one removes it. If the capacity is exhausted, the
 * oldest turns are dropped. Errors: INVALID_ARGUMENT (no such role, a role without a part in the
 * format, text that is not UTF-8 or contains a special token, a message larger than the capacity),
 * INVALID_STATE (an answer of the model or a tool before a message of the user). */
SOTTO_API sotto_status sotto_chat_add(sotto_chat* chat, sotto_chat_role role, const char* text, size_t size,
                                      sotto_error* error);

/* Generates a reply with the session's sampler, grammar and stops, as sotto_session_generate does,
 * and adds it as a message. A grammar has to be set again for each reply. The oldest turns are
 * dropped until the prompt and reply_tokens fit the context and the capacity. A reply may be longer
 * than reply_tokens; it ends with SOTTO_STOP_MAX_TOKENS at the end of the context or of the
 * capacity. After SOTTO_STOP_CANCELLED and SOTTO_STOP_CALLBACK, the tokens so far are the reply;
 * there is none if the prompt was not evaluated yet. After SOTTO_STOP_CALLBACK, the end of the
 * reply may not have been emitted, because it could have been the beginning of a stop string.
 * `on_piece` must not use the conversation or change the session. Errors, after which no message
 * has changed: INVALID_STATE (there is nothing to reply to: the last message is a reply of the
 * model, or the user has not sent a message), PROMPT_TOO_LONG (the last turn alone does not fit),
 * and those of sotto_session_generate. */
SOTTO_API sotto_status sotto_chat_reply(sotto_chat* chat, size_t max_tokens, sotto_piece_fn on_piece, void* user_data,
                                        sotto_error* error);

/* Removes the last turn: the last message of the user and all messages after it. With `only_reply`,
 * removes only the last message. This must be a reply; sotto_chat_reply can then generate another
 * one. It is the same unless the seed or a parameter has changed. Errors: INVALID_STATE (there is
 * none). */
SOTTO_API sotto_status sotto_chat_undo(sotto_chat* chat, uint32_t only_reply, sotto_error* error);

/* Removes all messages, including the system message. Does nothing in a callback. */
SOTTO_API void sotto_chat_reset(sotto_chat* chat);

/* Writes the state of the conversation to *info. */
SOTTO_API sotto_status sotto_chat_get_info(const sotto_chat* chat, sotto_chat_info* info);

/* Saves the messages. The bytes are the same on every platform. `*size` receives the number of bytes
 * needed, even with SOTTO_BUFFER_TOO_SMALL; `bytes` may be NULL if capacity is 0. */
SOTTO_API sotto_status sotto_chat_save(const sotto_chat* chat, void* bytes, size_t capacity, size_t* size);

/* Restores saved messages in a conversation with the same model and format. With the same sampler
 * and stops, the next reply has the same bits. `bytes` may come from an untrusted source. Errors,
 * after which the conversation is unchanged: STATE_CORRUPT, INVALID_ARGUMENT (another model or
 * format, or messages that do not fit the capacity). */
SOTTO_API sotto_status sotto_chat_restore(sotto_chat* chat, const void* bytes, size_t size, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_CHAT_H */
