// A run of `sotto generate`.
#pragma once

#include <functional>

#include "platforms/cli/generate/generation.h"

namespace sotto::cli {

// Continues a prompt without printing. At the end, calls `look` with the result and the session.
Generation generate(GenerateOptions options, TokenList prompt,
                    const std::function<void(Session&, const Generation&)>& look);

}  // namespace sotto::cli
