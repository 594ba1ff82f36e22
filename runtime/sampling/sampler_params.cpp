#include "runtime/sampling/sampler_params.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "runtime/base/range_check.h"
#include "runtime/base/sort.h"
#include "runtime/generated/sampler_lists.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {
namespace {

// Copies lists into `memory`. If that is null, only adds up their sizes.
class Copier {
 public:
  explicit Copier(uint8_t* memory) : memory_(memory) {}

  template <typename T>
  void copy(std::span<const T>* list) {
    T* copies = take<T>(list->size());
    for (size_t i = 0; i < list->size(); ++i) {
      T element = (*list)[i];
      copy_inner(&element);
      if (copies != nullptr) copies[i] = element;
    }
    if (copies != nullptr) *list = {copies, list->size()};
  }

  size_t size() const { return overflowed_ ? SIZE_MAX : size_; }

 private:
  static constexpr size_t kAlignment = 8;

  // Copies the array inside an element.
  template <typename T>
  void copy_inner(T*) {}
  void copy_inner(SequenceBias* bias) { bias->tokens = copy_array(bias->tokens, bias->count); }
  void copy_inner(TokenList* list) { list->tokens = copy_array(list->tokens, list->count); }
  void copy_inner(TextView* text) { text->text = copy_array(text->text, text->size); }

  template <typename T>
  const T* copy_array(const T* elements, size_t count) {
    T* address = take<T>(count);
    if (address == nullptr) return elements;
    std::memcpy(address, elements, count * sizeof(T));
    return address;
  }

  template <typename T>
  T* take(size_t count) {
    static_assert(alignof(T) <= kAlignment);
    if (count > (SIZE_MAX - size_ - kAlignment) / sizeof(T)) {
      overflowed_ = true;
      return nullptr;
    }
    uint8_t* address = memory_ == nullptr || count == 0 ? nullptr : memory_ + size_;
    size_ = align_up(size_ + count * sizeof(T), kAlignment);
    return reinterpret_cast<T*>(address);
  }

  uint8_t* memory_;
  size_t size_ = 0;
  bool overflowed_ = false;
};

// Sorts a list and removes duplicates. The list must be in the sampler's memory.
void sort_unique(std::span<const int32_t>* list) {
  auto* first = const_cast<int32_t*>(list->data());
  sort_numbers(first, first + list->size());
  *list = {first, std::unique(first, first + list->size())};
}

size_t copy_lists(SamplerParams* params, uint8_t* memory) {
  Copier copier(memory);
#define COPY(list) copier.copy(&params->list);
  SOTTO_SAMPLER_LISTS(COPY)
#undef COPY
  if (memory != nullptr) sort_unique(&params->allowed_tokens);
  return copier.size();
}

// Checks the tokens of one sequence. `index` is the number of the sequence in messages.
Status check_sequence(const char* name, uint64_t index, std::span<const int32_t> tokens, const SamplerContext& context,
                      Error* error) {
  if (tokens.empty()) {
    return fail(error, Status::kInvalidArgument, name, "[", index, "] is empty");
  }
  if (tokens.data() == nullptr) {
    return fail(error, Status::kInvalidArgument, name, "[", index, "].tokens is NULL");
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (is_token(tokens[i], context.vocabulary_size)) continue;
    return reject_token(error, tokens[i], context.vocabulary_size, name, "[", index, "].tokens[", i, "]");
  }
  return Status::kOk;
}

Status check_bias(const char* name, uint64_t index, float bias, Error* error) {
  if (bias <= std::numeric_limits<float>::max()) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, "[", index, "].bias is ", bias,
              "; it must be finite or -infinity");
}

// Accepts any stage: check_stages() validates the list. It may contain each stage once.
Status check_element(const char*, uint64_t, StageKind, const SamplerContext&, Error*) { return Status::kOk; }
Status check_element(const char* name, uint64_t index, int32_t token, const SamplerContext& context, Error* error) {
  if (is_token(token, context.vocabulary_size)) return Status::kOk;
  return reject_token(error, token, context.vocabulary_size, name, "[", index, "]");
}
Status check_element(const char* name, uint64_t index, const TokenBias& entry, const SamplerContext& context,
                     Error* error) {
  if (is_token(entry.token, context.vocabulary_size)) return check_bias(name, index, entry.bias, error);
  return reject_token(error, entry.token, context.vocabulary_size, name, "[", index, "].token");
}
Status check_element(const char* name, uint64_t index, const SequenceBias& entry, const SamplerContext& context,
                     Error* error) {
  SOTTO_TRY(check_sequence(name, index, {entry.tokens, entry.count}, context, error));
  return check_bias(name, index, entry.bias, error);
}
Status check_element(const char* name, uint64_t index, const TokenList& list, const SamplerContext& context,
                     Error* error) {
  return check_sequence(name, index, {list.tokens, list.count}, context, error);
}
Status check_element(const char* name, uint64_t index, const TextView& text, const SamplerContext&, Error* error) {
  if (text.size > 0 && text.text != nullptr) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, "[", index, "] is empty");
}

template <typename T>
Status check_list(const char* name, std::span<const T> list, const SamplerContext& context, Error* error) {
  for (size_t i = 0; i < list.size(); ++i) SOTTO_TRY(check_element(name, i, list[i], context, error));
  return Status::kOk;
}

Status check_single_token(const char* name, int32_t token, const SamplerContext& context, Error* error) {
  if (token == kNoTokenId || is_token(token, context.vocabulary_size)) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", token, "; it must be -1 or a token id from 0 to ",
              context.vocabulary_size - 1);
}

Status check_lists(const SamplerParams& params, const SamplerContext& context, Error* error) {
#define CHECK(list) SOTTO_TRY(check_list(#list, params.list, context, error));
  SOTTO_SAMPLER_LISTS(CHECK)
#undef CHECK
  return Status::kOk;
}

// Rejects selections next to tournament and Gumbel watermarks: these replace the selection.
Status check_watermark_selection(const SamplerParams& p, Error* error) {
  if (!replaces_selection(p.watermark.scheme) || (p.selection == Selection::kMultinomial && !has_zero_temperature(p)))
    return Status::kOk;
  return fail(error, Status::kInvalidArgument,
              "selection must be MULTINOMIAL and temperature greater than 0 with a watermark that replaces the "
              "selection");
}

}  // namespace

size_t list_size(const SamplerParams& params) {
  SamplerParams measured = params;
  return copy_lists(&measured, nullptr);
}

void ListMemory::layout(Arena& arena, size_t list_bytes) {
  size_ = list_bytes;
  for (uint8_t*& half : halves_) half = arena.take<uint8_t>(list_bytes);
}

Status ListMemory::copy(SamplerParams* params, Error* error) {
  const size_t needed = list_size(*params);
  if (needed > size_) {
    return fail(error, Status::kInvalidArgument, "list_bytes is ", size_, "; it must be at least ", needed,
                " for the lists of the sampler");
  }
  copy_lists(params, needed > 0 ? halves_[1 - current_] : nullptr);
  return Status::kOk;
}

Status check_sampler(const SamplerParams& params, const SamplerContext& context, Error* error) {
  SOTTO_TRY(check_ranges(params, error));
  SOTTO_TRY(check_range("top_p_min", params.top_p_min, 0, params.top_p, error));
  if (params.selection == Selection::kAdaptiveP && params.adaptive_target == -1) {
    return fail(error, Status::kInvalidArgument, "adaptive_target is not set; ADAPTIVE_P needs it");
  }
  SOTTO_TRY(check_lists(params, context, error));
  SOTTO_TRY(check_single_token("top_p_reset_token", params.top_p_reset_token, context, error));
  SOTTO_TRY(check_single_token("forced_last_token", params.forced_last_token, context, error));
  SOTTO_TRY(check_ranges(params.watermark, error));
  SOTTO_TRY(check_watermark_selection(params, error));
  return check_built(params, error);
}

}  // namespace sotto
