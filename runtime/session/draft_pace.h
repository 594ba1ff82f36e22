// How far ahead it pays to draft: as far as a draft is likelier to be right than it costs.
// Drafts that fail shorten it until only now and then one is tried again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sotto {

class DraftPace {
 public:
  void restart() {
    rate_ = kFirstRate;
    pause_ = kFirstPause;
    waited_ = 0;
  }

  // Drafts worth their `cost` each, at most `most`.
  size_t length(float cost, size_t most) {
    const size_t worth = count_worth(cost, most);
    is_hopeless_ = kMargin * cost >= 1;
    if (worth > 0 || most == 0) return worth;
    if (++waited_ < pause_) return 0;
    waited_ = 0;
    return 1;
  }

  // Of drafts that were evaluated: `accepted` came, and then another token or none.
  void report(size_t accepted, bool refused) {
    for (size_t i = 0; i < accepted; ++i) rate_ += (1 - rate_) * kGain;
    if (accepted > 0 && !is_hopeless_) {
      pause_ = kFirstPause;
      rate_ = std::max(rate_, kRevivedRate);
    }
    if (refused) rate_ -= rate_ * kLoss;
    if ((refused && accepted == 0) || is_hopeless_) pause_ = std::min(2 * pause_, kLongestPause);
  }

 private:
  static constexpr float kFirstRate = 0.6f;
  static constexpr float kRevivedRate = 0.35f;
  static constexpr float kGain = 0.15f;
  static constexpr float kLoss = 0.2f;
  static constexpr uint32_t kFirstPause = 4;
  static constexpr uint32_t kLongestPause = 64;

  size_t count_worth(float cost, size_t most) const {
    size_t count = 0;
    for (float chance = rate_; count < most && chance > kMargin * cost; chance *= rate_) ++count;
    return count;
  }

  static constexpr float kMargin = 1.5f;

  float rate_ = kFirstRate;  // of drafts, that they come if those before them came
  uint32_t pause_ = kFirstPause;
  uint32_t waited_ = 0;
  bool is_hopeless_ = false;  // costs too much even if every draft comes
};

}  // namespace sotto
