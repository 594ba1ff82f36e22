#include "runtime/search/beam_candidates.h"

#include <algorithm>
#include <cassert>

namespace sotto {
namespace {

// Returns whether `tokens` followed by `token` ends with the first `count` tokens of the phrase.
bool ends_with(std::span<const int32_t> tokens, int32_t token, const TokenList& phrase, size_t count) {
  if (phrase.tokens[count - 1] != token || tokens.size() < count - 1) return false;
  return std::equal(phrase.tokens, phrase.tokens + (count - 1), tokens.end() - static_cast<ptrdiff_t>(count - 1));
}

// Sorts candidates, best first. If `by_bank` is set, the candidates of fuller banks come first.
[[gnu::noinline]] void sort(std::span<BeamCandidate> candidates, bool by_bank) {
  std::sort(candidates.begin(), candidates.end(), [by_bank](const auto& a, const auto& b) {
    return by_bank && a.bank != b.bank ? a.bank > b.bank : is_better(a, b);
  });
}

}  // namespace

Phrases::Phrases(std::span<const TokenList> phrases, const uint32_t* groups) : phrases_(phrases) {
  assert(phrases.size() <= SearchParams::kMaxPhraseCount);
  for (size_t i = 0; i < phrases.size(); ++i) {
    size_t first = i;
    if (groups != nullptr) {
      first = static_cast<size_t>(std::find(groups, groups + i, groups[i]) - groups);
    }
    const auto count = static_cast<uint32_t>(phrases[i].count);
    if (first == i) {
      shortest_[group_count_] = count;
      group_of_[i] = static_cast<uint8_t>(group_count_++);
    } else {
      group_of_[i] = group_of_[first];
      shortest_[group_of_[i]] = std::min(shortest_[group_of_[i]], count);
    }
  }
  all_ = group_count_ == 32 ? UINT32_MAX : (uint32_t{1} << group_count_) - 1;
}

uint32_t Phrases::bank(const PhraseState& state) const {
  std::array<uint32_t, SearchParams::kMaxPhraseCount> missing = shortest_;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    uint32_t& fewest = missing[group_of_[i]];
    const auto rest = static_cast<uint32_t>(phrases_[i].count) - state.progress[i];
    fewest = is_missing(state, i) ? std::min(fewest, rest) : 0;
  }
  uint32_t bank = 0;
  for (size_t group = 0; group < group_count_; ++group) bank += shortest_[group] - missing[group];
  return bank;
}

PhraseState Phrases::advance(const PhraseState& state, std::span<const int32_t> tokens, int32_t token) const {
  PhraseState next = state;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if (!is_missing(state, i)) continue;
    size_t count = std::min(size_t{state.progress[i]} + 1, phrases_[i].count);
    while (count > 0 && !ends_with(tokens, token, phrases_[i], count)) --count;
    next.progress[i] = static_cast<uint32_t>(count);
    if (count == phrases_[i].count) next.satisfied |= uint32_t{1} << group_of_[i];
  }
  return next;
}

size_t Phrases::next_tokens(const PhraseState& state,
                            std::array<int32_t, SearchParams::kMaxPhraseCount>* tokens) const {
  size_t count = 0;
  for (size_t i = 0; i < phrases_.size(); ++i) {
    if (is_missing(state, i)) (*tokens)[count++] = phrases_[i].tokens[state.progress[i]];
  }
  return count;
}

size_t allocate_banks(std::span<BeamCandidate> candidates, size_t wanted) {
  if (candidates.size() <= wanted) {
    sort(candidates, /*by_bank=*/false);
    return candidates.size();
  }
  sort(candidates, /*by_bank=*/true);
  const auto bank_end = [&](size_t first) {
    size_t end = first;
    while (end < candidates.size() && candidates[end].bank == candidates[first].bank) ++end;
    return end;
  };
  size_t bank_count = 0;
  for (size_t first = 0; first < candidates.size(); first = bank_end(first)) ++bank_count;
  // Each bank contributes the same number of candidates, and the fullest banks one more each for the remainder.
  const size_t share = wanted / bank_count, remainder = wanted % bank_count;
  size_t chosen = 0, bank = 0;
  for (size_t first = 0; first < candidates.size(); ++bank) {
    const size_t end = bank_end(first);
    const size_t taken = std::min(share + (bank < remainder ? 1 : 0), end - first);
    std::rotate(candidates.begin() + static_cast<ptrdiff_t>(chosen), candidates.begin() + static_cast<ptrdiff_t>(first),
                candidates.begin() + static_cast<ptrdiff_t>(first + taken));
    chosen += taken;
    first = end;
  }
  // The fullest of the other banks make up for banks with too few candidates.
  sort(candidates.subspan(chosen), /*by_bank=*/true);
  sort(candidates.first(wanted), /*by_bank=*/false);
  return wanted;
}

}  // namespace sotto
