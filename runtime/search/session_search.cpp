#include "runtime/search/session_search.h"

#include "runtime/search/context_model.h"

namespace sotto {

void lay_out_search(const SessionParams& params, Search* search, Arena* arena) {
  search->lay_out({params.sequence_count, params.sequence_tokens}, arena);
}

Status run_search(Session* session, Search* search, const SearchParams& params,
                  std::span<const SearchSequence>* sequences, Error* error) {
  *sequences = {};
  const ModelConfig& config = session->model().config();
  ContextModel model;
  model.context = &session->context();
  model.cancelled = &session->cancelled();
  model.keeps_hidden_states = (session->params().features & kFeatureHiddenHistory) != 0;

  SearchInput input;
  input.model = model.view();
  input.kernels = &session->model().kernels();
  input.sampler = &session->sampler();
  input.constraint = session->constraint();
  input.cancelled = model.cancelled;
  input.end_token = config.end_of_text_token;
  input.stop_self = &session->stops();
  input.is_stop_token = [](const void* self, int32_t token) {
    return static_cast<const Stops*>(self)->is_stop_token(token);
  };
  input.token_count = session->token_count();
  // Nothing is evaluated before all is checked.
  SOTTO_TRY(search->check(input, config.vocabulary_size, params, error));
  Status status = session->settle();
  if (status < Status::kOk) return fail(error, status, status_text(status));
  if (status == Status::kOk) {
    const SampleInput next = session->sample_input();
    input.history = next.history;
    input.token_count = next.draw;
    input.generated_count = next.generated_count;
    input.sampler_state = session->sampler_state();
    status = search->run(input, config.vocabulary_size, params, sequences, error);
  }
  if (status == Status::kStopCancelled) session->take_cancellation();
  return status;
}

}  // namespace sotto
