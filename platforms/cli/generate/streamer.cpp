#include "platforms/cli/generate/streamer.h"

#include <cstdio>

#include "platforms/cli/generate/report.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {

void Streamer::run(Session& session) {
  if (!options_.json && !options_.log_probabilities && !options_.hide_prompt) {
    stream_.write_bold(shown_prompt(generation_));
    follows_id_ = !generation_.prompt_tokens.empty();
  }
  if (!options_.json && options_.scores_prompt) {
    print_prompt_scores(generation_, model_, stream_);
  }
  const size_t limit = options_.token_limit < 0 ? SIZE_MAX : static_cast<size_t>(options_.token_limit);
  try {
    const auto on_piece = [this](const Piece& piece) {
      receive(piece);
      return true;
    };
    generation_.stop =
        options_.parallel_count == 1 ? session.generate(limit, on_piece) : batcher_.generate(session, limit, on_piece);
  } catch (const Error& error) {
    throw session_failure(model_.path(), error);
  }
  if (!options_.json) stream_.end_line();
}

void Streamer::receive(const Piece& piece) {
  if (piece.token() >= 0 && generation_.first_token_seconds < 0.0) {
    generation_.first_token_seconds = seconds_since(start_);
  }
  if (options_.json) {
    collect(piece);
  } else if (options_.log_probabilities) {
    write_scores(piece);
  } else {
    write_text(piece);
  }
}

void Streamer::write_text(const Piece& piece) {
  if (!generation_.prints_ids) return stream_.write(piece.text());
  if (piece.token() < 0) return;
  stream_.write((follows_id_ ? " " : "") + std::to_string(piece.token()));
  follows_id_ = true;
}

void Streamer::collect(const Piece& piece) {
  if (options_.streams_json) write_event(piece);
  generation_.text += piece.text();
  if (piece.token() < 0) return;
  generation_.tokens.push_back(piece.token());
  if (options_.statistics) {
    generation_.statistics.push_back(
        {piece.entropy(), piece.effective_vocabulary(), piece.kept_count(), piece.repetitiveness()});
  }
  if (!options_.log_probabilities) return;
  const auto alternatives = piece.alternatives();
  generation_.scores.push_back(
      {piece.log_probability(), piece.sampled_log_probability(), {alternatives.begin(), alternatives.end()}});
}

void Streamer::write_event(const Piece& piece) {
  Json event = piece_json(piece, options_, model_);
  if (!generation_.id.is_null()) event["id"] = generation_.id;
  stream_.write(event.dump() + '\n');
}

void Streamer::write_scores(const Piece& piece) {
  if (piece.token() < 0) return;
  char columns[64];
  std::snprintf(columns, sizeof columns, "%7d %10.5f %10.5f  ", piece.token(),
                static_cast<double>(piece.log_probability()), static_cast<double>(piece.sampled_log_probability()));
  stream_.write(columns + in_quotes(model_.text_of({piece.token()})) + '\n');
  for (const sotto_alternative& other : piece.alternatives()) {
    stream_.write("    " + score_line(other.token, other.log_probability, model_.text_of({other.token})) + '\n');
  }
}

}  // namespace sotto::cli
