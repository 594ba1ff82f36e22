// SOTTO_FEATURE_WATERMARK=OFF: no scheme is taken, so that the other functions have nothing to do.
#include "runtime/sampling/watermark/watermark.h"
#include "runtime/sampling/watermark/watermark_detect.h"

namespace sotto {

static Status refuse(Error* error) {
  return fail(error, Status::kUnsupported, "watermark: this library is built with SOTTO_FEATURE_WATERMARK=OFF");
}

Status check_watermark_built(const WatermarkParams& params, Error* error) {
  return params.scheme == WatermarkScheme::kNone ? Status::kOk : refuse(error);
}

void add_green_bias(Candidates&, const WatermarkParams&, const TokenHistory&) {}
bool replaces_selection(WatermarkScheme) { return false; }
bool watermark_seed(const WatermarkParams&, PastTokens&, uint64_t*) { return false; }
size_t select_tournament(Candidates&, uint64_t, uint32_t, uint64_t) { return 0; }
size_t select_gumbel_watermark(Candidates&, uint64_t) { return 0; }

Status detect_watermark(const WatermarkParams&, std::span<const int32_t>, size_t, WatermarkResult*, Error* error) {
  return refuse(error);
}

}  // namespace sotto
