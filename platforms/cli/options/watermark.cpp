#include "platforms/cli/options/watermark.h"

#include <string>

namespace sotto::cli {

void add_watermark_options(Command& command, WatermarkParams& params) {
  sotto_watermark_params& c_params = params;
  add_parameters(command, kWatermarkParameters, &c_params);
}

void validate_watermark_options(const Command& command, const WatermarkParams& params) {
  const auto require_scheme = [&](bool has_scheme, const char* option, const char* schemes) {
    if (!has_scheme && is_given(command, option)) {
      reject(option, std::string("has no effect without --watermark ") + schemes);
    }
  };
  const bool is_green = params.scheme == SOTTO_WATERMARK_LEFT_HASH || params.scheme == SOTTO_WATERMARK_SELF_HASH;
  const bool is_on = params.scheme != SOTTO_WATERMARK_NONE;
  require_scheme(is_green, "--watermark-gamma", "lefthash or selfhash");
  require_scheme(is_green, "--watermark-delta", "lefthash or selfhash");
  require_scheme(params.scheme == SOTTO_WATERMARK_TOURNAMENT, "--watermark-layers", "tournament");
  require_scheme(is_on, "--watermark-key", "SCHEME");
  require_scheme(is_on, "--watermark-context", "SCHEME");
}

Json watermark_json(const WatermarkParams& params) {
  const sotto_watermark_params& c_params = params;
  return parameters_json(kWatermarkParameters, &c_params);
}

}  // namespace sotto::cli
