#include "tests/unit/session/speculation_support.h"

#include <algorithm>
#include <ostream>

namespace sotto {

void PrintTo(const RecordedPiece& piece, std::ostream* stream) {
  *stream << static_cast<int32_t>(piece.status) << ":" << piece.token << " \"" << piece.text << "\" "
          << piece.log_probability << " " << piece.sampled_log_probability;
}

RecordedPiece record(Status status, const Piece& piece) {
  RecordedPiece recorded = {status,
                            piece.token,
                            {piece.text, piece.text_size},
                            std::bit_cast<uint32_t>(piece.log_probability),
                            std::bit_cast<uint32_t>(piece.sampled_log_probability),
                            {},
                            std::bit_cast<uint32_t>(piece.entropy),
                            piece.kept_count,
                            std::bit_cast<uint32_t>(piece.repetitiveness)};
  for (uint32_t i = 0; i < piece.alternative_count; ++i) {
    recorded.alternatives.push_back(
        {piece.alternatives[i].token, std::bit_cast<uint32_t>(piece.alternatives[i].log_probability)});
  }
  return recorded;
}

std::vector<RecordedPiece> record(OpenedSession& session, size_t count) {
  std::vector<RecordedPiece> pieces;
  while (pieces.size() < count && (pieces.empty() || pieces.back().status == Status::kOk)) {
    const Status status = session->next(nullptr);
    pieces.push_back(record(status, session->piece()));
  }
  return pieces;
}

std::vector<uint8_t> saved_bytes(const Session& session) {
  std::vector<uint8_t> bytes(SavedState::size(session));
  SavedState::save(session, bytes.data());
  return bytes;
}

const std::vector<NamedSampler>& every_sampler() {
  static const std::vector<NamedSampler> samplers = sampler_settings<SamplerParams>();
  return samplers;
}

const std::vector<NamedDrafts>& every_source() {
  static const std::vector<NamedDrafts> sources = {{"lookup", kDraftLookup},
                                                   {"session", kDraftSession},
                                                   {"early exit", kDraftEarlyExit},
                                                   {"lookahead", kDraftLookahead},
                                                   {"callback", kDraftCallback},
                                                   {"all", kDraftAll},
                                                   {"nothing", 0}};
  return sources;
}

size_t UnrulyDrafts::draft(void* self, const int32_t* tokens, size_t token_count, const float* hidden,
                           size_t hidden_count, int32_t* drafts, size_t capacity) {
  auto& unruly = *static_cast<UnrulyDrafts*>(self);
  const size_t width = text_model().config().embedding_size;
  if (token_count == 0 || hidden_count != (hidden == nullptr ? 0 : width)) ++unruly.bad_inputs;
  for (size_t i = 0; i < std::min(token_count, unruly.truth.size()); ++i) {
    if (unruly.is_whole && tokens[i] != unruly.truth[i]) ++unruly.bad_inputs;
  }
  const uint32_t call = unruly.calls++;
  const auto size = static_cast<uint32_t>(vocabulary().size());
  for (size_t i = 0; i < capacity; ++i) {
    const size_t place = token_count + i;
    const bool is_known = place < unruly.truth.size();
    drafts[i] = is_known && call % 4 != 3 ? unruly.truth[place] : static_cast<int32_t>((call * 7 + i) % size);
  }
  switch (call % 7) {
    case 2:
      drafts[capacity / 2] = -1;
      break;
    case 4:
      drafts[capacity - 1] = static_cast<int32_t>(size);
      break;
    case 5:
      return SIZE_MAX;
    case 6:
      return 0;
    default:
      break;
  }
  return capacity;
}

SpeculatingSession::SpeculatingSession(const Model& model, uint32_t sources,
                                       const std::function<void(SessionParams&)>& adjust)
    : drafter_(text_model(1, 1), [](SessionParams& params) { params.context_tokens = 48; }),
      session_(model, [&](SessionParams& params) {
        if (adjust) adjust(params);
        params.draft_tokens = kDraftTokens;
      }) {
  SpeculationParams params;
  params.sources = sources;
  params.min_match = 1;
  params.exit_layer = 1;
  params.draft_session = (sources & kDraftSession) != 0 ? drafter_.get() : nullptr;
  params.draft = UnrulyDrafts::draft;
  params.user_data = &unruly;
  Error error;
  if (session_->set_speculation(params, &error) != Status::kOk) {
    throw std::runtime_error(error.message);
  }
}

// Destroys the session before the one that drafts for it, and in other tests after it.
SpeculatingSession::~SpeculatingSession() = default;

}  // namespace sotto
