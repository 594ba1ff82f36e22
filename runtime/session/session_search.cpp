// Searches that continue a session's text.
#include "runtime/search/context_model.h"
#include "runtime/session.h"

namespace sotto {
namespace {

bool is_stop_token(const void* stops, int32_t token) {
  return static_cast<const Stops*>(stops)->is_stop_token(token);
}

}  // namespace

Status Session::search(const SearchParams& params, std::span<const SearchSequence>* sequences,
                       Error* error) {
  if (params_.sequence_count == 0) {
    return fail(error, Status::kInvalidState, "the session was made with sequence_count 0");
  }
  if (token_count() == 0) {
    return fail(error, Status::kInvalidState, "nothing was prefilled");
  }
  if (guide_ != nullptr) {
    return fail(error, Status::kInvalidState, "a search has no guide: end the session's first");
  }
  ContextModel model = {&context_, &cancelled_,
                        (params_.features & kFeatureHiddenHistory) != 0};
  SearchInput input;
  input.model = model.view();
  input.kernels = &model_->kernels();
  input.sampler = &sampler_;
  input.constraint = constraint();
  input.cancelled = &cancelled_;
  input.end_token = model_->config().end_of_text_token;
  input.is_stop_token = is_stop_token;
  input.stop_self = &stops_;
  input.token_count = token_count();
  SOTTO_TRY(search_.check(input, model_->config().vocabulary_size, params, error));
  SOTTO_TRY(settle());
  const SampleInput next = sample_input();
  input.sampler_state = states_[token_count() - 1].sampler;
  input.history = next.history;
  input.token_count = token_count();
  input.generated_count = next.generated_count;
  const Status status =
      search_.run(input, model_->config().vocabulary_size, params, sequences, error);
  if (status == Status::kStopCancelled) take_cancellation();
  return status;
}

}  // namespace sotto
