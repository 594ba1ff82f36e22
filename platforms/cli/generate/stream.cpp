// Generates one text, token by token.
#include <cstdint>
#include <cstdio>

#include "platforms/cli/generate/report.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Receives the pieces of one run and prints or collects them.
class Streamer {
 public:
  Streamer(const GenerateOptions& options, const LoadedModel& model, Clock::time_point start, Generation& generation)
      : options_(options), model_(model), start_(start), generation_(generation) {}

  void run(Session& session) {
    if (!options_.json && !options_.log_probabilities && !options_.hide_prompt) {
      stream_.write_prompt(generation_.prompt);
    }
    if (!options_.json && options_.scores_prompt) {
      print_prompt_scores(generation_, model_, stream_);
    }
    const size_t limit = options_.token_limit < 0 ? SIZE_MAX : static_cast<size_t>(options_.token_limit);
    try {
      generation_.stop = session.generate(limit, [this](const Piece& piece) { receive(piece); });
    } catch (const Error& error) {
      throw session_failure(model_.path(), error);
    }
    if (!options_.json) stream_.end_line();
  }

 private:
  void receive(const Piece& piece) {
    if (piece.token() >= 0 && generation_.first_token_seconds < 0.0) {
      generation_.first_token_seconds = seconds_since(start_);
    }
    if (options_.json) {
      collect(piece);
    } else if (options_.log_probabilities) {
      write_scores(piece);
    } else {
      stream_.write(piece.text());
    }
  }

  void collect(const Piece& piece) {
    generation_.text += piece.text();
    if (piece.token() < 0) return;
    generation_.tokens.push_back(piece.token());
    if (!options_.log_probabilities) return;
    const auto alternatives = piece.alternatives();
    generation_.scores.push_back(
        {piece.log_probability(), piece.sampled_log_probability(), {alternatives.begin(), alternatives.end()}});
  }

  void write_scores(const Piece& piece) {
    if (piece.token() < 0) return;
    char columns[64];
    std::snprintf(columns, sizeof columns, "%7d %10.5f %10.5f  ", piece.token(),
                  static_cast<double>(piece.log_probability()), static_cast<double>(piece.sampled_log_probability()));
    stream_.write(columns + in_quotes(model_.text_of({piece.token()})) + '\n');
    for (const sotto_alternative& other : piece.alternatives()) {
      stream_.write("    " + score_line(other.token, other.log_probability, model_.text_of({other.token})) + '\n');
    }
  }

  const GenerateOptions& options_;
  const LoadedModel& model_;
  Clock::time_point start_;
  Generation& generation_;
  TextStream stream_;
};

}  // namespace

void generate_stream(const GenerateOptions& options, const LoadedModel& model, Session& session,
                     Clock::time_point start, Generation& generation) {
  Streamer(options, model, start, generation).run(session);
}

}  // namespace sotto::cli
