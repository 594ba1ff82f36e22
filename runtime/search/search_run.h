// The code that all modes of search share: the model and stream (SearchInput), the memory (SearchMemory), and the
// operations of a search (SearchRun).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/base/utf8.h"
#include "runtime/generated/params.h"
#include "runtime/model/tokenizer_view.h"
#include "runtime/sampling/sampler.h"
#include "runtime/search/beam_candidates.h"
#include "runtime/text/stops.h"
#include "runtime/transformer/beams.h"

namespace sotto {

// A type-erased reference to the model of a search. The model evaluates sequences that continue one text. It may be of
// any class with the members begin, grow, logits, keep and similarity of Beams; tests use functions of the tokens.
class SequenceModel {
 public:
  SequenceModel() = default;
  template <typename Model>
  SequenceModel(Model* model, bool has_similarity)
      : self_(model),
        has_similarity_(has_similarity),
        begin_([](void* self, auto... args) { return static_cast<Model*>(self)->begin(args...); }),
        grow_([](void* self, auto... args) { return static_cast<Model*>(self)->grow(args...); }),
        logits_([](void* self, auto... args) { return static_cast<Model*>(self)->logits(args...); }),
        keep_([](void* self, auto... args) { return static_cast<Model*>(self)->keep(args...); }),
        similarity_([](void* self, auto... args) { return static_cast<Model*>(self)->similarity(args...); }) {}

  Status begin(const Cancellation& cancellation, uint32_t* capacity) const {
    return begin_(self_, cancellation, capacity);
  }
  // On kStopCancelled, the sequences have not changed.
  Status grow(std::span<const BeamStep> steps, const Cancellation& cancellation) const {
    return grow_(self_, steps, cancellation);
  }
  std::span<float> logits(uint32_t sequence) const { return logits_(self_, sequence); }
  void keep(uint32_t sequence) const { keep_(self_, sequence); }
  bool has_similarity() const { return has_similarity_; }
  float similarity(uint32_t step) const { return similarity_(self_, step); }

 private:
  void* self_ = nullptr;
  bool has_similarity_ = false;
  Status (*begin_)(void* self, const Cancellation& cancellation, uint32_t* capacity) = nullptr;
  Status (*grow_)(void* self, std::span<const BeamStep> steps, const Cancellation& cancellation) = nullptr;
  std::span<float> (*logits_)(void* self, uint32_t sequence) = nullptr;
  void (*keep_)(void* self, uint32_t sequence) = nullptr;
  float (*similarity_)(void* self, uint32_t step) = nullptr;
};

// The state of matching stop strings at the end of a sequence's text.
struct SequenceText {
  StringMatcher::State stop_state = 0;
  Utf8Stream characters;
};

// The input of a search: the model, the stream that it continues, and its stops.
struct SearchInput {
  SequenceModel model;
  const Kernels* kernels = nullptr;
  Sampler* sampler = nullptr;
  SamplerState sampler_state;
  TokenConstraint constraint;
  const Cancellation* cancellation = nullptr;
  std::span<const int32_t> end_tokens;
  // The stops of the session. Banned strings do not apply, because sequences that share KV slots cannot be rewound.
  const Stops* stops = nullptr;
  const TokenizerView* tokenizer = nullptr;  // null if there are no stop strings
  SequenceText text;                         // state at the end of the stream
  TokenHistory history;                      // history of the stream; its third piece is empty
  uint64_t token_count = 0;                  // number of tokens of the stream
  uint64_t generated_count = 0;              // number of tokens at its end that were generated
};

// Returns how many sequences a constraint needs for a search with `sequence_count` sequences, including the session's
// own one.
constexpr uint32_t constraint_sequence_count(uint32_t sequence_count) { return 2 * sequence_count + 1; }

// The limits of a search. They determine its memory.
struct SearchSizes {
  uint32_t sequence_count = 0;   // maximum number of sequences at the same time
  uint32_t sequence_tokens = 0;  // maximum number of tokens per sequence
};

// A sequence that has not ended.
struct RunningSequence {
  double score = 0;            // ranks the beams
  double log_probability = 0;  // sum of ln p
  uint32_t row = 0;            // index among the model's live sequences
  uint32_t index = 0;          // of a sample: its index in the results; of a beam: the beam that it continues
  SequenceText text;
};

// A sequence that has ended. Its tokens are in finished_tokens.
struct FinishedSequence {
  double score = 0;
  double log_probability = 0;
  uint32_t token_count = 0;
  Status stop = Status::kOk;
};

// The arrays of all modes. A generation is one of two copies: this step's or the next step's.
struct SearchMemory {
  void layout(Arena& arena, const SearchSizes& given);

  int32_t* tokens_of(uint32_t generation, uint32_t sequence) {
    return tokens[generation] + size_t{sequence} * sizes.sequence_tokens;
  }
  int32_t* finished_tokens_of(uint32_t sequence) { return finished_tokens + size_t{sequence} * sizes.sequence_tokens; }

  SearchSizes sizes;
  int32_t* tokens[2] = {};                 // (generation; sequence, token): the tokens of running sequences
  RunningSequence* running[2] = {};        // (generation; sequence)
  PhraseState* phrase_states[2] = {};      // (generation; sequence)
  int32_t* finished_tokens = nullptr;      // (sequence, token)
  FinishedSequence* finished = nullptr;    // (sequence)
  BeamStep* steps = nullptr;               // (sequence)
  BeamCandidate* best = nullptr;           // (sequence)
  BeamCandidate* continuing = nullptr;     // (continuing_capacity)
  SamplerState* sampler_states = nullptr;  // (sequence)
  uint32_t* order = nullptr;               // (sequence, token): sorted n-grams
  SearchSequence* results = nullptr;       // (sequence)
  uint32_t step_parent = 0;                // parent of the sequence that on_step reports
};

// Returns the length-normalized score of a sequence: its sum of ln p divided by length^alpha, or by ((5 + length) /
// 6)^alpha (Wu et al. 2016, "Google's Neural Machine Translation System", equation 14).
double length_score(const SearchParams& params, double log_probability, uint32_t length);

// The state of one search, and the operations that all modes share.
class SearchRun {
 public:
  SearchRun(const SearchInput& search_input, const SearchParams& search_params, SearchMemory* search_memory)
      : input(search_input), params(search_params), memory(*search_memory) {}

  // Begins the sequences. `needs_last` says that the mode also evaluates the last token of each sequence. This token
  // then takes a slot too, and the limit may be 0.
  Status begin(bool needs_last);

  bool is_cancelled() const;
  // Returns kStopCancelled or kStopTime if the search has to stop, and kOk otherwise.
  Status interruption() const;
  // Returns the stop that a token causes, or kOk.
  Status stop_of(int32_t token) const;
  // Returns whether the token that caused the stop belongs to the sequence.
  static bool keeps_token(Status stop) {
    return stop != Status::kStopEndOfText && stop != Status::kStopToken && stop != Status::kStopBanned;
  }
  SampleInput sample_input(std::span<const int32_t> tokens, uint32_t sequence) const;

  // Finds the tokens that may follow a sequence. `constraint_sequence` is its number in the constraint. Returns
  // kStopBanned if the sampler's hard bans leave none.
  Status mask(uint32_t constraint_sequence, const SampleInput& sample, TokenMask* mask) const;
  // Makes constraint sequence `to` a copy of `from` followed by the last of `tokens`, and appends that token's text to
  // `text`. Returns a stop if the sequence ends after the token.
  Status follow(uint32_t from, uint32_t to, std::span<const int32_t> tokens, SequenceText* text) const;
  // If a sequence ended at a stop string, removes the tokens after the text before the string, and returns the number
  // of tokens. If that text ends inside a token, other tokens replace the token and spell its part of the text, as far
  // as the vocabulary and the limit allow this.
  uint32_t trim_after_stop(Status stop, int32_t* tokens, uint32_t count) const;
  bool stops_at_step(uint32_t sequence, int32_t token, uint32_t parent) const {
    memory.step_parent = parent;
    return params.on_step != nullptr && params.on_step(params.step_user_data, sequence, token) != 0;
  }

  const SearchInput& input;
  const SearchParams& params;  // parameters whose defaults have been replaced by actual values
  SearchMemory& memory;
  uint32_t limit = 0;                          // maximum number of tokens per sequence
  Status limit_stop = Status::kStopMaxTokens;  // the status of a sequence that reaches the limit

 private:
  size_t append_text(int32_t token, SequenceText* text, uint64_t* size) const;
  uint64_t find_shown_size(std::span<const int32_t> tokens) const;
  bool repeats_itself(std::span<const int32_t> tokens) const;

  uint64_t begin_ns_ = 0;
};

}  // namespace sotto
