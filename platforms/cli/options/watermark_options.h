// The options of a watermark, for writing it and for finding it.
#pragma once

#include <CLI/CLI.hpp>

#include "capi/include/sotto.h"

namespace sotto::cli {

constexpr char kWatermarkGroup[] = "Watermark";

// `params` must live as long as `command`.
void add_watermark_options(CLI::App& command, sotto_watermark_params& params);

// Refuses settings that the scheme has no use for.
void settle_watermark_options(const CLI::App& command, const sotto_watermark_params& params);

}  // namespace sotto::cli
