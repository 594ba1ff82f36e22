// One text, streamed token by token.
#include <cstdint>
#include <cstdio>
#include <exception>

#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/generate/generate_run.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Receives the pieces of one run.
class Streamer {
 public:
  Streamer(const GenerateOptions& options, const Model& model, Clock::time_point start, Generation& generation)
      : options_(options), model_(model), start_(start), generation_(generation) {}

  void run(sotto_session* session) {
    if (!options_.json && !options_.log_probabilities && !options_.hide_prompt) {
      stream_.write_prompt(generation_.prompt);
    }
    if (!options_.json && options_.scores_prompt) {
      print_prompt_scores(generation_, model_, stream_);
    }
    const size_t limit = options_.token_limit < 0 ? SIZE_MAX : static_cast<size_t>(options_.token_limit);
    generation_.stop = sotto_session_generate(session, nullptr, 0, limit, on_piece, this);
    if (failure_) std::rethrow_exception(failure_);
    check_session(generation_.stop, no_error(), model_.path());
    if (!options_.json) stream_.end_line();
  }

 private:
  // Exceptions must not pass through the library, which is C to its caller.
  static int32_t on_piece(void* user_data, const sotto_piece* piece) {
    auto* streamer = static_cast<Streamer*>(user_data);
    try {
      streamer->receive(*piece);
      return 0;
    } catch (...) {
      streamer->failure_ = std::current_exception();
      return 1;
    }
  }

  void receive(const sotto_piece& piece) {
    if (piece.token >= 0 && generation_.first_token_seconds < 0.0) {
      generation_.first_token_seconds = seconds_since(start_);
    }
    const std::string_view text(piece.text, piece.text_size);
    if (options_.json) {
      collect(piece, text);
    } else if (options_.log_probabilities) {
      write_scores(piece);
    } else {
      stream_.write(text);
    }
  }

  void collect(const sotto_piece& piece, std::string_view text) {
    generation_.text += text;
    if (piece.token < 0) return;
    generation_.tokens.push_back(piece.token);
    if (!options_.log_probabilities) return;
    generation_.scores.push_back({piece.log_probability,
                                  piece.sampled_log_probability,
                                  {piece.alternatives, piece.alternatives + piece.alternative_count}});
  }

  void write_scores(const sotto_piece& piece) {
    if (piece.token < 0) return;
    char columns[64];
    std::snprintf(columns, sizeof columns, "%7d %10.5f %10.5f  ", piece.token,
                  static_cast<double>(piece.log_probability), static_cast<double>(piece.sampled_log_probability));
    stream_.write(columns + in_quotes(model_.text_of({piece.token})) + '\n');
    for (uint32_t i = 0; i < piece.alternative_count; ++i) {
      const sotto_alternative& other = piece.alternatives[i];
      stream_.write("    " + score_line(other.token, other.log_probability, model_.text_of({other.token})) + '\n');
    }
  }

  const GenerateOptions& options_;
  const Model& model_;
  Clock::time_point start_;
  Generation& generation_;
  TextStream stream_;
  std::exception_ptr failure_;
};

}  // namespace

void generate_stream(const GenerateOptions& options, const Model& model, Session& session, Clock::time_point start,
                     Generation& generation) {
  Streamer(options, model, start, generation).run(session.get());
}

}  // namespace sotto::cli
