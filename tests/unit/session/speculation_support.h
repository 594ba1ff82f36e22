// What the tests of speculative decoding share: runs recorded bit by bit, and all the ways to
// draft.
#pragma once

#include <bit>

#include "tests/unit/session/session_support.h"

namespace sotto {

// A token with everything that is reported of it, time aside.
struct RecordedPiece {
  Status status;
  int32_t token;
  std::string text;
  uint32_t log_probability;
  uint32_t sampled_log_probability;
  std::vector<std::pair<int32_t, uint32_t>> alternatives;

  bool operator==(const RecordedPiece&) const = default;
};
void PrintTo(const RecordedPiece& piece, std::ostream* stream);

// Calls next() until a stop, at most `count` times.
std::vector<RecordedPiece> record(OpenedSession& session, size_t count);

std::vector<uint8_t> saved_bytes(const Session& session);

struct NamedSampler {
  const char* name;
  std::function<void(SamplerParams&)> adjust;
};
// Every stage, selection and watermark, and mixtures.
const std::vector<NamedSampler>& every_sampler();

// A way to draft. `target` may not be known yet when it is made.
struct NamedDrafts {
  const char* name;
  uint32_t sources;
};
const std::vector<NamedDrafts>& every_source();

inline constexpr uint32_t kDraftTokens = 5;

// Drafts that are right, wrong, of no vocabulary, and too many, in turn.
struct UnrulyDrafts {
  std::vector<int32_t> truth;  // the text, if known
  uint32_t calls = 0;
  size_t bad_inputs = 0;
  bool is_whole = false;  // the session has it from its beginning

  static size_t draft(void* self, const int32_t* tokens, size_t token_count, const float* hidden, size_t hidden_count,
                      int32_t* drafts, size_t capacity);
};

// A session that speculates by `sources`, with what they need.
class SpeculatingSession {
 public:
  SpeculatingSession(const Model& model, uint32_t sources, const std::function<void(SessionParams&)>& adjust = {});
  ~SpeculatingSession();

  OpenedSession& operator*() { return session_; }
  Session* operator->() { return session_.get(); }
  UnrulyDrafts unruly;

 private:
  OpenedSession drafter_;
  OpenedSession session_;
};

}  // namespace sotto
