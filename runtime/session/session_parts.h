// The parts of a session, and its links to other sessions (partners.h). Each part refers only to parts above it.
// SavedState, SessionBatch and partners.h work on the parts; everything else calls Session.
#pragma once

#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/search/search.h"
#include "runtime/session/decoder.h"
#include "runtime/session/drafting.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/text/stops.h"
#include "runtime/transformer/beams.h"

namespace sotto {

struct SessionParts {
  SessionParts() = default;
  SessionParts(const SessionParts&) = delete;
  SessionParts& operator=(const SessionParts&) = delete;

  void layout(Arena& arena, const Model& model, const ResolvedSessionParams& params) {
    const ModelConfig& config = model.config();
    output.layout(arena);
    stream.layout(arena, model, params);
    decoder.layout(arena, model, params);
    stops.layout(arena,
                 {config.vocabulary_size, params.context_tokens, model.tokenizer() != nullptr, params.list_bytes});
    beams.layout(arena, params.sequence_count, params.sequence_tokens, &stream.kv());
    searcher.layout(arena, {params.sequence_count, params.sequence_tokens});
    drafting.layout(arena, params.context_tokens, params.draft_tokens);
  }
  // Requires layout() over real memory, and `pool`.
  void init() {
    output.init();
    stream.init(pool);
    decoder.init();
    drafting.init();
  }

  // Returns whether changes are forbidden now, because this session or a session linked to it is in use or is calling
  // the host's executor.
  bool is_in_use() const {
    const SessionParts* const involved[] = {this, guide, drafter, client};
    for (const SessionParts* parts : involved) {
      if (parts != nullptr && (parts->in_use || is_calling_host(parts->pool))) return true;
    }
    return false;
  }
  // Removes all tokens. Does nothing while the session is in use.
  void reset() {
    if (is_in_use()) return;
    stream.clear();
    output.clear();
    decoder.set_call_limit(UINT64_MAX);
  }

  bool in_use = false;         // true in functions that may call back into the program, and in a SessionBatch
  ThreadPool* pool = nullptr;  // null if the session has one thread
  uint64_t step_begin_ns = 0;  // when a batch began to evaluate the pending token, or 0
  SessionParts* next_in_batch = nullptr;  // the next session of the SessionBatch, or null
  Cancellation cancellation;
  Stops stops;
  TokenStream stream;
  TextOutput output{stops, stream};
  Decoder decoder{stops, stream, output, cancellation};
  Drafting drafting{decoder, stream, output, cancellation};
  Beams beams;
  Search searcher;
  // The sessions linked to this one, or null (partners.h).
  SessionParts* guide = nullptr;
  SessionParts* drafter = nullptr;
  SessionParts* client = nullptr;  // the session that this one guides or drafts for
};

}  // namespace sotto
