// One text, token by token.
#pragma once

#include "platforms/cli/generate/generation.h"
#include "platforms/cli/support/batcher.h"
#include "platforms/cli/support/output.h"

namespace sotto::cli {

// Prints the pieces of a stream, or collects them for --json.
class Streamer {
 public:
  // All arguments must outlive this object.
  Streamer(const GenerateOptions& options, const LoadedModel& model, Batcher& batcher, Clock::time_point start,
           Generation& generation)
      : options_(options), model_(model), batcher_(batcher), start_(start), generation_(generation) {}

  // Generates text after the evaluated prompt. Throws a Failure.
  void run(Session& session);

 private:
  void receive(const Piece& piece);
  void write_text(const Piece& piece);
  void collect(const Piece& piece);
  void write_event(const Piece& piece);
  void write_scores(const Piece& piece);

  const GenerateOptions& options_;
  const LoadedModel& model_;
  Batcher& batcher_;
  Clock::time_point start_;
  Generation& generation_;
  OutputWriter stream_;
  bool follows_id_ = false;
};

}  // namespace sotto::cli
