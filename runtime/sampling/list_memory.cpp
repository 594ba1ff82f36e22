#include "runtime/sampling/list_memory.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "runtime/base/sort.h"

namespace sotto {

namespace {

// Copies every list into `memory`; with null, only adds up their sizes.
class Copier {
 public:
  explicit Copier(uint8_t* memory) : memory_(memory) {}

  template <typename T>
  void copy(std::span<const T>* list) {
    *list = {copy(list->data(), list->size()), list->size()};
  }
  template <typename T>
  const T* copy(const T* elements, size_t count) {
    T* place = take<T>(count);
    if (place == nullptr) return elements;
    std::memcpy(place, elements, count * sizeof(T));
    return place;
  }
  // Copies a list of lists; copy_inner() copies the list inside each element.
  template <typename T, typename CopyInner>
  void copy_nested(std::span<const T>* list, CopyInner copy_inner) {
    T* outer = take<T>(list->size());
    for (size_t i = 0; i < list->size(); ++i) {
      T element = (*list)[i];
      copy_inner(element);
      if (outer != nullptr) outer[i] = element;
    }
    if (outer != nullptr) *list = {outer, list->size()};
  }

  size_t size() const { return overflowed_ ? SIZE_MAX : size_; }

 private:
  static constexpr size_t kAlignment = 8;

  template <typename T>
  T* take(size_t count) {
    static_assert(alignof(T) <= kAlignment);
    if (count > (SIZE_MAX - size_ - kAlignment) / sizeof(T)) {
      overflowed_ = true;
      return nullptr;
    }
    uint8_t* place = memory_ == nullptr || count == 0 ? nullptr : memory_ + size_;
    size_ = align_up(size_ + count * sizeof(T), kAlignment);
    return reinterpret_cast<T*>(place);
  }

  uint8_t* memory_;
  size_t size_ = 0;
  bool overflowed_ = false;
};

// Requires a list in the sampler's memory.
void sort_unique(std::span<const int32_t>* list) {
  auto* first = const_cast<int32_t*>(list->data());
  sort_numbers(first, first + list->size());
  *list = {first, std::unique(first, first + list->size())};
}

size_t copy_lists(SamplerParams* params, uint8_t* memory) {
  Copier copier(memory);
  copier.copy(&params->stages);
  copier.copy(&params->logit_bias);
  copier.copy(&params->allowed_tokens);
  copier.copy(&params->suppressed_tokens);
  copier.copy(&params->begin_suppressed_tokens);
  copier.copy(&params->forced_prefix);
  copier.copy(&params->dry_breaker_tokens);
  if (memory != nullptr) sort_unique(&params->allowed_tokens);
  copier.copy_nested(&params->sequence_bias,
                     [&](SequenceBias& bias) { bias.tokens = copier.copy(bias.tokens, bias.count); });
  copier.copy_nested(&params->bad_words, [&](TokenList& list) { list.tokens = copier.copy(list.tokens, list.count); });
  copier.copy_nested(&params->dry_breakers, [&](TextView& text) { text.text = copier.copy(text.text, text.size); });
  return copier.size();
}

}  // namespace

size_t list_size(const SamplerParams& params) {
  SamplerParams measured = params;
  return copy_lists(&measured, nullptr);
}

void ListMemory::place(size_t list_bytes, Arena& arena) {
  size_ = list_bytes;
  for (uint8_t*& half : halves_) half = arena.take<uint8_t>(list_bytes);
}

Status ListMemory::copy(SamplerParams* params, Error* error) {
  const size_t needed = list_size(*params);
  if (needed > size_) {
    return fail(error, Status::kInvalidArgument, "list_bytes is ", size_, ", the lists of the sampler need ", needed);
  }
  copy_lists(params, needed > 0 ? halves_[1 - current_] : nullptr);
  return Status::kOk;
}

}  // namespace sotto
