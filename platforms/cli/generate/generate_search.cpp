// Several continuations of one prompt.
#include <algorithm>
#include <cmath>

#include "platforms/cli/generate/generate_run.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/progress.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct Steps {
  Progress progress;
  uint64_t count = 0;
};

int32_t on_step(void* user_data, uint32_t, sotto_token) {
  auto* steps = static_cast<Steps*>(user_data);
  steps->progress.show(++steps->count);
  return 0;
}

std::vector<sotto_token_list> phrase_views(const SearchOptions& options) {
  std::vector<sotto_token_list> views;
  for (const Tokens& phrase : options.phrases) views.push_back({phrase.data(), phrase.size()});
  return views;
}

// How likely the model finds each token: evaluates them behind the prompt and goes back. Returns
// SOTTO_OK, SOTTO_STOP_CONTEXT_FULL or SOTTO_STOP_CANCELLED.
sotto_status score(const Session& session, Continuation& sequence) {
  const Tokens& tokens = sequence.tokens;
  const sotto_session_info info = session.info();
  if (tokens.empty()) return SOTTO_OK;
  // A session that overflowed could not go back.
  if (info.token_count + tokens.size() > info.context_tokens) return SOTTO_STOP_CONTEXT_FULL;
  sotto_score score = {};
  score.struct_size = sizeof score;
  const sotto_status status =
      sotto_session_score(session.get(), tokens.data(), tokens.size(), sequence.log_probabilities.data(), &score);
  check(status, "--logprobs");
  check(sotto_session_rewind(session.get(), info.token_count), "--logprobs");
  return status;
}

void score_sequences(const Session& session, Generation& generation) {
  for (Continuation& sequence : generation.sequences) {
    sequence.log_probabilities.assign(sequence.tokens.size(), NAN);
    if (generation.stop == SOTTO_STOP_CANCELLED) continue;
    const sotto_status status = score(session, sequence);
    if (status == SOTTO_STOP_CANCELLED) generation.stop = status;
    if (status == SOTTO_STOP_CONTEXT_FULL) {
      generation.failure = "--logprobs: a sequence and the prompt do not fit the context together";
    }
  }
}

// The text that a stop string ended: cut before it, or with --include-stop behind it. Of those
// that end first it is the longest.
std::string cut_at_stop(const std::string& text, const StopOptions& stops) {
  size_t end = std::string::npos;
  size_t size = 0;
  for (const std::string& stop : stops.stop_strings) {
    const size_t begin = text.find(stop);
    if (begin == std::string::npos || begin + stop.size() > end) continue;
    size = begin + stop.size() < end ? stop.size() : std::max(size, stop.size());
    end = begin + stop.size();
  }
  if (end == std::string::npos) return text;
  return text.substr(0, stops.params.include_stop_text != 0 ? end : end - size);
}

void collect(const sotto_sequence* sequences, size_t count, const Model& model, const StopOptions& stops,
             Generation& generation) {
  for (size_t i = 0; i < count; ++i) {
    const sotto_sequence& found = sequences[i];
    Continuation sequence;
    sequence.tokens.assign(found.tokens, found.tokens + found.token_count);
    sequence.text = to_utf8(model.text_of(sequence.tokens));
    if (found.stop == SOTTO_STOP_STRING) sequence.text = cut_at_stop(sequence.text, stops);
    sequence.score = found.score;
    sequence.log_probability = found.log_probability;
    sequence.stop = found.stop;
    sequence.index = found.index;
    generation.sequences.push_back(std::move(sequence));
  }
}

}  // namespace

void generate_sequences(const GenerateOptions& options, const Model& model, Session& session, Clock::time_point start,
                        Generation& generation) {
  const std::vector<sotto_token_list> phrases = phrase_views(options.search);
  sotto_search_params params = options.search.params;
  params.phrases = phrases.data();
  params.phrase_count = phrases.size();
  params.phrase_groups = phrases.empty() ? nullptr : options.search.phrase_groups.data();
  Steps steps = {{"searching", uint64_t{params.sequence_count} * params.max_tokens}};
  params.on_step = on_step;
  params.step_user_data = &steps;

  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  sotto_error error = no_error();
  generation.stop = sotto_session_search(session.get(), &params, &sequences, &count, &error);
  check_session(generation.stop, error, "search");
  collect(sequences, count, model, options.stops, generation);
  if (!generation.sequences.empty()) {
    generation.first_token_seconds = seconds_since(start);
    generation.tokens = generation.sequences.front().tokens;
    generation.text = generation.sequences.front().text;
    if (generation.stop == SOTTO_OK) generation.stop = generation.sequences.front().stop;
  }
  if (options.log_probabilities) score_sequences(session, generation);
}

}  // namespace sotto::cli
