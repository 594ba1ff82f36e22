#include "capi/sotto_handles.h"

namespace {

constexpr sotto::WatermarkParams kRuntimeDefaults;
constexpr sotto_watermark_params kDefaults = {
    sizeof(sotto_watermark_params),
    static_cast<sotto_watermark_scheme>(kRuntimeDefaults.scheme),
    kRuntimeDefaults.context_width,
    kRuntimeDefaults.gamma,
    kRuntimeDefaults.delta,
    kRuntimeDefaults.tournament_layers,
    kRuntimeDefaults.key};

}  // namespace

sotto::WatermarkParams sotto::capi::read_watermark(const sotto_watermark_params& params) {
  const sotto_watermark_params given = read(&params, kDefaults);
  WatermarkParams watermark;
  watermark.scheme = static_cast<WatermarkScheme>(given.scheme);
  watermark.context_width = given.context_width;
  watermark.gamma = given.gamma;
  watermark.delta = given.delta;
  watermark.tournament_layers = given.tournament_layers;
  watermark.key = given.key;
  return watermark;
}

void sotto_watermark_params_init(sotto_watermark_params* params, size_t params_size) {
  sotto::capi::init_params(params, params_size, kDefaults);
}
