#include "runtime/session/output/search_text.h"

namespace sotto {

bool SearchText::is_stop_token(const void* self, int32_t token) {
  return static_cast<const SearchText*>(self)->stops_->is_stop_token(token);
}

bool SearchText::completes_stop_string(const void* self, int32_t token, SequenceText* text) {
  const auto& search = *static_cast<const SearchText*>(self);
  const StringMatcher& strings = search.stops_->stop_strings();
  char characters[TextStream::kTokenTextBytes];
  const size_t size = text->characters.append(search.stream_->bytes_of(token), characters);
  for (size_t i = 0; i < size; ++i) {
    text->stop_state = strings.step(text->stop_state, characters[i]);
    if (strings.matched(text->stop_state) != 0) return true;
  }
  return false;
}

SearchStops SearchText::stops_after(const TextMark& mark) const {
  SearchStops stops;
  stops.self = this;
  stops.is_token = is_stop_token;
  stops.token_count = stops_->stop_token_count();
  if (!stops_->stop_strings().empty()) stops.completes_string = completes_stop_string;
  stops.text = {mark.stop, mark.characters};
  stops.max_tokens = stops_->max_tokens();
  stops.max_time_ns = stops_->max_time_ns();
  stops.repetition_limit = stops_->repetition_limit();
  stops.repetition_window = stops_->repetition_window();
  return stops;
}

}  // namespace sotto
