// Helpers of the tests of speculative decoding and of batches: runs whose results are recorded bit for bit, and all
// sources of drafts.
#pragma once

#include <bit>

#include "tests/support/sampler_settings.h"
#include "tests/unit/session/session_support.h"

namespace sotto {

// A token with everything that is reported about it, except time.
struct RecordedPiece {
  Status status;
  int32_t token;
  std::string text;
  uint32_t log_probability;
  uint32_t sampled_log_probability;
  std::vector<std::pair<int32_t, uint32_t>> alternatives;
  uint32_t entropy;
  uint32_t kept_count;
  uint32_t repetitiveness;

  bool operator==(const RecordedPiece&) const = default;
};
void PrintTo(const RecordedPiece& piece, std::ostream* stream);

RecordedPiece record(Status status, const Piece& piece);
// Calls next() until a stop, at most `count` times.
std::vector<RecordedPiece> record(OpenedSession& session, size_t count);

std::vector<uint8_t> saved_bytes(const Session& session);

// Returns every stage, selection and watermark.
using NamedSampler = SamplerSetting<SamplerParams>;
const std::vector<NamedSampler>& every_sampler();

// A source of drafts. `target` may be unknown when it is created.
struct NamedDrafts {
  const char* name;
  uint32_t sources;
};
const std::vector<NamedDrafts>& every_source();

inline constexpr uint32_t kDraftTokens = 5;

// A draft callback whose drafts are, in turn, right, wrong, outside the vocabulary, and too long.
struct UnrulyDrafts {
  std::vector<int32_t> truth;  // the text, if it is known
  uint32_t calls = 0;
  size_t bad_inputs = 0;
  bool is_whole = false;  // true if the session has the text from its beginning

  static size_t draft(void* self, const int32_t* tokens, size_t token_count, const float* hidden, size_t hidden_count,
                      int32_t* drafts, size_t capacity);
};

// A session that speculates with `sources`, and the objects that the sources need.
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
