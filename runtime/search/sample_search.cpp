#include "runtime/search/sample_search.h"

#include <algorithm>

#include "runtime/search/similarity.h"

namespace sotto {
namespace {

class SampleSearch {
 public:
  SampleSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory)
      : run_(input, params, memory) {}

  Status run(uint32_t* count);

 private:
  Status draw(RunningSequence* running);
  Status step();
  void end(const RunningSequence& running, uint32_t count, uint32_t length, Status stop);
  Status rank();

  SearchRun run_;
  uint32_t running_count_ = 0;
  uint32_t depth_ = 0;
};

Status SampleSearch::run(uint32_t* count) {
  *count = 0;
  SOTTO_TRY(run_.begin(/*needs_last=*/false));
  SearchMemory& memory = run_.memory;
  const TokenConstraint* constraint = run_.input.constraint;
  running_count_ = run_.params.sequence_count;
  for (uint32_t i = 0; i < running_count_; ++i) {
    memory.running[0][i] = {.index = i, .text = run_.input.stops.text};
    memory.sampler_states[i] = run_.input.sampler_state;
    if (constraint != nullptr) constraint->fork(constraint->self, 0, 1 + i);
  }
  Status status = Status::kOk;
  while (running_count_ > 0) {
    status = run_.interruption();
    if (status == Status::kOk) status = step();
    if (status != Status::kOk || running_count_ == 0) break;
    for (uint32_t i = 0; i < running_count_; ++i) {
      RunningSequence& running = memory.running[0][i];
      memory.steps[i] = {depth_ == 1 ? BeamStep::kStream : running.row, memory.tokens_of(0, running.index)[depth_ - 1]};
      running.row = i;
    }
    status = run_.input.model.grow({memory.steps, running_count_}, *run_.input.cancelled);
    if (status != Status::kOk) break;
  }
  if (status < Status::kOk) return status;
  for (uint32_t i = 0; i < running_count_; ++i) {
    end(memory.running[0][i], depth_, depth_, status);
  }
  SOTTO_TRY(rank());
  *count = run_.params.return_count;
  return status == Status::kStopTime ? Status::kOk : status;
}

// Draws a token for every running sequence.
Status SampleSearch::step() {
  RunningSequence* const running = run_.memory.running[0];
  uint32_t kept = 0;
  bool stopped = false;
  for (uint32_t i = 0; i < running_count_; ++i) {
    RunningSequence sequence = running[i];
    const Status status = draw(&sequence);
    if (status < Status::kOk) return status;
    const int32_t token = run_.memory.tokens_of(0, sequence.index)[depth_];
    const bool has_token = SearchRun::keeps_token(status);
    if (has_token) stopped |= run_.stops_at_step(sequence.index, token);
    if (status != Status::kOk) {
      end(sequence, has_token ? depth_ + 1 : depth_, depth_ + 1, status);
    } else if (depth_ + 1 == run_.limit) {
      end(sequence, depth_ + 1, depth_ + 1, run_.limit_stop);
    } else {
      running[kept++] = sequence;
    }
  }
  running_count_ = kept;
  ++depth_;
  return stopped ? Status::kStopCallback : Status::kOk;
}

// kOk and a token; or a stop.
Status SampleSearch::draw(RunningSequence* running) {
  const uint32_t index = running->index;
  int32_t* tokens = run_.memory.tokens_of(0, index);
  TokenMask mask;
  SOTTO_TRY(run_.mask(1 + index, &mask));
  const auto logits = run_.input.model.logits(running->row);
  const SampledToken sampled = run_.input.sampler->sample(logits, mask, run_.sample_input({tokens, depth_}, index),
                                                          &run_.memory.sampler_states[index]);
  tokens[depth_] = sampled.token;
  running->log_probability += log_probability_of(*run_.input.kernels, logits, sampled.token);
  const Status stop = run_.stop_of(sampled.token);
  if (stop != Status::kOk) return stop;
  return run_.follow(1 + index, 1 + index, {tokens, depth_ + 1}, &running->text);
}

void SampleSearch::end(const RunningSequence& running, uint32_t count, uint32_t length, Status stop) {
  const bool by_length = run_.params.rerank == Rerank::kBest;
  const double score = by_length ? length_score(run_.params, running.log_probability, length) : running.log_probability;
  run_.memory.results[running.index] = {
      run_.memory.tokens_of(0, running.index), count, score, running.log_probability, stop, running.index};
}

Status SampleSearch::rank() {
  const std::span<SearchSequence> results(run_.memory.results, run_.params.sequence_count);
  if (run_.params.rerank == Rerank::kOrder) return Status::kOk;
  if (run_.params.rerank != Rerank::kBest) {
    SOTTO_TRY(vote(run_.params, run_.memory.shape.sequence_tokens, run_.memory.order, results));
  }
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.score != b.score ? a.score > b.score : a.index < b.index; });
  return Status::kOk;
}

}  // namespace

Status search_samples(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count) {
  return SampleSearch(input, params, memory).run(count);
}

}  // namespace sotto
