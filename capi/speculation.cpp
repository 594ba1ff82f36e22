#include "capi/generated/params.h"

using sotto::SpeculationInfo;
using sotto::SpeculationParams;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {}  // namespace

sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* params,
                                           sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  SpeculationParams read;
  read.sources = 0;
  if (params == nullptr) return wrap(unwrap(session)->set_speculation(read, out.get()));
  if (params->struct_size == 0) return out.bad_struct("params");
  const sotto_speculation_params given = sotto::capi::read(params, sotto::capi::kSpeculationDefaults);
  read.sources = given.sources;
  read.draft_tokens = given.draft_tokens;
  read.min_match = given.min_match;
  read.max_match = given.max_match;
  read.exit_layer = given.exit_layer;
  read.draft_threshold = given.draft_threshold;
  read.draft_session = unwrap(given.draft_session);
  read.draft = given.draft;
  read.user_data = given.user_data;
  if (!sotto::kHasSpeculation && read.sources != 0) {
    return wrap(fail(out.get(), sotto::Status::kUnsupported,
                     "speculation: this library is built with SOTTO_FEATURE_SPECULATION=OFF"));
  }
  return wrap(unwrap(session)->set_speculation(read, out.get()));
}

sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info) {
  if (session == nullptr || info == nullptr || info->struct_size == 0) {
    return SOTTO_INVALID_ARGUMENT;
  }
  const SpeculationInfo known = unwrap(session)->speculation_info();
  sotto_speculation_info filled = {};
  filled.batch_count = known.batch_count;
  filled.proposed_count = known.proposed_count;
  filled.accepted_count = known.accepted_count;
  filled.forced_proposed_count = known.forced_proposed_count;
  filled.forced_accepted_count = known.forced_accepted_count;
  filled.draft_ns = known.draft_ns;
  sotto::capi::fill(info, filled);
  return SOTTO_OK;
}
