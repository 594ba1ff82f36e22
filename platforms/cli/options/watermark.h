// The parameters of watermarks as options and as JSON.
#pragma once

#include <sotto.hpp>

#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

// `params` must outlive `command`.
void add_watermark_options(Command& command, WatermarkParams& params);

// Throws a UsageError for an option that the scheme does not use.
void validate_watermark_options(const Command& command, const WatermarkParams& params);

Json watermark_json(const WatermarkParams& params);

}  // namespace sotto::cli
