#include "runtime/sampling/sampler_context.h"

#include "runtime/model/model.h"

namespace sotto {

SamplerContext make_sampler_context(const Model& model) {
  SamplerContext context;
  context.vocabulary_size = model.config().vocabulary_size;
  context.end_tokens = model.view().end_of_text_tokens();
  context.defaults = &model.view().sampling_defaults();
  if (model.tokenizer() == nullptr) return context;
  context.bytes = {model.tokenizer(), [](const void* tokenizer, int32_t token) {
                     return static_cast<const TokenizerView*>(tokenizer)->bytes_of(static_cast<uint32_t>(token));
                   }};
  return context;
}

}  // namespace sotto
