// The parts of Candidates that look for tokens by id and hand their logits out.
#include <algorithm>

#include "runtime/sampling/candidates.h"

namespace sotto {

size_t Candidates::find(int32_t token) const {
  if (token < 0 || static_cast<size_t>(token) >= vocabulary_size_) return count_;
  if (ids_ == nullptr) return static_cast<size_t>(token);
  const int32_t* place = std::lower_bound(ids_, ids_ + count_, token);
  return place != ids_ + count_ && *place == token ? static_cast<size_t>(place - ids_) : count_;
}

std::span<float> Candidates::edit() {
  own_logits();
  changed();
  return {own_logits_, count_};
}

void Candidates::rewrite(LogitsFunction function, void* user_data) {
  const std::span<float> own = edit();
  if (ids_ == nullptr) {
    function(user_data, own.data(), own.size());
    for (float& logit : own) logit = logit == logit ? logit : kLowest;
    return;
  }
  static_assert(sizeof(*keys_) >= sizeof(float));
  auto* whole = reinterpret_cast<float*>(keys_);
  std::fill_n(whole, vocabulary_size_, kLowest);
  for (size_t i = 0; i < count_; ++i) whole[ids_[i]] = own[i];
  function(user_data, whole, vocabulary_size_);
  for (size_t i = 0; i < count_; ++i) {
    const float logit = whole[ids_[i]];
    own[i] = logit == logit ? logit : kLowest;
  }
}

bool Candidates::keep_tokens(std::span<const int32_t> tokens) {
  size_t kept = 0;
  size_t next = 0;  // nothing before it is looked at again: what is kept goes there
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<size_t>(token) >= vocabulary_size_) continue;
    size_t index = static_cast<size_t>(token);
    if (ids_ != nullptr) {
      const int32_t* place = std::lower_bound(ids_ + next, ids_ + count_, token);
      index = static_cast<size_t>(place - ids_);
      if (index == count_ || *place != token) continue;
    }
    assert(kept <= index);
    own_ids_[kept] = token;
    own_logits_[kept++] = logits_[index];
    next = index + 1;
  }
  if (kept > 0) kept_in_own(kept);
  return kept > 0;
}

}  // namespace sotto
