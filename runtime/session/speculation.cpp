#include "runtime/session/speculation.h"

#include <algorithm>

namespace sotto {

void Speculation::place(uint32_t context_tokens, uint32_t draft_tokens, Arena* arena) {
  const bool used = draft_tokens > 0;
  // The one beyond the drafts is the stream's pending token.
  text_ = arena->take<int32_t>(used ? size_t{context_tokens} + KvSequence::kMaxDraftTokens + 1 : 0);
  pool.place(used, arena);
}

void Speculation::set(const SpeculationParams& params) {
  params_ = params;
  batch_count_ = guess_count = 0;
  for (DraftPace& pace : paces) pace.restart();
  pool.clear();
}

void Speculation::begin(const TokenHistory& text, const SamplerState& sampler) {
  state = sampler;
  text_count_ = 0;
  for (const auto piece : text.pieces()) {
    std::copy(piece.begin(), piece.end(), text_ + text_count_);
    text_count_ += piece.size();
  }
  known_count_ = text_count_;
  room_end_ = text_count_ + KvSequence::kMaxDraftTokens;
}

void Speculation::open_batch(size_t forced, Kind kind) {
  batch_count_ = drafts().size();
  batch_forced_ = forced;
  batch_accepted_ = 0;
  batch_kind_ = kind;
  ++info.batch_count;
  info.proposed_count += batch_count_;
  info.forced_proposed_count += forced;
}

void Speculation::accept_one() {
  if (batch_accepted_ < batch_forced_) ++info.forced_accepted_count;
  ++batch_accepted_;
  ++info.accepted_count;
}

void Speculation::close_batch(bool refused) {
  if (batch_count_ > batch_forced_ && batch_accepted_ >= batch_forced_) {
    paces[batch_kind_].report(batch_accepted_ - batch_forced_, refused);
  }
  batch_count_ = 0;
}

}  // namespace sotto
