#include "runtime/search/beam_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"

namespace sotto {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// The standard Gumbel distribution: the k largest of ln p + noise are a draw of k without
// replacement (Gumbel-top-k: Kool et al. 2019). A number for each token of a beam's draw.
double gumbel(uint64_t seed, uint64_t draw, uint32_t beam, int32_t token) {
  constexpr uint32_t kLanes = uint32_t{1} << 31;  // apart from those of single draws
  const uint64_t bits = random_bits(seed, draw, beam, kLanes | static_cast<uint32_t>(token));
  const double uniform = (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  return -ln(-ln(uniform));
}

}  // namespace

BeamSearch::BeamSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory)
    : run_(input, params, memory),
      phrases_(params.phrases, params.phrase_groups),
      group_count_(params.group_count),
      group_size_(params.sequence_count / params.group_count) {
  assert(group_count_ <= kMaxGroups);
  best_ = BestList(memory->best, group_size_);
  going_ = BestList(memory->going, size_t{2} * group_size_);
  extras_ = memory->going + size_t{2} * group_size_;
}

std::span<const int32_t> BeamSearch::tokens_of(uint32_t beam) {
  return {run_.memory.tokens_of(generation_, beam), depth_};
}

Status BeamSearch::run(uint32_t* count) {
  *count = 0;
  SOTTO_TRY(run_.begin(/*needs_last=*/false));
  for (uint32_t group = 0; group < group_count_; ++group) {
    run_.memory.running[0][first_of(group)] = {.text = run_.input.stops.text};
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
  if (status < Status::kOk) return status;
  if (status != Status::kOk) {
    for (uint32_t g = 0; g < group_count_; ++g) end_running(g, generation_, depth_, status);
  }
  *count = collect();
  if (status == Status::kStopTime) status = Status::kOk;
  return *count == 0 && status == Status::kOk ? failure_ : status;
}

// Chooses every group's next token.
Status BeamSearch::step() {
  SOTTO_TRY(run_.interruption());
  SearchMemory& memory = run_.memory;
  // At first all groups share the row after the text.
  if (depth_ == 0) {
    log_softmax(*run_.input.kernels, run_.input.model.logits(0));
  }
  for (uint32_t g = 0; g < group_count_; ++g) {
    if (groups_[g].done) continue;
    for (uint32_t i = 0; depth_ > 0 && i < groups_[g].running_count; ++i) {
      const uint32_t row = memory.running[generation_][first_of(g) + i].row;
      log_softmax(*run_.input.kernels, run_.input.model.logits(row));
    }
    discourage(g);
    advance_group(g);
  }
  // Only now: groups look at what earlier ones have chosen.
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

// Tells of the tokens that go on; true if the caller wants no more.
bool BeamSearch::report() {
  bool stops = false;
  for (uint32_t g = 0; g < group_count_; ++g) {
    for (uint32_t i = 0; i < groups_[g].running_count; ++i) {
      const uint32_t beam = first_of(g) + i;
      stops |= run_.stops_at_step(beam, tokens_of(beam).back());
    }
  }
  return stops;
}

// Evaluates the newest token of every sequence that goes on.
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
  return run_.input.model.grow({memory.steps, count}, *run_.input.cancelled);
}

// Takes diversity_penalty from a token for each time that an earlier group has just chosen it.
void BeamSearch::discourage(uint32_t group) {
  const float penalty = run_.params.diversity_penalty;
  if (penalty == 0 || group == 0) return;
  SearchMemory& memory = run_.memory;
  const uint32_t first_group = depth_ == 0 ? group - 1 : 0;  // a shared row remembers
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
  going_.clear();
  extra_count_ = 0;
  for (uint32_t i = 0; i < groups_[group].running_count; ++i) scan_beam(first_of(group) + i);
  choose(group);
}

void BeamSearch::scan_beam(uint32_t beam) {
  TokenMask mask;
  const Status status = run_.mask(depth_ == 0 ? 0 : constraint_of(generation_, beam), &mask);
  if (status != Status::kOk) {
    failure_ = status;
    return;
  }
  const uint32_t row = run_.memory.running[generation_][beam].row;
  const auto scores = run_.input.model.logits(row);
  const SampleInput sample = run_.sample_input(tokens_of(beam), beam);
  Sampler& sampler = *run_.input.sampler;
  if (run_.params.mode == SearchMode::kBeamSample) {
    const SamplerState state = sampler.state_after(run_.input.sampler_state, tokens_of(beam));
    scan_drawn(beam, sampler.process(scores, mask, sample, state));
  } else {
    Candidates& candidates = sampler.reweigh(scores, mask, sample);
    scan_likeliest(beam, candidates);
    if (!phrases_.empty()) scan_phrases(beam, candidates);
  }
}

// Of one beam no more than twice the group's size matter, and those that end the text.
void BeamSearch::scan_likeliest(uint32_t beam, Candidates& candidates) {
  const size_t most = size_t{2} * group_size_ + 1 + run_.input.stops.token_count;
  const size_t wanted = std::min(most, candidates.count());
  float floor = candidates.reached_by(wanted);
  if (going_.full() && best_.full()) {
    // Nothing below the lists' ends comes in; a little lower, for what rounding may do.
    const double gap = going_.view().back().key - run_.memory.running[generation_][beam].score;
    floor = std::max(floor, static_cast<float>(gap - 1e-4 * (1 + std::fabs(gap))));
  }
  std::span<uint64_t> keys = candidates.collect_keys(floor);
  if (keys.size() > wanted && phrases_.empty()) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(wanted), keys.end());
    keys = keys.first(wanted);
  }
  for (const uint64_t key : keys) {
    const size_t index = key_index(key);
    offer(beam, candidates.id(index), candidates.logit(index), 0);
  }
}

void BeamSearch::scan_drawn(uint32_t beam, Candidates& candidates) {
  const double max = candidates.max();
  if (max == kLowest) return;
  const double scale = candidates.inverse_temperature();
  const double log_sum = ln(candidates.total());
  const uint64_t draw = run_.input.token_count + depth_;
  for (size_t i = 0; i < candidates.count(); ++i) {
    const double difference = static_cast<double>(candidates.logit(i)) - max;
    const int32_t token = candidates.id(i);
    const double noise = gumbel(run_.input.sampler->params().seed, draw, beam, token);
    offer(beam, token, (difference == difference ? difference : 0) * scale - log_sum, noise);
  }
}

// The beam's likeliest token, and those that bring its phrases further.
void BeamSearch::scan_phrases(uint32_t beam, Candidates& candidates) {
  const RunningSequence& running = run_.memory.running[generation_][beam];
  std::array<int32_t, kMaxPhrases> tokens;
  size_t count = phrases_.next_tokens(run_.memory.phrase_states[generation_][beam], &tokens);
  const auto add = [&](size_t index) {
    if (index == candidates.count()) return;
    const int32_t token = candidates.id(index);
    const double log_probability = candidates.logit(index);
    if (!(log_probability > kLowest) || run_.stop_of(token) != Status::kOk) return;
    const double score = running.score + log_probability;
    const BeamCandidate candidate = {score, score, running.log_probability + log_probability, token, beam, 0};
    const auto same = [&](const BeamCandidate& other) { return other.token == token && other.beam == beam; };
    if (std::none_of(extras_, extras_ + extra_count_, same)) extras_[extra_count_++] = candidate;
  };
  add(candidates.argmax());
  for (size_t i = 0; i < count; ++i) add(candidates.find(tokens[i]));
}

void BeamSearch::offer(uint32_t beam, int32_t token, double log_probability, double noise) {
  if (!(log_probability > kLowest)) return;
  const RunningSequence& running = run_.memory.running[generation_][beam];
  const double score = running.score + log_probability;
  const double key = score + noise;
  if (!best_.takes(key) && !going_.takes(key)) return;
  const BeamCandidate candidate = {key, score, running.log_probability + log_probability, token, beam, 0};
  const bool ends = run_.stop_of(token) != Status::kOk;
  if (!ends) going_.insert(candidate);
  if (ends && !phrases_.all_met(run_.memory.phrase_states[generation_][beam])) return;
  best_.insert(candidate);
}

// With phrases: also the extras, of which some are in the list already.
std::span<BeamCandidate> BeamSearch::candidates_that_go_on() {
  const std::span<BeamCandidate> listed = going_.view();
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

// The group's best candidates end or go on.
void BeamSearch::choose(uint32_t group) {
  const uint32_t old_count = groups_[group].running_count;
  groups_[group].running_count = 0;
  for (const BeamCandidate& candidate : best_.view()) {
    const Status stop = run_.stop_of(candidate.token);
    if (stop != Status::kOk) finish(group, candidate, stop);
  }
  std::span<BeamCandidate> going = candidates_that_go_on();
  if (!phrases_.empty()) {
    going = going.first(allocate_banks(going, at_limit() ? going.size() : group_size_));
  }
  for (const BeamCandidate& candidate : going) {
    if (groups_[group].running_count == group_size_) break;
    go_on(group, candidate);
  }
  const bool stuck = groups_[group].running_count == 0 && groups_[group].finished_count == 0;
  if (stuck && failure_ == Status::kOk && phrases_.empty()) {
    groups_[group].running_count = old_count;
    end_running(group, generation_, depth_, Status::kStopBanned);
  }
}

}  // namespace sotto
