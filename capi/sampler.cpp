#include "capi/sotto_handles.h"

using sotto::SamplerParams;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

constexpr SamplerParams kRuntimeDefaults;
constexpr sotto_sampler_params kDefaults = {sizeof(sotto_sampler_params),
                                            kRuntimeDefaults.temperature,
                                            kRuntimeDefaults.top_k,
                                            kRuntimeDefaults.top_p,
                                            kRuntimeDefaults.min_p,
                                            kRuntimeDefaults.repetition_penalty,
                                            kRuntimeDefaults.repetition_window,
                                            /*log_probabilities=*/0,
                                            kRuntimeDefaults.seed};

}  // namespace

void sotto_sampler_params_init(sotto_sampler_params* params, size_t params_size) {
  sotto::capi::init_params(params, params_size, kDefaults);
}

sotto_status sotto_session_set_sampler(sotto_session* session, const sotto_sampler_params* params,
                                       sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (params == nullptr) return out.null_argument("params");
  if (params->struct_size == 0) return out.bad_struct("params");
  const sotto_sampler_params given = sotto::capi::read(params, kDefaults);
  return wrap(unwrap(session)->set_sampler(
      {given.temperature, given.top_k, given.top_p, given.min_p, given.repetition_penalty,
       given.repetition_window, given.log_probabilities != 0, given.seed},
      out.get()));
}
