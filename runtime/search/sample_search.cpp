#include "runtime/search/sample_search.h"

#include <algorithm>
#include <cmath>

#include "runtime/sampling/log_probabilities.h"

namespace sotto {
namespace {

std::span<const int32_t> tokens_of(const SearchSequence& sequence) { return {sequence.tokens, sequence.token_count}; }

// Compares two n-grams, and returns -1, 0 or 1.
int compare(const int32_t* a, const int32_t* b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

// Iterates over the n-grams of a sequence in sorted order.
class SortedNgrams {
 public:
  SortedNgrams(std::span<const int32_t> tokens, std::span<const uint32_t> order, size_t n)
      : tokens_(tokens), order_(order), n_(n) {
    skip_short();
  }

  bool done() const { return at_ == order_.size(); }
  const int32_t* get() const { return tokens_.data() + order_[at_]; }
  void next() {
    ++at_;
    skip_short();
  }

 private:
  void skip_short() {
    while (!done() && order_[at_] + n_ > tokens_.size()) ++at_;
  }

  std::span<const int32_t> tokens_;
  std::span<const uint32_t> order_;
  size_t n_;
  size_t at_ = 0;
};

double similarity_of(const SearchParams& params, const SearchSequence& a, std::span<const uint32_t> a_order,
                     const SearchSequence& b, std::span<const uint32_t> b_order) {
  switch (params.rerank) {
    case Rerank::kExact: {
      const auto x = tokens_of(a), y = tokens_of(b);
      return std::equal(x.begin(), x.end(), y.begin(), y.end()) ? 1 : 0;
    }
    case Rerank::kNgram:
      return ngram_similarity(tokens_of(a), a_order, tokens_of(b), b_order);
    default:
      return params.similarity(params.similarity_user_data, a.tokens, a.token_count, b.tokens, b.token_count);
  }
}

class SampleSearch {
 public:
  SampleSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory)
      : run_(input, params, memory) {}

  Status run(uint32_t* count, Error* error);

 private:
  Status draw(RunningSequence* running);
  Status step();
  void end(const RunningSequence& running, uint32_t count, uint32_t length, Status stop);
  Status rank(Error* error);

  SearchRun run_;
  uint32_t running_count_ = 0;
  uint32_t depth_ = 0;
};

Status SampleSearch::run(uint32_t* count, Error* error) {
  *count = 0;
  SOTTO_TRY(run_.begin(/*needs_last=*/false));
  SearchMemory& memory = run_.memory;
  const TokenConstraint& constraint = run_.input.constraint;
  running_count_ = run_.params.sequence_count;
  for (uint32_t i = 0; i < running_count_; ++i) {
    memory.running[0][i] = {.index = i, .text = run_.input.text};
    memory.sampler_states[i] = run_.input.sampler_state;
    if (constraint.is_set()) constraint.fork(0, 1 + i);
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
    status = run_.input.model.grow({memory.steps, running_count_}, *run_.input.cancellation);
    if (status != Status::kOk) break;
  }
  if (is_failure(status)) return status;
  for (uint32_t i = 0; i < running_count_; ++i) {
    end(memory.running[0][i], depth_, depth_, status);
  }
  SOTTO_TRY(rank(error));
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
    if (is_failure(status)) return status;
    const int32_t token = run_.memory.tokens_of(0, sequence.index)[depth_];
    const bool has_token = SearchRun::keeps_token(status);
    if (has_token) stopped |= run_.stops_at_step(sequence.index, token, depth_ == 0 ? 0 : sequence.index);
    if (status != Status::kOk) {
      end(sequence, has_token ? depth_ + 1 : depth_, status == Status::kStopBanned ? depth_ : depth_ + 1, status);
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

// Draws a token for one sequence and returns kOk, or returns the stop that ends the sequence.
Status SampleSearch::draw(RunningSequence* running) {
  const uint32_t index = running->index;
  int32_t* tokens = run_.memory.tokens_of(0, index);
  const SampleInput sample = run_.sample_input({tokens, depth_}, index);
  TokenMask mask;
  SOTTO_TRY(run_.mask(1 + index, sample, &mask));
  const auto logits = run_.input.model.logits(running->row);
  const SampledToken sampled = run_.input.sampler->sample(logits, mask, sample, &run_.memory.sampler_states[index]);
  tokens[depth_] = sampled.token;
  running->log_probability += LogProbabilities(*run_.input.kernels, logits).of(sampled.token);
  const Status stop = run_.stop_of(sampled.token);
  if (stop != Status::kOk) return stop;
  return run_.follow(1 + index, 1 + index, {tokens, depth_ + 1}, &running->text);
}

void SampleSearch::end(const RunningSequence& running, uint32_t count, uint32_t length, Status stop) {
  const bool by_length = run_.params.rerank == Rerank::kBest;
  const double score = by_length ? length_score(run_.params, running.log_probability, length) : running.log_probability;
  int32_t* const tokens = run_.memory.tokens_of(0, running.index);
  run_.memory.results[running.index] = {
      tokens, run_.trim_after_stop(stop, tokens, count), score, running.log_probability, stop, running.index};
}

Status SampleSearch::rank(Error* error) {
  const std::span<SearchSequence> results(run_.memory.results, run_.params.sequence_count);
  if (run_.params.rerank == Rerank::kOrder) return Status::kOk;
  if (run_.params.rerank != Rerank::kBest) {
    SOTTO_TRY(vote(run_.params, run_.memory.sizes.sequence_tokens, run_.memory.order, results, error));
  }
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.score != b.score ? a.score > b.score : a.index < b.index; });
  return Status::kOk;
}

}  // namespace

void sort_ngrams(std::span<const int32_t> tokens, std::span<uint32_t> order) {
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const size_t a_count = std::min(tokens.size() - a, kMaxNgram);
    const size_t b_count = std::min(tokens.size() - b, kMaxNgram);
    const int by_tokens = compare(tokens.data() + a, tokens.data() + b, std::min(a_count, b_count));
    if (by_tokens != 0) return by_tokens < 0;
    return a_count != b_count ? a_count < b_count : a < b;
  });
}

double ngram_similarity(std::span<const int32_t> a, std::span<const uint32_t> a_order, std::span<const int32_t> b,
                        std::span<const uint32_t> b_order) {
  double sum = 0;
  size_t lengths = 0;
  for (size_t n = 1; n <= kMaxNgram && n <= std::max(a.size(), b.size()); ++n, ++lengths) {
    // Both orders are sorted, so a merge finds the n-grams that the sequences have in common.
    SortedNgrams x(a, a_order, n), y(b, b_order, n);
    size_t shared = 0;
    while (!x.done() && !y.done()) {
      const int order = compare(x.get(), y.get(), n);
      if (order == 0) ++shared;
      if (order <= 0) x.next();
      if (order >= 0) y.next();
    }
    const size_t all = (a.size() >= n ? a.size() - n + 1 : 0) + (b.size() >= n ? b.size() - n + 1 : 0);
    sum += 2.0 * static_cast<double>(shared) / static_cast<double>(all);
  }
  return lengths == 0 ? 1 : sum / static_cast<double>(lengths);
}

Status vote(const SearchParams& params, size_t sequence_tokens, uint32_t* order, std::span<SearchSequence> sequences,
            Error* error) {
  constexpr double kScale = 0x1p-32;  // keeps the sum of finite similarities finite
  const auto order_of = [&](size_t i) { return std::span(order + i * sequence_tokens, sequences[i].token_count); };
  if (params.rerank == Rerank::kNgram) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      sort_ngrams(tokens_of(sequences[i]), order_of(i));
    }
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < sequences.size(); ++j) {
      sum += kScale * similarity_of(params, sequences[i], order_of(i), sequences[j], order_of(j));
    }
    sequences[i].score = sum / static_cast<double>(sequences.size()) / kScale;
    if (std::isfinite(sequences[i].score)) continue;
    return fail(error, Status::kInvalidArgument, "similarity returned a value that is not finite");
  }
  return Status::kOk;
}

Status search_samples(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count,
                      Error* error) {
  return SampleSearch(input, params, memory).run(count, error);
}

}  // namespace sotto
