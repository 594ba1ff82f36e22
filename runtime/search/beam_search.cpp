#include "runtime/search/beam_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/log_probabilities.h"
#include "runtime/search/beam_candidates.h"

namespace sotto {
namespace {

// Returns the Gumbel noise of one token. The k tokens with the largest ln p + noise are a sample of k tokens without
// replacement (Kool et al. 2019, "Stochastic Beams and Where to Find Them: The Gumbel-Top-k Trick").
double gumbel(uint64_t seed, uint64_t place, uint32_t beam, int32_t token) {
  constexpr uint32_t kBeamLanes = uint32_t{1} << 31;  // separates them from the lanes of single draws
  const uint64_t bits = random_bits(seed, place, beam, kBeamLanes | static_cast<uint32_t>(token));
  const double uniform = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  return -ln(-ln(uniform));
}

class BeamSearch {
 public:
  BeamSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory);

  Status run(uint32_t* count);

 private:
  // Beams that compete with each other.
  struct Group {
    uint32_t running_count = 0;
    uint32_t finished_count = 0;
    bool done = false;
  };

  uint32_t first_of(uint32_t group) const { return group * group_size_; }
  std::span<const int32_t> tokens_of(uint32_t beam);
  // Returns the number of a running sequence in the constraint.
  uint32_t constraint_of(uint32_t generation, uint32_t beam) const {
    return 1 + generation * run_.params.sequence_count + beam;
  }
  bool at_limit() const { return depth_ + 1 == run_.limit; }

  void replace_by_ln_p(uint32_t row);
  Status step();
  bool report();
  Status grow();
  void advance_group(uint32_t group);
  void penalize_repeats(uint32_t group);
  void scan_beam(uint32_t beam);
  void scan_likeliest(uint32_t beam, const Candidates& candidates);
  void scan_drawn(uint32_t beam, const Candidates& candidates);
  void scan_phrases(uint32_t beam, const Candidates& candidates);
  void offer(uint32_t beam, int32_t token, double log_probability, double noise);
  std::span<BeamCandidate> continuing_candidates();
  void choose(uint32_t group);
  void continue_beam(uint32_t group, const BeamCandidate& candidate);
  double diversity_loss(uint32_t group, int32_t token) const;
  void finish(uint32_t group, const BeamCandidate& candidate, Status stop);
  void keep_finished(uint32_t group, std::span<const int32_t> tokens, uint32_t length, double score,
                     double log_probability, Status stop);
  void end_running(uint32_t group, uint32_t generation, uint32_t length, Status stop);
  bool is_done(uint32_t group) const;
  uint32_t collect();

  SearchRun run_;
  Phrases phrases_;
  uint32_t group_count_ = 1;
  uint32_t group_size_ = 0;
  Group groups_[SearchParams::kMaxGroupCount];
  BestList best_;                    // all candidates of a group
  BestList continuing_;              // candidates that do not end their sequence
  BeamCandidate* extras_ = nullptr;  // candidates that are added for phrases
  size_t extra_count_ = 0;
  uint32_t depth_ = 0;            // number of new tokens in each running sequence
  uint32_t generation_ = 0;       // generation of the running sequences
  Status failure_ = Status::kOk;  // why a beam could not continue, or kOk
};

BeamSearch::BeamSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory)
    : run_(input, params, memory),
      phrases_(params.phrases, params.phrase_groups),
      group_count_(params.group_count),
      group_size_(params.sequence_count / params.group_count) {
  assert(group_count_ <= SearchParams::kMaxGroupCount);
  best_ = BestList(memory->best, group_size_);
  continuing_ = BestList(memory->continuing, size_t{2} * group_size_);
  extras_ = memory->continuing + size_t{2} * group_size_;
}

std::span<const int32_t> BeamSearch::tokens_of(uint32_t beam) {
  return {run_.memory.tokens_of(generation_, beam), depth_};
}

Status BeamSearch::run(uint32_t* count) {
  *count = 0;
  SOTTO_TRY(run_.begin(/*needs_last=*/false));
  for (uint32_t group = 0; group < group_count_; ++group) {
    run_.memory.running[0][first_of(group)] = {.text = run_.input.text};
    run_.memory.phrase_states[0][first_of(group)] = {};
    groups_[group] = {.running_count = 1};
  }
  Status status = Status::kOk;
  bool running = true;
  while (running) {
    status = step();
    if (status != Status::kOk) break;
    running = false;
    for (uint32_t g = 0; g < group_count_; ++g) running |= !groups_[g].done;
    if (running) status = grow();
    if (status != Status::kOk) break;
  }
  if (is_failure(status)) return status;
  if (status != Status::kOk) {
    // An interrupted search returns its sequences as they are.
    for (uint32_t g = 0; g < group_count_; ++g) end_running(g, generation_, depth_, status);
  }
  *count = collect();
  // Running out of time is not a failure: each sequence records how it ended.
  if (status == Status::kStopTime) status = Status::kOk;
  return *count == 0 && status == Status::kOk ? failure_ : status;
}

void BeamSearch::replace_by_ln_p(uint32_t row) {
  const std::span<float> logits = run_.input.model.logits(row);
  LogProbabilities(*run_.input.kernels, logits).apply(logits);
}

// Chooses the next tokens of every group.
Status BeamSearch::step() {
  SOTTO_TRY(run_.interruption());
  SearchMemory& memory = run_.memory;
  // In the first step, the sequences of all groups continue the same row, the one after the text.
  if (depth_ == 0) replace_by_ln_p(0);
  for (uint32_t g = 0; g < group_count_; ++g) {
    if (groups_[g].done) continue;
    for (uint32_t i = 0; depth_ > 0 && i < groups_[g].running_count; ++i) {
      replace_by_ln_p(memory.running[generation_][first_of(g) + i].row);
    }
    penalize_repeats(g);
    advance_group(g);
  }
  // Sequences at the limit end after all groups have chosen, because each group considers the choices of the groups
  // before it.
  for (uint32_t g = 0; at_limit() && g < group_count_; ++g) {
    end_running(g, generation_ ^ 1, depth_ + 1, run_.limit_stop);
  }
  ++depth_;
  generation_ ^= 1;
  for (uint32_t g = 0; g < group_count_; ++g) {
    if (groups_[g].done || !is_done(g)) continue;
    groups_[g].done = true;
    groups_[g].running_count = 0;
  }
  return report() ? Status::kStopCallback : Status::kOk;
}

// Reports the new tokens to the caller. Returns whether the caller stops the search.
bool BeamSearch::report() {
  bool stops = false;
  for (uint32_t g = 0; g < group_count_; ++g) {
    for (uint32_t i = 0; i < groups_[g].running_count; ++i) {
      const uint32_t beam = first_of(g) + i;
      stops |= run_.stops_at_step(beam, tokens_of(beam).back(), run_.memory.running[generation_][beam].index);
    }
  }
  return stops;
}

// Evaluates the newest token of every running sequence.
Status BeamSearch::grow() {
  SearchMemory& memory = run_.memory;
  uint32_t count = 0;
  for (uint32_t g = 0; g < group_count_; ++g) {
    for (uint32_t i = 0; i < groups_[g].running_count; ++i) {
      const uint32_t beam = first_of(g) + i;
      RunningSequence& running = memory.running[generation_][beam];
      memory.steps[count] = {depth_ == 1 ? BeamStep::kStream : running.row, tokens_of(beam).back()};
      running.row = count++;
    }
  }
  return run_.input.model.grow({memory.steps, count}, *run_.input.cancellation);
}

// Subtracts diversity_penalty from the logit of a token for each time that an earlier group has chosen it in this step.
void BeamSearch::penalize_repeats(uint32_t group) {
  const float penalty = run_.params.diversity_penalty;
  if (penalty == 0 || group == 0) return;
  SearchMemory& memory = run_.memory;
  // A row that groups share has already been penalized for all earlier groups except the last one.
  const uint32_t first_group = depth_ == 0 ? group - 1 : 0;
  const uint32_t row_count = depth_ == 0 ? 1 : groups_[group].running_count;
  for (uint32_t i = 0; i < row_count; ++i) {
    const uint32_t row = memory.running[generation_][first_of(group) + i].row;
    const auto scores = run_.input.model.logits(row);
    for (uint32_t g = first_group; g < group; ++g) {
      for (uint32_t other = 0; other < groups_[g].running_count; ++other) {
        const int32_t token = memory.tokens_of(generation_ ^ 1, first_of(g) + other)[depth_];
        scores[static_cast<size_t>(token)] -= penalty;
      }
    }
  }
}

void BeamSearch::advance_group(uint32_t group) {
  best_.clear();
  continuing_.clear();
  extra_count_ = 0;
  for (uint32_t i = 0; i < groups_[group].running_count; ++i) scan_beam(first_of(group) + i);
  choose(group);
}

void BeamSearch::scan_beam(uint32_t beam) {
  const SampleInput sample = run_.sample_input(tokens_of(beam), beam);
  TokenMask mask;
  const Status status = run_.mask(depth_ == 0 ? 0 : constraint_of(generation_, beam), sample, &mask);
  if (is_failure(status)) failure_ = status;
  if (status != Status::kOk) return;
  const uint32_t row = run_.memory.running[generation_][beam].row;
  const auto scores = run_.input.model.logits(row);
  Sampler& sampler = *run_.input.sampler;
  if (run_.params.mode == SearchMode::kBeamSample) {
    const SamplerState state = sampler.state_after(run_.input.sampler_state, tokens_of(beam));
    scan_drawn(beam, sampler.apply(scores, mask, sample, state));
  } else {
    const Candidates& candidates = sampler.reweigh(scores, mask, sample);
    scan_likeliest(beam, candidates);
    if (!phrases_.empty()) scan_phrases(beam, candidates);
  }
}

// Offers the most likely tokens of a beam to the lists: at most 2 * group_size tokens that continue the text, and all
// tokens that end it.
void BeamSearch::scan_likeliest(uint32_t beam, const Candidates& candidates) {
  // Even if every token that ends the text ranks first, 2 * group_size others follow it.
  const size_t ends = run_.input.end_tokens.size() + run_.input.stops->stop_token_count();
  const size_t max_needed = size_t{2} * group_size_ + ends;
  const size_t wanted = std::min(max_needed, candidates.count());
  float floor = candidates.ranking().lower_bound_of_rank(wanted);
  if (continuing_.full() && best_.full()) {
    // A candidate that scores lower than the last one of each list cannot enter them. The margin allows for rounding.
    const double gap = continuing_.view().back().key - run_.memory.running[generation_][beam].score;
    floor = std::max(floor, static_cast<float>(gap - 1e-4 * (1 + std::fabs(gap))));
  }
  std::span<uint64_t> keys = candidates.ranking().keys_from(floor);
  if (keys.size() > wanted && phrases_.empty()) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(wanted), keys.end());
    keys = keys.first(wanted);
  }
  for (const uint64_t key : keys) {
    const size_t index = key_index(key);
    offer(beam, candidates.id(index), candidates.logit(index), 0);
  }
}

void BeamSearch::scan_drawn(uint32_t beam, const Candidates& candidates) {
  const double max = candidates.max();
  if (max == double{kMinusInfinity}) return;
  const double scale = candidates.inverse_temperature();
  const double log_sum = ln(candidates.total());
  const uint64_t place = run_.input.token_count + depth_;
  for (size_t i = 0; i < candidates.count(); ++i) {
    const double difference = static_cast<double>(candidates.logit(i)) - max;
    const int32_t token = candidates.id(i);
    const double noise = gumbel(run_.input.sampler->params().seed, place, beam, token);
    offer(beam, token, (difference == difference ? difference : 0) * scale - log_sum, noise);
  }
}

// Adds the most likely token of a beam and the next tokens of its phrases to the extra candidates. Phrases then
// progress even if their tokens are unlikely.
void BeamSearch::scan_phrases(uint32_t beam, const Candidates& candidates) {
  const RunningSequence& running = run_.memory.running[generation_][beam];
  std::array<int32_t, SearchParams::kMaxPhraseCount> tokens;
  size_t count = phrases_.next_tokens(run_.memory.phrase_states[generation_][beam], &tokens);
  const auto add = [&](size_t index) {
    if (index == candidates.count()) return;
    const int32_t token = candidates.id(index);
    const double log_probability = candidates.logit(index);
    if (!(log_probability > double{kMinusInfinity}) || run_.stop_of(token) != Status::kOk) return;
    const double score = running.score + log_probability;
    const BeamCandidate candidate = {score, score, running.log_probability + log_probability, token, beam, 0};
    const auto same = [&](const BeamCandidate& other) { return other.token == token && other.beam == beam; };
    if (std::none_of(extras_, extras_ + extra_count_, same)) extras_[extra_count_++] = candidate;
  };
  add(candidates.ranking().argmax());
  for (size_t i = 0; i < count; ++i) add(candidates.find(tokens[i]));
}

void BeamSearch::offer(uint32_t beam, int32_t token, double log_probability, double noise) {
  if (!(log_probability > double{kMinusInfinity})) return;
  const RunningSequence& running = run_.memory.running[generation_][beam];
  const double score = running.score + log_probability;
  const double key = score + noise;
  if (!best_.takes(key) && !continuing_.takes(key)) return;
  const BeamCandidate candidate = {key, score, running.log_probability + log_probability, token, beam, 0};
  const bool ends = run_.stop_of(token) != Status::kOk;
  if (!ends) continuing_.insert(candidate);
  if (ends && !phrases_.all_satisfied(run_.memory.phrase_states[generation_][beam])) return;
  best_.insert(candidate);
}

// Returns the candidates that do not end their sequence: the list and, with phrases, the extra candidates that are not
// in the list.
std::span<BeamCandidate> BeamSearch::continuing_candidates() {
  const std::span<BeamCandidate> listed = continuing_.view();
  if (phrases_.empty()) return listed;
  const auto is_listed = [&](const BeamCandidate& extra) {
    return std::any_of(listed.begin(), listed.end(), [&](const BeamCandidate& other) {
      return other.token == extra.token && other.beam == extra.beam;
    });
  };
  BeamCandidate* end = std::remove_if(extras_, extras_ + extra_count_, is_listed);
  end = std::move(extras_, end, listed.data() + listed.size());
  for (BeamCandidate* candidate = listed.data(); candidate != end; ++candidate) {
    const PhraseState& state = run_.memory.phrase_states[generation_][candidate->beam];
    candidate->bank = phrases_.bank(phrases_.advance(state, tokens_of(candidate->beam), candidate->token));
  }
  return {listed.data(), end};
}

// Ends or continues the sequences of a group with its best candidates.
void BeamSearch::choose(uint32_t group) {
  const uint32_t old_count = groups_[group].running_count;
  groups_[group].running_count = 0;
  for (const BeamCandidate& candidate : best_.view()) {
    const Status stop = run_.stop_of(candidate.token);
    if (stop != Status::kOk) finish(group, candidate, stop);
  }
  std::span<BeamCandidate> continuing = continuing_candidates();
  if (!phrases_.empty()) {
    continuing = continuing.first(allocate_banks(continuing, at_limit() ? continuing.size() : group_size_));
  }
  for (const BeamCandidate& candidate : continuing) {
    if (groups_[group].running_count == group_size_) break;
    continue_beam(group, candidate);
  }
  // If no token is possible, the sequences end without another token.
  const bool stuck = groups_[group].running_count == 0 && groups_[group].finished_count == 0;
  if (stuck && failure_ == Status::kOk && phrases_.empty()) {
    groups_[group].running_count = old_count;
    end_running(group, generation_, depth_, Status::kStopBanned);
  }
}

// Makes a candidate the next running sequence of the group, if the phrases and the constraint allow it.
void BeamSearch::continue_beam(uint32_t group, const BeamCandidate& candidate) {
  SearchMemory& memory = run_.memory;
  const uint32_t parent = candidate.beam;
  const uint32_t next = generation_ ^ 1;
  const uint32_t beam = first_of(group) + groups_[group].running_count;
  PhraseState state;
  if (!phrases_.empty()) {
    state = phrases_.advance(memory.phrase_states[generation_][parent], tokens_of(parent), candidate.token);
  }
  const bool has_phrases = phrases_.all_satisfied(state);
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
  memory.running[next][beam] = {candidate.score, candidate.log_probability + diversity_loss(group, candidate.token),
                                memory.running[generation_][parent].row, parent, text};
  std::copy_n(parent_tokens, depth_ + 1, memory.tokens_of(next, beam));
  ++groups_[group].running_count;
}

// Returns how much the diversity penalty has subtracted from a token in this step.
double BeamSearch::diversity_loss(uint32_t group, int32_t token) const {
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
  // The memory of a running sequence always has space for one more token.
  int32_t* tokens = run_.memory.tokens_of(generation_, candidate.beam);
  tokens[depth_] = candidate.token;
  const uint32_t count = SearchRun::keeps_token(stop) ? depth_ + 1 : depth_;
  keep_finished(group, {tokens, count}, depth_ + 1, candidate.score,
                candidate.log_probability + diversity_loss(group, candidate.token), stop);
}

// Ends the running sequences of a generation after `length` tokens.
void BeamSearch::end_running(uint32_t group, uint32_t generation, uint32_t length, Status stop) {
  for (uint32_t i = 0; i < groups_[group].running_count; ++i) {
    const uint32_t beam = first_of(group) + i;
    const RunningSequence& running = run_.memory.running[generation][beam];
    keep_finished(group, {run_.memory.tokens_of(generation, beam), length}, length, running.score,
                  running.log_probability, stop);
  }
  groups_[group].running_count = 0;
}

// Stores a finished sequence if it is one of the best in its group. `length` counts the token that ended it, which
// `tokens` may lack.
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
  int32_t* const kept = memory.finished_tokens_of(place);
  std::copy(tokens.begin(), tokens.end(), kept);
  const uint32_t token_count = run_.trim_after_stop(stop, kept, static_cast<uint32_t>(tokens.size()));
  memory.finished[place] = {score, log_probability, token_count, stop};
}

// Returns whether a group is finished: no running sequence can become one of its best. The rules come from
// early_stopping in transformers.
bool BeamSearch::is_done(uint32_t group) const {
  const Group& state = groups_[group];
  if (state.running_count == 0) return true;
  if (state.finished_count < group_size_) return false;
  const SearchParams& params = run_.params;
  if (params.early_stopping == EarlyStopping::kAtOnce) return true;
  // A running sequence scores highest at its present length or, if longer sequences score higher, at the limit.
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

// Collects the results of all groups, best first, and returns their number. Sequences with equal scores keep the order
// of finishing.
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

}  // namespace

Status search_beams(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count) {
  return BeamSearch(input, params, memory).run(count);
}

}  // namespace sotto
