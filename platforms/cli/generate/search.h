// Several continuations of a prompt.
#pragma once

#include "platforms/cli/generate/generation.h"

namespace sotto::cli {

// Searches for continuations of the evaluated prompt and scores them if requested. Throws a Failure.
void generate_sequences(const GenerateOptions& options, const LoadedModel& model, Session& session,
                        Clock::time_point start, Generation& generation);

}  // namespace sotto::cli
