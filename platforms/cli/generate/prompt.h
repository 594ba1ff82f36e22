// The prompt of `sotto generate`: its text, its tokens and their evaluation.
#pragma once

#include <string>

#include "platforms/cli/generate/generation.h"

namespace sotto::cli {

// Returns the name of the prompt's source, for use in messages.
std::string prompt_name(const GenerateOptions& options);

// Returns the text of the prompt, from the option, a file or standard input.
std::string read_prompt(const GenerateOptions& options);

// Returns the tokens of the prompt: those of --ids, or those of its text `prompt`.
TokenList prompt_tokens(const GenerateOptions& options, const LoadedModel& model, const std::string& prompt);

// Evaluates the prompt of `generation`, with scores if requested. Returns Status::ok or cancelled.
Status evaluate_prompt(const GenerateOptions& options, Session& session, Generation& generation);

}  // namespace sotto::cli
