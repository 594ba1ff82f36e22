#include "capi/generated/params.h"

using sotto::GuideParams;
using sotto::Session;
using sotto::Status;
using sotto::StopParams;
using sotto::TextView;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

static_assert(sizeof(TextView) == sizeof(sotto_text));
static_assert(offsetof(TextView, size) == offsetof(sotto_text, size));

std::span<const TextView> texts(const sotto_text* items, size_t count) {
  return {reinterpret_cast<const TextView*>(items), count};
}

}  // namespace

sotto_status sotto_session_set_stops(sotto_session* session, const sotto_stop_params* params, sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (params == nullptr) return out.null_argument("params");
  if (params->struct_size == 0) return out.bad_struct("params");
  const sotto_stop_params given = sotto::capi::read(params, sotto::capi::kStopDefaults);
  if (given.stop_tokens == nullptr && given.stop_token_count != 0) {
    return out.null_argument("stop_tokens");
  }
  if (given.stop_strings == nullptr && given.stop_string_count != 0) {
    return out.null_argument("stop_strings");
  }
  if (given.banned_strings == nullptr && given.banned_string_count != 0) {
    return out.null_argument("banned_strings");
  }
  StopParams stops;
  stops.include_stop_text = given.include_stop_text != 0;
  stops.max_tokens = given.max_tokens;
  stops.max_time_ns = given.max_time_ns;
  stops.repetition_limit = given.repetition_limit;
  stops.repetition_window = given.repetition_window;
  stops.stop_tokens = {given.stop_tokens, given.stop_token_count};
  stops.stop_strings = texts(given.stop_strings, given.stop_string_count);
  stops.banned_strings = texts(given.banned_strings, given.banned_string_count);
  return wrap(unwrap(session)->set_stops(stops, out.get()));
}

sotto_status sotto_session_heal(sotto_session* session) {
  if (session == nullptr) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(session)->heal());
}

sotto_status sotto_session_set_guide(sotto_session* session, sotto_session* guide, const sotto_guide_params* params,
                                     sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (params != nullptr && params->struct_size == 0) return out.bad_struct("params");
  const sotto_guide_params given = sotto::capi::read(params, sotto::capi::kGuideDefaults);
  const GuideParams read = {static_cast<sotto::GuideMode>(given.mode), given.scale, given.alpha, given.beta};
  return wrap(unwrap(session)->set_guide(unwrap(guide), read, out.get()));
}

sotto_status sotto_session_score(sotto_session* session, const sotto_token* tokens, size_t count,
                                 float* log_probabilities, sotto_score* score) {
  if (session == nullptr || score == nullptr || score->struct_size == 0) {
    return SOTTO_INVALID_ARGUMENT;
  }
  if (tokens == nullptr && count != 0) return SOTTO_INVALID_ARGUMENT;
  sotto::ScoreResult result;
  const Status status = unwrap(session)->score({tokens, count}, log_probabilities, &result);
  if (wrap(status) < 0) return wrap(status);
  sotto_score filled = {};
  filled.token_count = result.token_count;
  filled.log_probability = result.log_probability;
  filled.perplexity = result.perplexity;
  sotto::capi::fill(score, filled);
  return wrap(status);
}

sotto_status sotto_session_hidden(sotto_session* session, const float** hidden, size_t* count) {
  if (session == nullptr || hidden == nullptr || count == nullptr) return SOTTO_INVALID_ARGUMENT;
  std::span<const float> found;
  const Status status = unwrap(session)->hidden(&found);
  if (status != Status::kOk) return wrap(status);
  *hidden = found.data();
  *count = found.size();
  return SOTTO_OK;
}

sotto_status sotto_session_embed(sotto_session* session, const sotto_token* tokens, size_t count, sotto_pooling pooling,
                                 float* embedding) {
  if (session == nullptr || embedding == nullptr) return SOTTO_INVALID_ARGUMENT;
  if (tokens == nullptr && count != 0) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(session)->embed({tokens, count}, static_cast<sotto::Pooling>(pooling), embedding));
}
