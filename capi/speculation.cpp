// The functions of sotto_speculation.h.
#include "capi/generated/params.h"
#include "runtime/base/features.h"

using sotto::SpeculationParams;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* c_params,
                                           sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  SpeculationParams params;
  SOTTO_TRY_C(sotto::capi::read_params(c_params, "params", &params, &out));
  if (c_params == nullptr) params.sources = 0;
  if (!sotto::kHasSpeculation && params.sources != 0) return out.not_built("speculation", "SOTTO_WITH_SPECULATION");
  if (params.draft_session != nullptr) {
    SOTTO_TRY_C(out.check_usable(params.draft_session, "draft_session"));
  }
  return wrap(unwrap(session)->set_speculation(params, out.get()));
}

sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info) {
  if (session == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  sotto::capi::fill(info, unwrap(session)->speculation_info());
  return SOTTO_OK;
}
