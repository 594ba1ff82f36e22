// The output of `sotto generate`: scores, sequences and timings in human-readable form, or one JSON object.
#pragma once

#include "platforms/cli/generate/generation.h"
#include "platforms/cli/support/output.h"

namespace sotto::cli {

const char* name_of_stop(Status stop);

// Returns the prompt as it is printed: its text, or its ids with --ids.
std::string shown_prompt(const Generation& generation);

// Prints the tokens of the prompt with their log probabilities.
void print_prompt_scores(const Generation& generation, const LoadedModel& model, OutputWriter& stream);

// Prints the results of a search: a single text after its prompt, or several texts with numbers.
void print_sequences(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
                     OutputWriter& stream);

void print_timings(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
                   const Session& session);

// Returns the object of --json.
Json result_json(const Generation& generation, const GenerateOptions& options, const LoadedModel& model,
                 const Session& session);

// Returns the event of a piece of a stream, for --stream-json.
Json piece_json(const Piece& piece, const GenerateOptions& options, const LoadedModel& model);

}  // namespace sotto::cli
