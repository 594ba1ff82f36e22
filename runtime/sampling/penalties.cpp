#include "runtime/sampling/penalties.h"

namespace sotto {

void repetition_penalty(Candidates& candidates, const TokenHistory& history, size_t window,
                        float penalty) {
  const TokenHistory newest = history.last(window);
  for (const auto piece : newest.pieces()) {
    candidates.change_once(piece, [penalty](float l) { return l > 0 ? l / penalty : l * penalty; });
  }
  for (const auto piece : newest.pieces()) candidates.forget(piece);
}

}  // namespace sotto
