// Searches that continue a session's text.
#include "runtime/session/session.h"

namespace sotto {

bool Session::is_search_stop(const void* session, int32_t token) {
  return static_cast<const Session*>(session)->stops_.is_stop_token(token);
}

bool Session::completes_stop_string(const void* session, int32_t token, SequenceText* text) {
  const auto& self = *static_cast<const Session*>(session);
  const StringMatcher& strings = self.stops_.stop_strings();
  char characters[TextStream::kTokenTextBytes];
  const size_t size = text->characters.append(self.bytes_of(token), characters);
  for (size_t i = 0; i < size; ++i) {
    text->stop_state = strings.step(text->stop_state, characters[i]);
    if (strings.matched(text->stop_state) != 0) return true;
  }
  return false;
}

// Without banned strings: sequences that share a tree of keys and values cannot go back.
SearchStops Session::search_stops() const {
  SearchStops stops;
  stops.self = this;
  stops.is_token = is_search_stop;
  stops.token_count = stops_.stop_token_count();
  if (!stops_.stop_strings().empty()) stops.completes_string = completes_stop_string;
  stops.text = {text_.mark().stop, text_.mark().characters};
  stops.max_tokens = stops_.max_tokens();
  stops.max_time_ns = stops_.max_time_ns();
  stops.repetition_limit = stops_.repetition_limit();
  stops.repetition_window = stops_.repetition_window();
  return stops;
}

Status Session::search(const SearchParams& params, std::span<const SearchSequence>* sequences, Error* error) {
  if (params_.sequence_count == 0) {
    return fail(error, Status::kInvalidState, "the session was made with sequence_count 0");
  }
  if (token_count() == 0) {
    return fail(error, Status::kInvalidState, "nothing was prefilled");
  }
  if (guide_ != nullptr) {
    return fail(error, Status::kInvalidState, "a search has no guide: end the session's first");
  }
  if (!healing_.is_over()) {
    return fail(error, Status::kInvalidState, "the prompt's last word is still to be healed");
  }
  if (!stops_.banned_strings().empty()) {
    return fail(error, Status::kInvalidArgument, "banned_strings does not go with a search");
  }
  SearchInput input;
  input.model = SequenceModel(&beams_, (params_.features & kFeatureHiddenHistory) != 0);
  input.kernels = &model_->kernels();
  input.sampler = &sampler_;
  input.constraint = constraint();
  input.cancelled = &cancelled_;
  input.end_token = model_->config().end_of_text_token;
  input.stops = search_stops();
  input.token_count = token_count();
  SOTTO_TRY(search_.check(input, model_->config().vocabulary_size, params, error));
  SOTTO_TRY(settle(error));
  const SampleInput next = sample_input();
  input.sampler_state = states_[token_count() - 1].sampler;
  input.history = next.history;
  input.token_count = token_count();
  input.generated_count = next.generated_count;
  input.stops = search_stops();
  const Status status = search_.run(input, model_->config().vocabulary_size, params, sequences, error);
  if (status == Status::kStopCancelled) take_cancellation();
  return status;
}

}  // namespace sotto
