#include "platforms/cli/generate/search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "platforms/cli/generate/beams_view.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Scores the tokens of a continuation by evaluating them after the prompt, and rolls the session back. Returns
// Status::ok, context_full or cancelled.
Status score(Session& session, Continuation& continuation) {
  const TokenList& tokens = continuation.sequence.tokens;
  const SessionInfo info = session.info();
  if (tokens.empty()) return Status::ok;
  // If the ring overflowed, the session could not be rolled back.
  if (info.token_count + tokens.size() > info.context_tokens) return Status::context_full;
  const Status status = call_until_stop("--logprobs", [&] { session.score(tokens, &continuation.log_probabilities); });
  call("--logprobs", [&] { session.rewind(info.token_count); });
  return status;
}

void score_sequences(Session& session, Generation& generation) {
  for (Continuation& continuation : generation.sequences) {
    continuation.log_probabilities.assign(continuation.sequence.tokens.size(), NAN);
    if (generation.stop == Status::cancelled) continue;
    const Status status = score(session, continuation);
    if (status == Status::cancelled) generation.stop = status;
    if (status == Status::context_full) {
      generation.failure = "--logprobs: a sequence and the prompt do not fit a context of " +
                           std::to_string(session.info().context_tokens);
    }
  }
}

// Returns the text before the stop string that ended it, or through it with --include-stop. If several stop strings end
// at the same byte, the longest counts.
std::string cut_at_stop(const std::string& text, const StopParams& stops) {
  size_t end = std::string::npos;
  size_t size = 0;
  for (const std::string& stop : stops.stop_strings) {
    const size_t begin = text.find(stop);
    if (begin == std::string::npos || begin + stop.size() > end) continue;
    size = begin + stop.size() < end ? stop.size() : std::max(size, stop.size());
    end = begin + stop.size();
  }
  if (end == std::string::npos) return text;
  return text.substr(0, stops.include_stop_text != 0 ? end : end - size);
}

// Runs a search and returns its results. If it stopped without any, stores the reason in generation.stop.
std::vector<Sequence> search(const SearchParams& params, Session& session, Generation& generation) {
  try {
    return session.search(params, &generation.stop);
  } catch (const Error& error) {
    if (error.status() < 0) throw session_failure("search", error);
    generation.stop = Status{error.status()};
    return {};
  }
}

}  // namespace

void generate_sequences(const GenerateOptions& options, const LoadedModel& model, Session& session,
                        Clock::time_point start, Generation& generation) {
  const StopParams& stops = options.stops.params;
  SearchParams params = options.search.params;
  Progress progress("searching", uint64_t{params.sequence_count} * params.max_tokens);
  uint64_t step_count = 0;
  BeamsView view(model, params, progress, !options.json);
  params.on_step = [&](uint32_t sequence, Token token) {
    if (view.is_on()) {
      view.add(sequence, token, session.info().step_parent);
    } else {
      progress.show(++step_count);
    }
    return true;
  };
  std::vector<Sequence> found = search(params, session, generation);
  view.erase();
  for (Sequence& sequence : found) {
    std::string text = to_utf8(model.text_of(sequence.tokens));
    if (sequence.stop == Status::stop_string) text = cut_at_stop(text, stops);
    generation.sequences.push_back({std::move(sequence), std::move(text), {}});
  }
  if (!generation.sequences.empty()) {
    const Continuation& best = generation.sequences.front();
    generation.first_token_seconds = seconds_since(start);
    generation.tokens = best.sequence.tokens;
    generation.text = best.text;
    if (generation.stop == Status::ok) generation.stop = best.sequence.stop;
  }
  if (options.log_probabilities) score_sequences(session, generation);
}

}  // namespace sotto::cli
