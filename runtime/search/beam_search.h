// Beam search as in transformers, and its variants: stochastic beams, which are drawn without replacement (Kool et al.
// 2019); groups that avoid each other's tokens (Vijayakumar et al. 2018, "Diverse Beam Search"); and phrases that must
// appear (Post and Vilar 2018).
//
// Each step computes ln p for every running sequence. The best tokens of all beams of a group enter two bounded lists:
// one of all candidates, and one of those that do not end their sequence. The step ends or continues sequences with
// these candidates, and evaluates the new tokens in one batch.
#pragma once

#include "runtime/search/beam_candidates.h"
#include "runtime/search/search_run.h"

namespace sotto {

class BeamSearch {
 public:
  BeamSearch(const SearchInput& input, const SearchParams& params, SearchMemory* memory);

  // Stores the results in the memory, best first, and their number in `*count`.
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
  // Returns the number that the constraint knows a running sequence by.
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
  void scan_likeliest(uint32_t beam, Candidates& candidates);
  void scan_drawn(uint32_t beam, Candidates& candidates);
  void scan_phrases(uint32_t beam, Candidates& candidates);
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

}  // namespace sotto
