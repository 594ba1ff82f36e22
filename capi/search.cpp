// The function of sotto_search.h.
#include "capi/generated/params.h"
#include "runtime/base/features.h"

using sotto::SearchSequence;
using sotto::Status;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_session_search(sotto_session* session, const sotto_search_params* c_params,
                                  const sotto_sequence** sequences, size_t* count, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  if (sequences == nullptr) return out.null_argument("sequences");
  if (count == nullptr) return out.null_argument("count");
  sotto::SearchParams params;
  SOTTO_TRY_C(sotto::capi::read_params(c_params, "params", &params, &out));
  if constexpr (!sotto::kHasSearch) return out.not_built("searches", "SOTTO_WITH_SEARCH");
  std::span<const SearchSequence> found;
  const Status status = unwrap(session)->search(params, &found, out.get());
  if (is_failure(status)) return wrap(status);
  *sequences = reinterpret_cast<const sotto_sequence*>(found.data());
  *count = found.size();
  return wrap(status);
}
