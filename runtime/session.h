// A session: one stream of tokens over a model, with its context, sampler, text and timings,
// in memory of the caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/base/utf8.h"
#include "runtime/model/model.h"
#include "runtime/sampling/sampler.h"
#include "runtime/transformer/context.h"

namespace sotto {

// As sotto_session_params; context_tokens 0 and kDefaultSinks stand for the defaults.
struct SessionParams {
  static constexpr uint32_t kDefaultSinks = UINT32_MAX;

  uint32_t context_tokens = 0;
  uint32_t batch_tokens = 128;
  uint32_t thread_count = 1;
  Overflow overflow = Overflow::kStop;
  uint32_t sink_tokens = kDefaultSinks;
  bool has_executor = false;
  HostExecutor executor;
  uint32_t sequence_count = 0;
  uint32_t sequence_tokens = 0;
  uint32_t features = 0;
  uint32_t list_bytes = 16384;
};

// Laid out as sotto_alternative.
struct Alternative {
  int32_t token;
  float log_probability;
};

// Laid out as sotto_piece.
struct Piece {
  const char* text;
  size_t text_size;
  int32_t token;
  float log_probability;
  float sampled_log_probability;
  uint32_t alternative_count;
  const Alternative* alternatives;
  const char* bytes;
  size_t byte_count;
  uint64_t elapsed_ns;
};

// As sotto_session_timings.
struct SessionTimings {
  uint64_t prefill_tokens = 0;
  uint64_t prefill_ns = 0;
  uint64_t decode_tokens = 0;
  uint64_t decode_ns = 0;
  uint64_t sample_count = 0;
  uint64_t sample_ns = 0;
  ReanchorTimings reanchor;
};

class Session {
 public:
  static Status memory_size(const Model& model, const SessionParams& params, size_t* size,
                            Error* error);
  static Status init(const Model& model, const SessionParams& params, void* memory,
                     size_t memory_size, Session** session, Error* error);
  void deinit();

  Status set_sampler(const SamplerParams& params, Error* error);
  void reset();
  Status prefill(std::span<const int32_t> tokens);
  // kOk and a token, or a stop; piece() is set in both cases.
  Status next();
  const Piece& piece() const { return piece_; }
  Status logits(std::span<const float>* logits);
  Status rewind(uint64_t token_count);
  void cancel() { cancelled_.store(1, std::memory_order_relaxed); }

  const Model& model() const { return *model_; }
  const SessionParams& params() const { return params_; }  // defaults resolved
  const Context& context() const { return context_; }
  uint64_t token_count() const { return context_.token_count() + (has_pending_ ? 1 : 0); }
  uint64_t kv_bytes() const;
  uint64_t memory_bytes() const { return memory_bytes_; }
  SessionTimings timings() const;
  void reset_timings();

 private:
  static Status resolve(const Model& model, const SessionParams& given, SessionParams* params,
                        Error* error);
  static size_t lay_out(const Model& model, const SessionParams& params, Arena arena,
                        Session** session, Context* context, uint8_t** sampler_memory);
  Status evaluate_pending();
  Status ensure_logits();
  SampledToken sample();
  bool take_cancellation();
  Status stop(Status reason);
  void restore_text();
  std::span<const char> bytes_of(int32_t token) const;

  const Model* model_ = nullptr;
  SessionParams params_;
  ThreadPool* pool_ = nullptr;
  Context context_;
  Sampler sampler_;
  SessionTimings timings_;
  size_t memory_bytes_ = 0;
  std::atomic<uint32_t> cancelled_ = 0;
  bool has_pending_ = false;  // a token of the stream that is still to be evaluated
  int32_t pending_ = 0;
  Utf8Stream text_;
  Piece piece_ = {};
  char piece_text_[Utf8Stream::output_bound(kMaxTokenBytes)];
};

}  // namespace sotto
