// Part of sotto.hpp: conversations over a session.
#ifndef SOTTO_CHAT_HPP
#define SOTTO_CHAT_HPP

#include "session.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

using ChatInfo = sotto_chat_info;

// A conversation: messages with roles and replies. It owns its session. The session's sampler and grammar apply to
// replies.
class Chat {
 public:
  // Begins a conversation with a predefined format or a format of the caller.
  static Result<Chat> create(Session session, sotto_chat_format format, const ChatParams& params = {}) {
    return create(std::move(session), sotto_chat_format_text(format), params);
  }
  static Result<Chat> create(Session session, std::string_view format, const ChatParams& params = {}) {
    Chat chat(std::move(session));
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_chat_memory_size(chat.session_.c_session(), &params, &size, report.out()));
    SOTTO_HPP_TRY_(detail::allocate(size, chat.memory_));
    SOTTO_HPP_TRY_(sotto_chat_init(chat.session_.c_session(), &params, format.data(), format.size(),
                                   chat.memory_.data(), size, &chat.handle_, report.out()));
    return chat;
  }

  // Returns the session of the conversation. Its stops are set by set_stops() of the conversation, which adds the
  // string that ends a reply.
  Session& session() { return session_; }
  const Session& session() const { return session_; }

  // Methods of sotto_chat, written by capi/generate from capi/params.

  // Sets the stops of the session, and adds the string that ends a reply.
  Result<void> set_stops(const StopParams& params) {
    sotto_stop_params c_params = params;
    detail::Arrays arrays;
    params.lists_to_c(c_params, arrays);
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_chat_set_stops(handle_, &c_params, report.out()));
    SOTTO_HPP_DONE_;
  }

  // Adds a message. A system message replaces an earlier one.
  Result<void> add(sotto_chat_role role, std::string_view text) {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_chat_add(handle_, role, text.data(), text.size(), report.out()));
    SOTTO_HPP_DONE_;
  }

  // Removes all messages.
  void reset() { sotto_chat_reset(handle_); }

  // Returns the state of the conversation.
  ChatInfo info() const {
    ChatInfo info{};
    info.struct_size = sizeof info;
    sotto_chat_get_info(handle_, &info);
    return info;
  }

  // Removes the last turn.
  Result<void> undo() {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_chat_undo(handle_, 0, report.out()));
    SOTTO_HPP_DONE_;
  }

  // Removes the last reply. Another one can then be generated.
  Result<void> undo_reply() {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_chat_undo(handle_, 1, report.out()));
    SOTTO_HPP_DONE_;
  }

  // Generates a reply. Calls `on_piece` with each Piece; if it returns a bool, false ends the text. Returns the reason
  // why the text ended. There is no limit if `max_tokens` is std::nullopt.
  template <class Function>
  Result<Status> reply(std::optional<size_t> max_tokens, Function&& on_piece) {
    detail::Report report;
    detail::PieceCall<std::remove_reference_t<Function>> call{&on_piece, &session_.state_->guard};
    const sotto_status status = sotto_chat_reply(handle_, max_tokens.value_or(SIZE_MAX), call.run, &call, report.out());
    session_.state_->guard.rethrow();
    SOTTO_HPP_TRY_(status);
    return Status{status};
  }

  // Returns the messages as bytes, the same on every platform.
  Result<std::vector<uint8_t>> save() const {
    size_t size = 0;
    (void)sotto_chat_save(handle_, nullptr, 0, &size);
    std::vector<uint8_t> bytes(size);
    SOTTO_HPP_TRY_PLAIN_(sotto_chat_save(handle_, bytes.data(), bytes.size(), &size));
    return bytes;
  }

  // Restores saved messages. The state is validated, so it may come from an untrusted source.
  Result<void> restore(Bytes state) {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_chat_restore(handle_, state.data(), state.size(), report.out()));
    SOTTO_HPP_DONE_;
  }

  // End of the generated methods.

  // Generates a reply and returns its text.
  Result<std::string> reply(std::optional<size_t> max_tokens = std::nullopt) {
    std::string text;
    SOTTO_HPP_VALUE_(ended, reply(max_tokens, [&](const Piece& piece) { text += piece.text(); }));
    (void)ended;
    return text;
  }

  sotto_chat* c_chat() { return handle_; }

 private:
  explicit Chat(Session session) : session_(std::move(session)) {}

  Session session_;
  Memory memory_;
  sotto_chat* handle_ = nullptr;
};

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_CHAT_HPP
