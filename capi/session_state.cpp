#include "capi/sotto_handles.h"

using sotto::Session;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size) {
  if (session == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  *size = unwrap(session)->saved_size();
  return SOTTO_OK;
}

sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size) {
  if (session == nullptr || bytes == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  const size_t needed = unwrap(session)->saved_size();
  if (needed > capacity) return SOTTO_BUFFER_TOO_SMALL;
  unwrap(session)->save(static_cast<uint8_t*>(bytes));
  *size = needed;
  return SOTTO_OK;
}

sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size, sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (bytes == nullptr) return out.null_argument("bytes");
  return wrap(unwrap(session)->restore({static_cast<const uint8_t*>(bytes), size}, out.get()));
}

sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error) {
  ErrorOut out(error);
  if (from == nullptr) return out.null_argument("from");
  if (to == nullptr) return out.null_argument("to");
  return wrap(Session::fork(*unwrap(from), unwrap(to), out.get()));
}
