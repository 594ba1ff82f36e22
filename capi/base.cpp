// The functions of sotto_base.h: the version, the features of the build, and names of statuses and instruction sets.
#include <string_view>

#include "capi/sotto_handles.h"
#include "kernels/kernels.h"

namespace sotto {
namespace {

struct Feature {
  std::string_view word;
  bool is_built;
};

constexpr Feature kFeatures[] = {
    {"full-samplers", SOTTO_HAS_ALL_SAMPLERS},
    {"basic-samplers", !SOTTO_HAS_ALL_SAMPLERS},
    {" grammar", SOTTO_HAS_GRAMMAR},
    {" search", SOTTO_HAS_SEARCH},
    {" speculation", SOTTO_HAS_SPECULATION},
    {" watermark", SOTTO_HAS_WATERMARK},
    {" int4", SOTTO_HAS_INT4},
    {" threads", SOTTO_THREADS},
    {" simd", SOTTO_X86_64 || SOTTO_ARM64 || SOTTO_WASM32},
};

struct BuildText {
  char text[96] = {};

  constexpr BuildText() {
    size_t size = 0;
    for (const Feature& feature : kFeatures) {
      if (!feature.is_built) continue;
      for (const char c : feature.word) text[size++] = c;
    }
  }
};

constexpr BuildText kBuildText;

}  // namespace
}  // namespace sotto

uint32_t sotto_version(void) { return SOTTO_VERSION; }

const char* sotto_build_text(void) { return sotto::kBuildText.text; }

const char* sotto_status_text(sotto_status status) { return sotto::status_text(static_cast<sotto::Status>(status)); }

const char* sotto_isa_text(sotto_isa isa) { return sotto::isa_name(static_cast<sotto::Isa>(isa)); }
