// A model defined by a function, a toy grammar, and a search over them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/search/search.h"
#include "tests/support/any_token.h"

namespace sotto {

using Tokens = std::vector<int32_t>;

inline const Kernels& reference_kernels() { return *find_kernels(Isa::kReference); }

// A model whose logits are a function of the tokens after the text.
class FunctionModel {
 public:
  using Logits = std::function<std::vector<float>(const Tokens&)>;
  using Similarity = std::function<float(const Tokens&)>;

  explicit FunctionModel(Logits logits, uint32_t capacity = UINT32_MAX - 1)
      : logits_(std::move(logits)), capacity_(capacity) {}

  void set_similarity(Similarity similarity) { similarity_ = std::move(similarity); }
  // Requests a cancellation before call number `call` of grow(), counted from 0.
  void cancel_at(uint32_t call, Cancellation* cancellation) {
    cancel_at_ = call;
    cancellation_ = cancellation;
  }
  uint32_t grow_count() const { return grow_count_; }
  size_t most_rows() const { return most_rows_; }

  SequenceModel view() { return {this, static_cast<bool>(similarity_)}; }

  // SequenceModel calls the following members.
  Status begin(const Cancellation&, uint32_t* capacity) {
    live_.clear();
    rows_ = {logits_({})};
    *capacity = capacity_;
    return Status::kOk;
  }
  Status grow(std::span<const BeamStep> steps, const Cancellation&) {
    if (cancellation_ != nullptr && grow_count_ == cancel_at_) cancellation_->request();
    ++grow_count_;
    if (cancellation_ != nullptr && cancellation_->is_requested()) return Status::kStopCancelled;
    most_rows_ = std::max(most_rows_, steps.size());
    std::vector<Tokens> next;
    for (const BeamStep& step : steps) {
      next.push_back(step.from == BeamStep::kStream ? Tokens() : live_.at(step.from));
      next.back().push_back(step.token);
      if (next.back().size() > capacity_) throw std::runtime_error("beyond the last position");
    }
    live_ = next;
    rows_.clear();
    for (const Tokens& tokens : live_) rows_.push_back(logits_(tokens));
    return Status::kOk;
  }
  std::span<float> logits(uint32_t sequence) { return rows_.at(sequence); }
  void keep(uint32_t sequence) { live_ = {live_.at(sequence)}; }
  float similarity(uint32_t step) { return similarity_(live_.at(step)); }

 private:
  Logits logits_;
  Similarity similarity_;
  uint32_t capacity_;
  std::vector<Tokens> live_;
  std::vector<std::vector<float>> rows_;
  uint32_t grow_count_ = 0;
  size_t most_rows_ = 0;
  uint32_t cancel_at_ = 0;
  Cancellation* cancellation_ = nullptr;
};

// Returns arbitrary but reproducible logits of a text.
std::vector<float> scrambled_logits(const Tokens& tokens, size_t vocabulary, uint64_t seed, float spread = 3);

inline FunctionModel::Logits scrambled(size_t vocabulary, uint64_t seed, float spread = 3) {
  return [=](const Tokens& tokens) { return scrambled_logits(tokens, vocabulary, seed, spread); };
}

// A deterministic automaton over tokens: its transitions, and the states in which the text may end.
class ToyGrammar : public AnyToken {
 public:
  static constexpr int kDead = -1;

  // transitions[state][token] is kDead if a token may not follow.
  ToyGrammar(std::vector<std::vector<int>> transitions, std::vector<bool> may_end, int32_t end_token,
             uint32_t sequence_count)
      : transitions_(std::move(transitions)),
        may_end_(std::move(may_end)),
        end_token_(end_token),
        states_(sequence_count) {}

  Status mask(uint32_t sequence, TokenMask* mask);
  bool must_end(uint32_t sequence) { return complete(states_.at(sequence)); }
  Status accept_token(uint32_t sequence, int32_t token);
  void fork(uint32_t from, uint32_t to) { states_.at(to) = states_.at(from); }
  bool allows(int state, int32_t token) const;
  bool complete(int state) const;
  int next(int state, int32_t token) const {
    return transitions_[static_cast<size_t>(state)][static_cast<size_t>(token)];
  }

 private:
  size_t vocabulary() const { return transitions_[0].size(); }

  std::vector<std::vector<int>> transitions_;
  std::vector<bool> may_end_;
  int32_t end_token_;
  std::vector<int> states_;  // (sequence)
  std::vector<uint64_t> words_;
};

class SearchFixture {
 public:
  SearchFixture(uint32_t vocabulary, const SearchSizes& shape, int32_t end_token = -1);

  Sampler& sampler() { return sampler_; }
  void set_sampler(const SamplerParams& params);
  // In stop strings, each token is the byte with its number.
  void set_stops(const StopParams& params);
  SearchInput& input() { return input_; }
  void set_end_token(int32_t token);  // -1 for none
  Cancellation& cancellation() { return cancellation_; }

  // Throws if the search fails.
  std::vector<SearchSequence> run(const SequenceModel& model, const SearchParams& params,
                                  Status expected = Status::kOk);
  // Returns the message of the failure.
  std::string refusal(const SequenceModel& model, const SearchParams& params,
                      Status expected = Status::kInvalidArgument);

 private:
  Status search(const SequenceModel& model, const SearchParams& params, std::span<const SearchSequence>* sequences,
                Error* error);

  uint32_t vocabulary_;
  int32_t end_token_ = -1;
  std::vector<uint8_t> search_storage_, sampler_storage_, stops_storage_;
  std::vector<char> token_bytes_;
  std::vector<uint32_t> token_offsets_;
  TokenizerView tokenizer_;
  Stops stops_;
  Search search_;
  Sampler sampler_;
  SearchInput input_;
  Cancellation cancellation_;
};

// The tokens of the stop string of pair_stops().
inline const Tokens kStopPair = {1, 2};

inline bool ends_with(const Tokens& tokens, const Tokens& end) {
  return !end.empty() && tokens.size() >= end.size() && std::equal(end.rbegin(), end.rend(), tokens.rbegin());
}

// Ends sequences when kStopPair is complete.
inline StopParams pair_stops() {
  static constexpr TextView kString = {"\1\2", 2};
  StopParams stops;
  stops.stop_strings = {&kString, 1};
  return stops;
}

// Returns greedy settings without penalties, so that the distribution is the model's.
SamplerParams plain_sampler();

inline Tokens tokens_of(const SearchSequence& s) { return {s.tokens, s.tokens + s.token_count}; }

}  // namespace sotto
