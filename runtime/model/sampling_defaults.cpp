#include "runtime/model/sampling_defaults.h"

#include "runtime/model/model_generated.h"

namespace sotto {

void SamplingDefaults::apply(SamplerParams* params) const {
  const SamplerParams fallback;
#define REPLACE(type, name, ...) \
  if (params->name == fallback.name) params->name = name;
  SOTTO_RECOMMENDED_PARAMETERS(REPLACE)
#undef REPLACE
}

Status read_sampling_defaults(const format::Model& model, SamplingDefaults* defaults, Error* error) {
  const format::SamplingDefaults* table = model.sampling_defaults();
  if (table == nullptr) return Status::kOk;
#define READ(type, name, ...) defaults->name = table->name().value_or(defaults->name);
  SOTTO_RECOMMENDED_PARAMETERS(READ)
#undef READ
  SamplerParams params;
  defaults->apply(&params);
  Error range;
  if (check_ranges(params, &range) == Status::kOk) return Status::kOk;
  return fail(error, Status::kModelCorrupt, "sampling_defaults: ", static_cast<const char*>(range.message));
}

}  // namespace sotto
