#include "runtime/sampling/standalone_sampler.h"

#include <algorithm>
#include <new>

#include "runtime/base/arena.h"

namespace sotto {
namespace {

// Reserved for the object itself, equal on every platform, as memory sizes are part of the API.
constexpr size_t kObjectBytes = 4096;
static_assert(sizeof(StandaloneSampler) <= kObjectBytes);

constexpr uint32_t kMaxListBytes = uint32_t{1} << 24;

}  // namespace

Status StandaloneSampler::memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* size, Error* error) {
  if (vocabulary_size == 0 || vocabulary_size > kMaxVocabularySize) {
    return fail(error, Status::kInvalidArgument, "vocabulary_size is ", vocabulary_size, ", must be 1 to ",
                kMaxVocabularySize);
  }
  if (list_bytes > kMaxListBytes) {
    return fail(error, Status::kInvalidArgument, "list_bytes is ", list_bytes, ", must be 0 to ", kMaxListBytes);
  }
  *size = kObjectBytes + Sampler::memory_size(vocabulary_size, list_bytes);
  return Status::kOk;
}

Status StandaloneSampler::init(const Kernels& kernels, const SamplerShape& shape, void* memory, size_t memory_size,
                               StandaloneSampler** sampler, Error* error) {
  size_t needed;
  SOTTO_TRY(
      StandaloneSampler::memory_size(shape.vocabulary_size, static_cast<uint32_t>(shape.list_bytes), &needed, error));
  if (reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "memory is not aligned to 64 bytes");
  }
  if (memory_size < needed) {
    return fail(error, Status::kMemoryTooSmall, "the sampler needs ", needed, " bytes, got ", memory_size);
  }
  auto* made = new (memory) StandaloneSampler;
  made->vocabulary_size_ = shape.vocabulary_size;
  made->sampler_.init(kernels, shape, static_cast<uint8_t*>(memory) + kObjectBytes);
  made->state_ = made->sampler_.initial_state();
  *sampler = made;
  return Status::kOk;
}

Status StandaloneSampler::set_params(const SamplerParams& params, Error* error) {
  if (params.dola != DolaLayers::kOff) {
    return fail(error, Status::kInvalidArgument, "dola needs a session's layers");
  }
  SOTTO_TRY(sampler_.set_params(params, error));
  state_ = sampler_.initial_state();
  return Status::kOk;
}

int32_t StandaloneSampler::pick(std::span<const float> logits, const TokenMask& mask, const SampleInput& input) {
  return sampler_.sample(logits, mask, input, &state_).token;
}

Candidates& StandaloneSampler::apply(std::span<const float> logits, const TokenMask& mask, const SampleInput& input) {
  return sampler_.process(logits, mask, input, state_);
}

void write_probabilities(Candidates& candidates, float* probabilities) {
  const size_t count = candidates.count();
  if (candidates.max() == Candidates::kLowest) {
    std::fill_n(probabilities, count, 0.0f);
    probabilities[0] = 1;
    return;
  }
  const double whole = candidates.total();
  const float* weights = candidates.weights();
  for (size_t i = 0; i < count; ++i) {
    probabilities[i] = static_cast<float>(static_cast<double>(weights[i]) / whole);
  }
}

}  // namespace sotto
