// A context as the searches see it.
#pragma once

#include <atomic>

#include "runtime/search/sequence_model.h"
#include "runtime/transformer/context.h"

namespace sotto {

struct ContextModel {
  Context* context = nullptr;
  const std::atomic<uint32_t>* cancelled = nullptr;
  bool keeps_hidden_states = false;

  // Refers to this object. The context has tokens.
  SequenceModel view();
};

}  // namespace sotto
