// A conversation over a session, which stores only the messages. The invariant of a reply: when the model begins it,
// the session's stream is exactly the prompt of these messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/byte_stream.h"
#include "runtime/base/status.h"
#include "runtime/base/use_count.h"
#include "runtime/chat/chat_format.h"
#include "runtime/generated/params.h"
#include "runtime/session/session.h"

namespace sotto {

class Chat {
 public:
  static constexpr size_t kObjectBytes = 1024;

  // Computes the number of bytes of memory that init() needs.
  static Status memory_size(const Session& session, const ChatParams& params, size_t* size, Error* error);
  // Begins a conversation without messages, and replaces the stops of the session. The format is copied.
  static Status init(Session* session, const ChatParams& params, std::span<const char> format, void* memory,
                     size_t memory_size, Chat** out, Error* error);
  // Takes the memory of the messages, the format and the prompt.
  void layout(Arena& arena, const Session& session, const ChatParams& params);

  // Sets the stops of the session, and the string of the format that ends a reply as one more stop string.
  Status set_stops(const StopParams& params, Error* error);
  // Adds a copy of a message. If the capacity is exhausted, the oldest turns are dropped. A system message
  // replaces the previous one; an empty one removes it.
  Status add(ChatRole role, std::span<const char> text, Error* error);
  // Generates a reply and adds it as a message. The oldest turns are dropped until the prompt and reply_tokens fit.
  Status reply(uint64_t max_tokens, PieceFunction on_piece, void* user_data, Error* error);
  // Removes the last turn or, with `only_reply`, only its last message, which must be a reply.
  Status undo(bool only_reply, Error* error);
  // Removes all messages.
  void reset();
  // Returns the current state.
  ChatInfo info() const;

  // Returns the number of bytes that save() writes.
  size_t saved_size() const;
  // Writes the messages in a form that is the same on every platform.
  void save(uint8_t* bytes) const;
  // Replaces the messages by saved ones. `bytes` may come from an untrusted source. After a failure, the conversation
  // is unchanged.
  Status restore(std::span<const uint8_t> bytes, Error* error);

  bool is_in_use() const { return replies_.is_in_use() || session_->is_in_use(); }

 private:
  // A message. Its contents are the next `size` bytes of the history: tokens for the model's replies, text for others.
  struct Message {
    ChatRole role;
    uint32_t size;
  };
  struct Header;

  const TokenizerView& tokenizer() const { return *session_->token_stream().model().tokenizer(); }
  uint32_t context_tokens() const { return session_->token_stream().params().context_tokens; }
  uint32_t system_count() const { return count_ > 0 && messages_[0].role == ChatRole::kSystem ? 1 : 0; }
  Status check_text(ChatRole role, std::span<const char> text, Error* error) const;
  size_t offset_of(uint32_t index) const;
  uint32_t next_turn(uint32_t index) const;
  size_t kept_bytes(uint32_t first) const;
  bool has_space(uint32_t first, uint32_t added, size_t bytes) const;
  bool find_space(uint32_t added, size_t bytes, uint32_t* first) const;
  Status encode_message(ChatRole role, std::span<const char> text, std::span<const uint8_t>* bytes, Error* error);
  Status make_space(ChatRole role, size_t size, Error* error);
  void drop_before(uint32_t first);
  // Returns the first tokens of tokens_ as the bytes of a message.
  std::span<const uint8_t> reply_bytes(size_t token_count) const {
    return {reinterpret_cast<const uint8_t*>(tokens_), token_count * sizeof(int32_t)};
  }
  void insert(uint32_t index, ChatRole role, std::span<const uint8_t> bytes);
  void erase(uint32_t first, uint32_t count);
  Status append_text(std::span<const char> before, std::span<const char> text, std::span<const char> after,
                     size_t* count, Error* error);
  Status build_prompt(uint32_t first, size_t* count, Error* error);
  bool fits(uint32_t first);
  uint32_t find_prompt_start();
  Status evaluate_prompt(std::span<const int32_t> tokens, Error* error);
  Header make_header() const;
  template <typename Bytes>
  static void visit(Message& message, Bytes* bytes);
  void write(ByteWriter* writer) const;
  Status verify(std::span<const uint8_t> messages, uint32_t count, std::span<const uint8_t> contents,
                Error* error) const;

  Session* session_ = nullptr;
  ChatParams params_;
  ChatFormatView format_;
  size_t format_size_ = 0;
  size_t stop_size_ = 0;
  char* format_text_ = nullptr;
  char* stop_ = nullptr;
  Message* messages_ = nullptr;
  uint8_t* history_ = nullptr;
  char* text_ = nullptr;       // one message with the text of the format around it
  int32_t* tokens_ = nullptr;  // (token_capacity_): the prompt
  size_t token_capacity_ = 0;
  uint32_t count_ = 0;
  uint64_t dropped_turns_ = 0;
  uint32_t prompt_tokens_ = 0;
  uint32_t evaluated_tokens_ = 0;
  UseCount replies_;
};

}  // namespace sotto
