// The sampling parameters that a model file recommends.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto::format {
struct Model;
}  // namespace sotto::format

namespace sotto {

// Parameters that the file does not name have the defaults of SamplerParams.
struct SamplingDefaults {
  float temperature = SamplerParams().temperature;
  uint32_t top_k = SamplerParams().top_k;
  float top_p = SamplerParams().top_p;
  float min_p = SamplerParams().min_p;
  float typical_p = SamplerParams().typical_p;
  float repetition_penalty = SamplerParams().repetition_penalty;
  uint32_t repetition_window = SamplerParams().repetition_window;
  uint32_t no_repeat_ngram = SamplerParams().no_repeat_ngram;

  // Replaces each of these parameters that has its default value.
  void apply(SamplerParams* params) const;
};

// Fails with kModelCorrupt if a parameter is out of range.
Status read_sampling_defaults(const format::Model& model, SamplingDefaults* defaults, Error* error);

}  // namespace sotto
