// The fixed properties of a sampler: what it knows about the vocabulary, and the limits of its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/sampling_defaults.h"

namespace sotto {

class Model;

// Returns the bytes of a token.
struct TokenBytes {
  const void* self = nullptr;
  std::span<const char> (*of)(const void* self, int32_t token) = nullptr;  // null if there is no tokenizer
};

inline constexpr size_t kDefaultHistoryCapacity = 2048;

struct SamplerContext {
  size_t vocabulary_size = 0;
  std::span<const int32_t> end_tokens;
  const SamplingDefaults* defaults = nullptr;  // null without a model
  size_t list_bytes = 0;
  TokenBytes bytes;
  size_t history_capacity = kDefaultHistoryCapacity;  // number of recent tokens that stages consider
};

// Returns the properties of a sampler for the logits of a model, which must outlive it.
SamplerContext make_sampler_context(const Model& model);

}  // namespace sotto
