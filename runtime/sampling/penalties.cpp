#include "runtime/sampling/penalties.h"

#include <algorithm>

namespace sotto {

void repetition_penalty(Candidates& candidates, const TokenHistory& history, size_t window,
                        float penalty) {
  const size_t newer_count = std::min(window, history.newer.size());
  const size_t older_count = std::min(window - newer_count, history.older.size());
  const auto newer = history.newer.last(newer_count);
  const auto older = history.older.last(older_count);
  const auto penalize = [penalty](float l) { return l > 0 ? l / penalty : l * penalty; };
  candidates.change_once(older, penalize);
  candidates.change_once(newer, penalize);
  candidates.forget(older);
  candidates.forget(newer);
}

}  // namespace sotto
