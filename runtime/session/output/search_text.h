// The text of the sequences of a search. A search knows only tokens; this class gives it the stops of the session, and
// finds stop strings in the text of each sequence.
#pragma once

#include "runtime/search/search_run.h"
#include "runtime/session/output/stops.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"

namespace sotto {

class SearchText {
 public:
  SearchText(const Stops& stops, const TokenStream& stream) : stops_(&stops), stream_(&stream) {}

  // Returns the stops of sequences that continue a text with the state `mark`. The result refers to this object. Banned
  // strings are not among them, because sequences that share KV slots cannot be rewound.
  SearchStops stops_after(const TextMark& mark) const;

 private:
  static bool is_stop_token(const void* self, int32_t token);
  // Appends the token to the text of a sequence. Returns whether this completes a stop string.
  static bool completes_stop_string(const void* self, int32_t token, SequenceText* text);

  const Stops* stops_;
  const TokenStream* stream_;
};

}  // namespace sotto
