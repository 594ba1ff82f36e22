// How beams go on, end, and are ranked.
#include <algorithm>

#include "runtime/search/beam_search.h"

namespace sotto {

// The candidate becomes the group's next running sequence, if phrases and constraint let it.
void BeamSearch::go_on(uint32_t group, const BeamCandidate& candidate) {
  SearchMemory& memory = run_.memory;
  const uint32_t parent = candidate.beam;
  const uint32_t next = generation_ ^ 1;
  const uint32_t beam = first_of(group) + groups_[group].running_count;
  PhraseState state;
  if (!phrases_.empty()) {
    state = phrases_.advance(memory.phrase_states[generation_][parent], tokens_of(parent), candidate.token);
  }
  const bool has_phrases = phrases_.all_met(state);
  if (at_limit() && !has_phrases) return;
  int32_t* const parent_tokens = memory.tokens_of(generation_, parent);
  parent_tokens[depth_] = candidate.token;
  SequenceText text = memory.running[generation_][parent].text;
  const Status status = run_.follow(depth_ == 0 ? 0 : constraint_of(generation_, parent), constraint_of(next, beam),
                                    {parent_tokens, depth_ + 1}, &text);
  if (status > Status::kOk) {
    if (has_phrases) finish(group, candidate, status);
    return;
  }
  if (status != Status::kOk) {
    failure_ = status;
    return;
  }
  memory.phrase_states[next][beam] = state;
  memory.running[next][beam] = {candidate.score, candidate.log_probability + given_up(group, candidate.token),
                                memory.running[generation_][parent].row, beam, text};
  std::copy_n(parent_tokens, depth_ + 1, memory.tokens_of(next, beam));
  ++groups_[group].running_count;
}

// What a token of this step lost for the sake of diversity.
double BeamSearch::given_up(uint32_t group, int32_t token) const {
  if (run_.params.diversity_penalty == 0) return 0;
  uint32_t count = 0;
  for (uint32_t g = 0; g < group; ++g) {
    for (uint32_t i = 0; i < groups_[g].running_count; ++i) {
      count += run_.memory.tokens_of(generation_ ^ 1, first_of(g) + i)[depth_] == token ? 1 : 0;
    }
  }
  return static_cast<double>(run_.params.diversity_penalty) * count;
}

void BeamSearch::finish(uint32_t group, const BeamCandidate& candidate, Status stop) {
  // There is room for the last token behind the others.
  int32_t* tokens = run_.memory.tokens_of(generation_, candidate.beam);
  tokens[depth_] = candidate.token;
  const uint32_t count = SearchRun::keeps_token(stop) ? depth_ + 1 : depth_;
  keep_finished(group, {tokens, count}, depth_ + 1, candidate.score,
                candidate.log_probability + given_up(group, candidate.token), stop);
}

// The running sequences of a generation end as they are.
void BeamSearch::end_running(uint32_t group, uint32_t generation, uint32_t length, Status stop) {
  for (uint32_t i = 0; i < groups_[group].running_count; ++i) {
    const uint32_t beam = first_of(group) + i;
    const RunningSequence& running = run_.memory.running[generation][beam];
    keep_finished(group, {run_.memory.tokens_of(generation, beam), length}, length, running.score,
                  running.log_probability, stop);
  }
  groups_[group].running_count = 0;
}

// Among a group's best, if it is one of them. `length`: tokens with the one that ended it.
void BeamSearch::keep_finished(uint32_t group, std::span<const int32_t> tokens, uint32_t length, double score,
                               double log_probability, Status stop) {
  SearchMemory& memory = run_.memory;
  score = length_score(run_.params, score, length);
  uint32_t& count = groups_[group].finished_count;
  uint32_t place = first_of(group) + count;
  if (count < group_size_) {
    ++count;
  } else {
    FinishedSequence* const first = memory.finished + first_of(group);
    FinishedSequence* worst = first;
    for (FinishedSequence* f = first; f != first + count; ++f) {
      if (f->score <= worst->score) worst = f;
    }
    if (!(score > worst->score)) return;
    place = static_cast<uint32_t>(worst - memory.finished);
  }
  memory.finished[place] = {score, log_probability, static_cast<uint32_t>(tokens.size()), stop};
  std::copy(tokens.begin(), tokens.end(), memory.finished_tokens_of(place));
}

// Whether no running sequence can, or need, become one of the group's best. The rules are
// those of transformers' early_stopping.
bool BeamSearch::is_done(uint32_t group) const {
  const Group& state = groups_[group];
  if (state.running_count == 0) return true;
  if (state.finished_count < group_size_) return false;
  const SearchParams& params = run_.params;
  if (params.early_stopping == EarlyStopping::kAtOnce) return true;
  const bool longer_is_better = params.early_stopping == EarlyStopping::kNever && params.length_penalty > 0;
  const SearchMemory& memory = run_.memory;
  const RunningSequence* running = memory.running[generation_] + first_of(group);
  double best = running->score;
  for (uint32_t i = 1; i < state.running_count; ++i) best = std::max(best, running[i].score);
  double worst = memory.finished[first_of(group)].score;
  for (uint32_t i = 1; i < state.finished_count; ++i) {
    worst = std::min(worst, memory.finished[first_of(group) + i].score);
  }
  return length_score(params, best, longer_is_better ? run_.limit : depth_) <= worst;
}

// The results of all groups, best first; of equals the one that came first.
uint32_t BeamSearch::collect() {
  SearchMemory& memory = run_.memory;
  uint32_t count = 0;
  for (uint32_t g = 0; g < group_count_; ++g) {
    for (uint32_t i = 0; i < groups_[g].finished_count; ++i) {
      const uint32_t place = first_of(g) + i;
      const FinishedSequence& f = memory.finished[place];
      const SearchSequence result = {
          memory.finished_tokens_of(place), f.token_count, f.score, f.log_probability, f.stop, place};
      SearchSequence* const end = memory.results + count;
      SearchSequence* const at =
          std::upper_bound(memory.results, end, result,
                           [](const SearchSequence& a, const SearchSequence& b) { return a.score > b.score; });
      std::move_backward(at, end, end + 1);
      *at = result;
      ++count;
    }
  }
  return std::min(count, run_.params.return_count);
}

}  // namespace sotto
