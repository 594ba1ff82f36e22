// The two ways in which `sotto generate` makes text: one stream, or a search.
#pragma once

#include <chrono>
#include <string>

#include "platforms/cli/generate/generation.h"
#include "platforms/cli/options/generate_options.h"

namespace sotto::cli {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

// Throws a Failure if a session's `status` is one; those of its grammar tell what helps.
void check_session(sotto_status status, const sotto_error& error, const std::string& subject);

// Continues the session's stream, printing the text as it comes (or collecting it for --json).
// `start` is when the work on the prompt began.
void generate_stream(const GenerateOptions& options, const Model& model, Session& session, Clock::time_point start,
                     Generation& generation);

// Fills generation.sequences.
void generate_sequences(const GenerateOptions& options, const Model& model, Session& session, Clock::time_point start,
                        Generation& generation);

}  // namespace sotto::cli
