// The functions of sotto_chat.h.
#include "runtime/chat/chat.h"

#include "capi/generated/params.h"

using sotto::Chat;
using sotto::ChatParams;
using sotto::ChatRole;
using sotto::Status;
using sotto::capi::ErrorOut;
using sotto::capi::read_params;
using sotto::capi::to_handle;
using sotto::capi::unwrap;
using sotto::capi::wrap;

const char* sotto_chat_format_text(sotto_chat_format format) {
  return sotto::ChatFormatView::text_of(static_cast<sotto::ChatFormat>(format));
}

sotto_status sotto_chat_memory_size(const sotto_session* session, const sotto_chat_params* c_params,
                                    size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  ChatParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(Chat::memory_size(*unwrap(session), params, memory_size, out.get()));
}

sotto_status sotto_chat_init(sotto_session* session, const sotto_chat_params* c_params, const char* format,
                             size_t format_size, void* memory, size_t memory_size, sotto_chat** c_chat,
                             sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  if (format == nullptr) return out.null_argument("format");
  if (memory == nullptr) return out.null_argument("memory");
  if (c_chat == nullptr) return out.null_argument("chat");
  ChatParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  Chat* chat = nullptr;
  const Status status =
      Chat::init(unwrap(session), params, {format, format_size}, memory, memory_size, &chat, out.get());
  if (status == Status::kOk) *c_chat = to_handle<sotto_chat>(chat);
  return wrap(status);
}

sotto_status sotto_chat_set_stops(sotto_chat* chat, const sotto_stop_params* c_params, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(chat), "chat"));
  sotto::StopParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(unwrap(chat)->set_stops(params, out.get()));
}

sotto_status sotto_chat_add(sotto_chat* chat, sotto_chat_role role, const char* text, size_t size, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(chat), "chat"));
  if (text == nullptr && size != 0) return out.null_argument("text");
  return wrap(unwrap(chat)->add(static_cast<ChatRole>(role), {text, size}, out.get()));
}

sotto_status sotto_chat_reply(sotto_chat* chat, size_t max_tokens, sotto_piece_fn on_piece, void* user_data,
                              sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(chat), "chat"));
  return out.finish(wrap(unwrap(chat)->reply(max_tokens, on_piece, user_data, out.get())));
}

sotto_status sotto_chat_undo(sotto_chat* chat, uint32_t only_reply, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(chat), "chat"));
  if (only_reply > 1) return out.not_bool("only_reply", only_reply);
  return wrap(unwrap(chat)->undo(only_reply != 0, out.get()));
}

void sotto_chat_reset(sotto_chat* chat) {
  if (chat != nullptr) unwrap(chat)->reset();
}

sotto_status sotto_chat_get_info(const sotto_chat* chat, sotto_chat_info* info) {
  if (chat == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  sotto::capi::fill(info, unwrap(chat)->info());
  return SOTTO_OK;
}

sotto_status sotto_chat_save(const sotto_chat* chat, void* bytes, size_t capacity, size_t* size) {
  if (chat == nullptr || size == nullptr || (bytes == nullptr && capacity != 0)) return SOTTO_INVALID_ARGUMENT;
  if (unwrap(chat)->is_in_use()) return SOTTO_INVALID_STATE;
  *size = unwrap(chat)->saved_size();
  if (*size > capacity) return SOTTO_BUFFER_TOO_SMALL;
  unwrap(chat)->save(static_cast<uint8_t*>(bytes));
  return SOTTO_OK;
}

sotto_status sotto_chat_restore(sotto_chat* chat, const void* bytes, size_t size, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(chat), "chat"));
  if (bytes == nullptr) return out.null_argument("bytes");
  return wrap(unwrap(chat)->restore({static_cast<const uint8_t*>(bytes), size}, out.get()));
}
