// The functions of sotto_speculation.h.
#include "capi/generated/params.h"

using sotto::SpeculationParams;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* params,
                                           sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (unwrap(session)->is_in_step()) return out.in_step("session");
  SpeculationParams read;
  if (const sotto_status bad = sotto::capi::read_params(params, "params", &read, &out); bad != SOTTO_OK) return bad;
  if (params == nullptr) read.sources = 0;
  if (!sotto::kHasSpeculation && read.sources != 0) {
    return wrap(fail(out.get(), sotto::Status::kUnsupported,
                     "speculation: this library is built with SOTTO_WITH_SPECULATION=OFF"));
  }
  if (read.draft_session != nullptr && read.draft_session->is_in_step()) return out.in_step("draft_session");
  return wrap(unwrap(session)->set_speculation(read, out.get()));
}

sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info) {
  if (session == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  sotto::capi::fill(info, unwrap(session)->speculation_info());
  return SOTTO_OK;
}
