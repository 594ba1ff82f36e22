#include "runtime/search/search_run.h"

#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/base/scalar_math.h"
#include "runtime/text/spelling.h"
#include "runtime/text/text_place.h"
#include "runtime/text/token_history.h"

namespace sotto {

void SearchMemory::layout(Arena& arena, const SearchSizes& given) {
  sizes = given;
  const size_t count = sizes.sequence_count;
  const size_t token_count = count * sizes.sequence_tokens;
  for (int generation = 0; generation < 2; ++generation) {
    tokens[generation] = arena.take<int32_t>(token_count);
    running[generation] = arena.take<RunningSequence>(count);
    phrase_states[generation] = arena.take<PhraseState>(count);
  }
  finished_tokens = arena.take<int32_t>(token_count);
  finished = arena.take<FinishedSequence>(count);
  steps = arena.take<BeamStep>(count);
  best = arena.take<BeamCandidate>(count);
  continuing = arena.take<BeamCandidate>(continuing_capacity(count));
  sampler_states = arena.take<SamplerState>(count);
  order = arena.take<uint32_t>(token_count);
  results = arena.take<SearchSequence>(count);
}

double length_score(const SearchParams& params, double log_probability, uint32_t length) {
  const double n = length;
  const double base = params.length_norm == LengthNorm::kGnmt ? (5 + n) / 6 : n;
  const float alpha = params.length_penalty;
  if (length == 0 || alpha == 0) return log_probability;
  return log_probability / (alpha == 1 ? base : power_of(base, alpha));
}

Status SearchRun::begin(bool needs_last) {
  begin_ns_ = monotonic_ns();
  if (is_cancelled()) return Status::kStopCancelled;
  uint32_t capacity = 0;
  SOTTO_TRY(input.model.begin(*input.cancellation, &capacity));
  // The last token of a sequence takes no slot if it is not evaluated.
  if (!needs_last) ++capacity;
  uint64_t wanted = params.max_tokens;
  const uint64_t max_tokens = input.stops->max_tokens();
  if (max_tokens != 0) wanted = std::min(wanted, max_tokens - input.generated_count);
  limit = static_cast<uint32_t>(std::min<uint64_t>(wanted, capacity));
  limit_stop = capacity < wanted ? Status::kStopContextFull : Status::kStopMaxTokens;
  return Status::kOk;
}

bool SearchRun::is_cancelled() const { return input.cancellation->is_requested(); }

Status SearchRun::interruption() const {
  if (is_cancelled()) return Status::kStopCancelled;
  const uint64_t limit_ns = input.stops->max_time_ns();
  return limit_ns != 0 && monotonic_ns() - begin_ns_ >= limit_ns ? Status::kStopTime : Status::kOk;
}

Status SearchRun::stop_of(int32_t token) const { return input.stops->stop_of(token, input.end_tokens); }

SampleInput SearchRun::sample_input(std::span<const int32_t> tokens, uint32_t sequence) const {
  const auto pieces = input.history.pieces();
  SampleInput sample;
  sample.history = TokenHistory(pieces[0], pieces[1], tokens);
  sample.place = input.token_count + tokens.size();
  sample.sequence = sequence;
  sample.generated_count = input.generated_count + tokens.size();
  sample.token_limit = input.generated_count + limit;
  return sample;
}

Status SearchRun::mask(uint32_t constraint_sequence, const SampleInput& sample, TokenMask* mask) const {
  *mask = TokenMask();
  if (input.constraint.is_set()) SOTTO_TRY(input.constraint.mask(constraint_sequence, mask));
  return input.sampler->constrain(sample, mask) ? Status::kOk : Status::kStopBanned;
}

Status SearchRun::follow(uint32_t from, uint32_t to, std::span<const int32_t> tokens, SequenceText* text) const {
  const TokenConstraint& constraint = input.constraint;
  if (constraint.is_set()) {
    if (from != to) constraint.fork(from, to);
    SOTTO_TRY(constraint.accept_token(to, tokens.back()));
  }
  uint64_t size = 0;
  if (append_text(tokens.back(), text, &size) != 0) return Status::kStopString;
  if (repeats_itself(tokens)) return Status::kStopRepetition;
  return constraint.is_set() && constraint.must_end(to) ? Status::kStopGrammar : Status::kOk;
}

// Appends the text of a token to the text of a sequence, up to the end of the first stop string, and adds the number of
// bytes to `*size`. Returns the size of the stop string, or 0 if there is none.
size_t SearchRun::append_text(int32_t token, SequenceText* text, uint64_t* size) const {
  const StringMatcher& strings = input.stops->stop_strings();
  if (strings.empty()) return 0;
  char characters[Utf8Stream::output_bound(kMaxTokenBytes)];
  const auto bytes = input.tokenizer->bytes_of(static_cast<uint32_t>(token));
  for (const char byte : std::span(characters, text->characters.append(bytes, characters))) {
    ++*size;
    text->stop_state = strings.step(text->stop_state, byte);
    if (const size_t found = strings.matched(text->stop_state); found != 0) return found;
  }
  return 0;
}

// Returns the size of the text of the tokens up to the first stop string.
uint64_t SearchRun::find_shown_size(std::span<const int32_t> tokens) const {
  SequenceText text = input.text;
  uint64_t end = 0;
  for (const int32_t token : tokens) {
    const uint64_t found = append_text(token, &text, &end);
    if (found != 0) return input.stops->includes_stop_text() ? end : end - std::min(end, found);
  }
  return end;
}

uint32_t SearchRun::trim_after_stop(Status stop, int32_t* tokens, uint32_t count) const {
  if (stop != Status::kStopString) return count;
  const auto text_of = [&](uint64_t i) {
    return TokenText{input.tokenizer->bytes_of(static_cast<uint32_t>(tokens[i]))};
  };
  uint64_t length;
  const TextPlace cut =
      find_text_place(0, count, input.text.characters, find_shown_size({tokens, count}), text_of, &length);
  const auto place = static_cast<uint32_t>(cut.token);
  if (cut.byte_count == 0) return place;
  // Other tokens spell the part of the token that belongs to the text.
  const int32_t last = tokens[place];
  const auto rest = text_of(place).bytes.first(cut.byte_count);
  const size_t spelled = spell(*input.tokenizer, rest, {tokens + place, limit - place});
  if (spelled > 0) return place + static_cast<uint32_t>(spelled);
  tokens[place] = last;
  return place + 1;
}

bool SearchRun::repeats_itself(std::span<const int32_t> tokens) const {
  const Stops& stops = *input.stops;
  if (stops.repetition_limit() == 0) return false;
  const TokenHistory history = sample_input(tokens, 0).history.last(stops.repetition_window());
  return repetitiveness(history, stops.repetition_window()) > stops.repetition_limit();
}

}  // namespace sotto
