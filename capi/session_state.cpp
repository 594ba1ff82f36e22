#include "capi/sotto_handles.h"
#include "runtime/session/saved_state.h"

using sotto::SavedState;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size) {
  if (session == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  *size = SavedState::size(*unwrap(session));
  return SOTTO_OK;
}

sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size) {
  if (session == nullptr || bytes == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  const size_t needed = SavedState::size(*unwrap(session));
  if (needed > capacity) return SOTTO_BUFFER_TOO_SMALL;
  SavedState::save(*unwrap(session), static_cast<uint8_t*>(bytes));
  *size = needed;
  return SOTTO_OK;
}

sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size, sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (bytes == nullptr) return out.null_argument("bytes");
  return wrap(SavedState::restore({static_cast<const uint8_t*>(bytes), size}, unwrap(session), out.get()));
}

sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error) {
  ErrorOut out(error);
  if (from == nullptr) return out.null_argument("from");
  if (to == nullptr) return out.null_argument("to");
  return wrap(SavedState::fork(*unwrap(from), unwrap(to), out.get()));
}
