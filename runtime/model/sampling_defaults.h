// The sampling parameters that a model file recommends.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/generated/recommended.h"

namespace sotto::format {
struct Model;
}  // namespace sotto::format

namespace sotto {

// Parameters that the file does not name have the defaults of SamplerParams.
struct SamplingDefaults {
#define MEMBER(type, name, ...) type name = SamplerParams().name;
  SOTTO_RECOMMENDED_PARAMETERS(MEMBER)
#undef MEMBER

  // Replaces the parameters that have their default value by the recommended ones.
  void apply(SamplerParams* params) const;
};

// Fails with kModelCorrupt if a parameter is out of range.
Status read_sampling_defaults(const format::Model& model, SamplingDefaults* defaults, Error* error);

}  // namespace sotto
