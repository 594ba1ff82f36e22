// Token healing of a session: see healing.h.
#include <algorithm>
#include <array>

#include "runtime/session/session.h"

namespace sotto {

Status Session::heal() {
  const TokenizerView* tokenizer = model_->tokenizer();
  if (tokenizer == nullptr) return Status::kTokenizerMissing;
  const uint64_t count = token_count();
  if (count == 0 || answer_start_ != count || states_[count - 1].has(TokenState::kGenerated)) {
    return Status::kInvalidState;
  }
  if (healing_.was_begun()) return Status::kOk;
  std::array<int32_t, Healing::kMaxTokens> last;
  size_t known = 0;
  while (known < last.size() && known < count - states_.begin() &&
         !states_[count - 1 - known].has(TokenState::kGenerated)) {
    ++known;
  }
  for (size_t i = 0; i < known; ++i) last[i] = token_at(count - known + i);
  // One token before them must stay, to continue from.
  const auto usable =
      std::span<const int32_t>(last).first(known).last(static_cast<size_t>(std::min<uint64_t>(known, count - 1)));
  size_t taken = Healing::count_unfinished(*tokenizer, usable);
  while (taken > 0 && !can_cut(count - taken)) --taken;
  if (taken == 0) return Status::kOk;
  const auto unfinished = usable.last(taken);
  SOTTO_TRY(rewind(count - taken));
  answer_start_ = token_count();
  // The token before may belong to an earlier answer.
  states_[answer_start_ - 1].flags |= TokenState::kAnswerEnd | TokenState::kTextEnd;
  healing_.begin(*tokenizer, unfinished, token_count());
  return Status::kOk;
}

}  // namespace sotto
