// The parts of a session. Each part refers only to parts above it, except Partners, which links the parts of several
// sessions.
#pragma once

#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/search/search.h"
#include "runtime/session/decoder.h"
#include "runtime/session/drafting.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/partners.h"
#include "runtime/session/token_stream.h"
#include "runtime/text/stops.h"
#include "runtime/transformer/beams.h"

namespace sotto {

struct SessionParts {
  // `text_output` may be null if only layout() is called. It is not part of this struct because it is large:
  // memory_size() lays out a local SessionParts.
  explicit SessionParts(TextOutput* text_output) : output(text_output) {}
  SessionParts(const SessionParts&) = delete;
  SessionParts& operator=(const SessionParts&) = delete;

  // The defaults in `params` must have been replaced by actual values.
  void layout(Arena& arena, const Model& model, const SessionParams& params) {
    const ModelConfig& config = model.config();
    stream.layout(arena, model, params);
    decoder.layout(arena, model, params);
    stops.layout(arena,
                 {config.vocabulary_size, params.context_tokens, model.tokenizer() != nullptr, params.list_bytes});
    beams.layout(arena, params.sequence_count, params.sequence_tokens, &stream.kv());
    search.layout(arena, {params.sequence_count, params.sequence_tokens});
    drafting.layout(arena, params.context_tokens, params.draft_tokens);
  }
  // Requires layout() over real memory. `pool` may be null.
  void init(ThreadPool* thread_pool) {
    pool = thread_pool;
    stream.init(thread_pool);
    decoder.init();
    drafting.init();
  }

  // Returns whether a callback of the sampler, of a search or of the executor is running, in this session or in one
  // that it works with. No function may change the session then.
  bool is_in_callback() const {
    return in_callback || is_calling_host(pool) || partners.any([](const SessionParts& partner) {
      return partner.in_callback || is_calling_host(partner.pool);
    });
  }
  // Removes all tokens. Does nothing in a callback.
  void reset() {
    if (is_in_callback()) return;
    stream.clear();
    output->clear();
    decoder.set_call_limit(UINT64_MAX);
    stop = Status::kOk;
  }

  bool in_callback = false;
  ThreadPool* pool = nullptr;
  Status stop = Status::kOk;   // why the newest text ended, or kOk while it continues
  uint64_t step_begin_ns = 0;  // when a batch began to evaluate the pending token, or 0
  Cancellation cancellation;
  Stops stops;
  TokenStream stream;
  TextOutput* const output;
  Decoder decoder{stops, stream, output, cancellation};
  Drafting drafting{decoder, stream, output, cancellation};
  Beams beams;
  Search search;
  Partners partners{*this};
};

}  // namespace sotto
