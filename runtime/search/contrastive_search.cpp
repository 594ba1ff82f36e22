#include "runtime/search/contrastive_search.h"

#include <algorithm>

#include "runtime/base/scalar_math.h"

namespace sotto {
namespace {

class ContrastiveSearch {
 public:
  ContrastiveSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory)
      : run_(input, params, memory), text_(input.text) {}

  Status run(uint32_t* count);

 private:
  Status step();
  size_t find_likeliest(Candidates& candidates);

  SearchRun run_;
  uint32_t row_ = 0;  // row of the logits after the newest token
  uint32_t depth_ = 0;
  double log_probability_ = 0;
  SequenceText text_;
};

Status ContrastiveSearch::run(uint32_t* count) {
  *count = 0;
  SOTTO_TRY(run_.begin(/*needs_last=*/true));
  Status status = Status::kOk;
  while (status == Status::kOk) {
    status = depth_ == run_.limit ? run_.limit_stop : step();
  }
  if (is_failure(status)) return status;
  const bool ended = status == Status::kStopEndOfText || status == Status::kStopToken;
  const double score = length_score(run_.params, log_probability_, depth_ + (ended ? 1 : 0));
  int32_t* const tokens = run_.memory.tokens_of(0, 0);
  run_.memory.results[0] = {tokens, run_.trim_after_stop(status, tokens, depth_), score, log_probability_, status, 0};
  *count = 1;
  const bool interrupted = status == Status::kStopCancelled || status == Status::kStopCallback;
  return interrupted ? status : Status::kOk;
}

// Adds a token and returns kOk, or returns the stop that prevents it.
Status ContrastiveSearch::step() {
  SOTTO_TRY(run_.interruption());
  SearchMemory& memory = run_.memory;
  int32_t* const tokens = memory.tokens_of(0, 0);
  const SampleInput sample = run_.sample_input({tokens, depth_}, 0);
  TokenMask mask;
  SOTTO_TRY(run_.mask(depth_ == 0 ? 0 : 1, sample, &mask));
  const auto logits = run_.input.model.logits(row_);
  const size_t count = find_likeliest(run_.input.sampler->reweigh(logits, mask, sample));
  if (count == 0) return Status::kStopBanned;
  for (size_t i = 0; i < count; ++i) {
    memory.steps[i] = {depth_ == 0 ? BeamStep::kStream : 0, memory.best[i].token};
  }
  SOTTO_TRY(run_.input.model.grow({memory.steps, count}, *run_.input.cancellation));
  uint32_t chosen = 0;
  for (uint32_t i = 0; i < count; ++i) {
    BeamCandidate& candidate = memory.best[i];
    const double alpha = run_.params.contrastive_alpha;
    const double similarity = run_.input.model.similarity(i);
    candidate.score = (1 - alpha) * candidate.key - alpha * similarity;
    if (candidate.score > memory.best[chosen].score) chosen = i;
  }
  run_.input.model.keep(chosen);
  row_ = chosen;
  const int32_t token = memory.best[chosen].token;
  log_probability_ += memory.best[chosen].log_probability;
  const Status stop = run_.stop_of(token);
  if (stop != Status::kOk) return stop;
  tokens[depth_] = token;
  const Status status = run_.follow(depth_ == 0 ? 0 : 1, 1, {tokens, depth_ + 1}, &text_);
  if (is_failure(status)) return status;
  ++depth_;
  return run_.stops_at_step(0, token, 0) ? Status::kStopCallback : status;
}

// Stores the k most likely candidates in memory.best, in the order of token ids, with p as their key.
size_t ContrastiveSearch::find_likeliest(Candidates& candidates) {
  if (candidates.max() == kMinusInfinity) return 0;
  const size_t wanted = std::min(size_t{run_.params.contrastive_k}, candidates.count());
  Ranking& ranking = candidates.ranking();
  std::span<uint64_t> keys = ranking.keys_from(ranking.lower_bound_of_rank(wanted));
  std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(wanted - 1), keys.end());
  keys = keys.first(wanted);
  std::sort(keys.begin(), keys.end(), [](uint64_t a, uint64_t b) { return key_index(a) < key_index(b); });
  size_t count = 0;
  for (const uint64_t key : keys) {
    const size_t index = key_index(key);
    if (!(candidates.logit(index) > kMinusInfinity)) continue;
    BeamCandidate& candidate = run_.memory.best[count++];
    candidate = {};
    candidate.token = candidates.id(index);
    candidate.log_probability = candidates.log_probability(candidate.token);
    candidate.key = e_to(candidate.log_probability);
  }
  return count;
}

}  // namespace

Status search_contrastively(const SearchInput& input, const SearchParams& params, SearchMemory* memory,
                            uint32_t* count) {
  return ContrastiveSearch(input, params, memory).run(count);
}

}  // namespace sotto
