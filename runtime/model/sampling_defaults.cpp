#include "runtime/model/sampling_defaults.h"

#include "runtime/model/model_generated.h"

namespace sotto {

void SamplingDefaults::apply(SamplerParams* params) const {
  const SamplerParams fallback;
  const auto replace = [&](auto SamplerParams::*parameter, auto value) {
    if (params->*parameter == fallback.*parameter) params->*parameter = value;
  };
  replace(&SamplerParams::temperature, temperature);
  replace(&SamplerParams::top_k, top_k);
  replace(&SamplerParams::top_p, top_p);
  replace(&SamplerParams::min_p, min_p);
  replace(&SamplerParams::typical_p, typical_p);
  replace(&SamplerParams::repetition_penalty, repetition_penalty);
  replace(&SamplerParams::repetition_window, repetition_window);
  replace(&SamplerParams::no_repeat_ngram, no_repeat_ngram);
}

Status read_sampling_defaults(const format::Model& model, SamplingDefaults* defaults, Error* error) {
  const format::SamplingDefaults* table = model.sampling_defaults();
  if (table == nullptr) return Status::kOk;
  const auto read = [](auto given, auto* value) {
    if (given) *value = *given;
  };
  read(table->temperature(), &defaults->temperature);
  read(table->top_k(), &defaults->top_k);
  read(table->top_p(), &defaults->top_p);
  read(table->min_p(), &defaults->min_p);
  read(table->typical_p(), &defaults->typical_p);
  read(table->repetition_penalty(), &defaults->repetition_penalty);
  read(table->repetition_window(), &defaults->repetition_window);
  read(table->no_repeat_ngram(), &defaults->no_repeat_ngram);
  SamplerParams params;
  defaults->apply(&params);
  Error range;
  if (check_ranges(params, &range) == Status::kOk) return Status::kOk;
  return fail(error, Status::kModelCorrupt, "sampling_defaults: ", static_cast<const char*>(range.message));
}

}  // namespace sotto
