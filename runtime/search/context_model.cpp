#include "runtime/search/context_model.h"

namespace sotto {
namespace {

ContextModel& model_of(void* self) { return *static_cast<ContextModel*>(self); }

Status begin(void* self, uint32_t* room) {
  const ContextModel& model = model_of(self);
  SOTTO_TRY(model.context->ensure_logits(*model.cancelled));
  model.context->begin_branches();
  *room = model.context->branch_room();
  return Status::kOk;
}

Status grow(void* self, std::span<const BranchStep> steps) {
  const ContextModel& model = model_of(self);
  return model.context->grow_branches(steps, *model.cancelled);
}

std::span<float> logits(void* self, uint32_t sequence) { return model_of(self).context->branch_logits(sequence); }

void keep(void* self, uint32_t sequence) { model_of(self).context->keep_branch(sequence); }

float similarity(void* self, uint32_t step) { return model_of(self).context->branch_similarity(step); }

}  // namespace

SequenceModel ContextModel::view() {
  return {this, begin, grow, logits, keep, keeps_hidden_states ? similarity : nullptr};
}

}  // namespace sotto
