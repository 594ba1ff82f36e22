// The JSON object that `sotto generate --json` prints.
#pragma once

#include "platforms/cli/generate/generation.h"
#include "platforms/cli/options/generate_options.h"

namespace sotto::cli {

void print_json(const Generation& generation, const GenerateOptions& options, const Model& model,
                const Session& session);

}  // namespace sotto::cli
