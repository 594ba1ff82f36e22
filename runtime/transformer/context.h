// The evaluated tokens of one stream: feeds them to the forward pass in batches, and keeps
// them within the KV ring by one of the three overflow rules of sotto.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/transformer/forward.h"

namespace sotto {

// As sotto_overflow.
enum class Overflow : int32_t { kStop = 0, kRing = 1, kShift = 2 };

struct ContextParams {
  uint32_t context_tokens = 0;
  uint32_t batch_tokens = 0;
  uint32_t sink_tokens = 0;
  Overflow overflow = Overflow::kStop;
};

// Tokens evaluated again by re-anchoring, and the time it took.
struct ReanchorTimings {
  uint64_t tokens = 0;
  uint64_t ns = 0;
};

class Context {
 public:
  // Takes the context's memory from `arena`, which may only measure.
  void lay_out(const ModelConfig& config, const ContextParams& params, Arena* arena);
  // After lay_out over real memory. `pool` may be null.
  Status init(const Model& model, ThreadPool* pool, Error* error);

  void clear();

  // Evaluates tokens after those already there. logits() are those after the last one.
  // kStopContextFull: they do not all fit (Overflow::kStop), nothing is done.
  // kStopCancelled: token_count() tells how far it came.
  Status append(std::span<const int32_t> tokens, const std::atomic<uint32_t>& cancelled);

  // Evaluates the last token again if its logits are gone. Needs a token.
  Status ensure_logits(const std::atomic<uint32_t>& cancelled);

  // Whether the stream can be cut to its first `count` tokens.
  bool can_rewind(uint64_t count) const;
  // Cuts it. Logits are gone.
  void rewind(uint64_t count);

  uint64_t token_count() const { return token_count_; }
  bool has_logits() const { return has_logits_; }
  std::span<const float> logits() const { return forward_.logits(); }

  // A token of the stream, one of the newest 2 * context_tokens.
  int32_t token_at(uint64_t index) const { return history_[index % history_size_]; }
  // The newest tokens, at most `count` and at most context_tokens, in at most two pieces.
  void newest(uint64_t count, std::span<const int32_t>* older,
              std::span<const int32_t>* newer) const;

  // Tokens whose keys and values are in the ring.
  uint32_t cached_tokens() const;
  uint64_t reanchor_count() const { return reanchor_count_; }
  const ReanchorTimings& reanchor_timings() const { return reanchor_timings_; }
  void reset_reanchor_timings() { reanchor_timings_ = {}; }

 private:
  Status evaluate_chunk(std::span<const int32_t> tokens, bool want_logits,
                        const std::atomic<uint32_t>& cancelled);
  Status reanchor(bool want_logits, const std::atomic<uint32_t>& cancelled);
  uint32_t newest_kept() const;
  int32_t kept_token(uint32_t index, uint32_t newest) const;

  ContextParams params_;
  uint32_t position_limit_ = 0;  // positions at which the ring is full or ends
  Forward forward_;
  size_t history_size_ = 0;
  int32_t* history_ = nullptr;       // (stream index % history_size): twice the context, so
                                     // that a rewind finds what a window of it needs
  int32_t* sinks_ = nullptr;         // (sink)
  int32_t* chunk_tokens_ = nullptr;  // (batch): kept tokens on their way back in

  uint64_t token_count_ = 0;   // of the stream
  uint32_t position_ = 0;      // of the next token
  uint64_t anchor_ = 0;        // token_count_ when positions last began anew
  bool reanchor_due_ = false;  // a re-anchoring was cancelled half-way
  bool has_logits_ = false;
  uint64_t reanchor_count_ = 0;
  ReanchorTimings reanchor_timings_;
};

}  // namespace sotto
