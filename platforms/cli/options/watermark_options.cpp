// The options of a watermark, for writing it and for finding it.
#include "platforms/cli/options/watermark_options.h"

#include "platforms/cli/options/option_tools.h"

namespace sotto::cli {

void add_watermark_options(CLI::App& command, sotto_watermark_params& params) {
  add_choice(command, "--watermark,--watermark-scheme", params.scheme, "Mark the text, or the mark to look for",
             watermark_names())
      ->group(kWatermarkGroup);
  const auto add = [&](const char* names, auto& value, const char* description, const char* type) {
    return add_value(command, names, value, description, type)->group(kWatermarkGroup);
  };
  add("--watermark-key", params.key, "The secret; finding the mark needs the same", "N");
  add("--watermark-context,--watermark-context-width", params.context_width, "Tokens that are hashed", "N")
      ->default_str("1 or 4 by scheme");
  add("--watermark-gamma", params.gamma, "Green share of the vocabulary", "X");
  add("--watermark-delta", params.delta, "What is added to green logits", "X");
  add("--watermark-layers", params.tournament_layers, "Rounds of the tournament", "N");
}

void settle_watermark_options(const CLI::App& command, const sotto_watermark_params& params) {
  const auto refuse = [&](const char* option, const char* schemes) {
    if (!is_given(command, option)) return;
    throw CLI::ValidationError(option, std::string("has no effect without --watermark ") + schemes);
  };
  const bool is_green = params.scheme == SOTTO_WATERMARK_LEFT_HASH || params.scheme == SOTTO_WATERMARK_SELF_HASH;
  if (!is_green) {
    refuse("--watermark-gamma", "lefthash or selfhash");
    refuse("--watermark-delta", "lefthash or selfhash");
  }
  if (params.scheme != SOTTO_WATERMARK_TOURNAMENT) refuse("--watermark-layers", "tournament");
  if (params.scheme == SOTTO_WATERMARK_NONE) {
    refuse("--watermark-key", "SCHEME");
    refuse("--watermark-context", "SCHEME");
  }
}

}  // namespace sotto::cli
