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
    const Status status = session->next();
    pieces.push_back(record(status, session->piece()));
  }
  return pieces;
}

std::vector<uint8_t> saved_bytes(const Session& session) {
  std::vector<uint8_t> bytes(SavedState::size(session));
  SavedState::save(session, bytes.data());
  return bytes;
}

namespace {

std::vector<NamedSampler> make_samplers() {
  static const int32_t kTokens[] = {1, 2, 3};
  static const TokenBias kBiases[] = {{4, 1.0f}, {5, -1.0f}};
  static const TokenList kWords[] = {{kTokens, 2}, {kTokens + 2, 1}};
  std::vector<NamedSampler> samplers = {
      {"plain", [](auto&) {}},
      {"greedy", [](auto& p) { p.selection = Selection::kGreedy; }},
      {"cold", [](auto& p) { p.temperature = 0; }},
      {"gumbel", [](auto& p) { p.selection = Selection::kGumbel; }},
      {"mirostat", [](auto& p) { p.selection = Selection::kMirostat; }},
      {"mirostat 2", [](auto& p) { p.selection = Selection::kMirostatV2; }},
      {"adaptive",
       [](auto& p) {
         p.selection = Selection::kAdaptiveP;
         p.adaptive_target = 0.3f;
       }},
      {"repetition", [](auto& p) { p.repetition_penalty = 1.3f; }},
      {"frequency", [](auto& p) { p.frequency_penalty = 0.5f; }},
      {"presence", [](auto& p) { p.presence_penalty = 0.5f; }},
      {"slope",
       [](auto& p) {
         p.repetition_penalty = 1.2f;
         p.penalty_slope = 1.5f;
         p.repetition_window = UINT32_MAX;
       }},
      {"n-grams", [](auto& p) { p.no_repeat_ngram = 3; }},
      {"dry", [](auto& p) { p.dry_multiplier = 1; }},
      {"guard", [](auto& p) { p.guard_window = 32; }},
      {"bias", [](auto& p) { p.logit_bias = kBiases; }},
      {"bad words", [](auto& p) { p.bad_words = kWords; }},
      {"suppressed", [](auto& p) { p.suppressed_tokens = kTokens; }},
      {"prefix", [](auto& p) { p.forced_prefix = kTokens; }},
      {"min new", [](auto& p) { p.min_new_tokens = 9; }},
      {"end decay", [](auto& p) { p.end_decay_factor = 1.1f; }},
      {"no end", [](auto& p) { p.ignore_end = true; }},
      {"top_k", [](auto& p) { p.top_k = 3; }},
      {"top_p", [](auto& p) { p.top_p = 0.7f; }},
      {"top_p decay",
       [](auto& p) {
         p.top_p = 0.9f;
         p.top_p_decay = 0.9f;
       }},
      {"min_p", [](auto& p) { p.min_p = 0.3f; }},
      {"top_a", [](auto& p) { p.top_a = 0.3f; }},
      {"tail free", [](auto& p) { p.tail_free = 0.8f; }},
      {"typical", [](auto& p) { p.typical_p = 0.6f; }},
      {"epsilon", [](auto& p) { p.epsilon = 0.01f; }},
      {"eta", [](auto& p) { p.eta = 0.01f; }},
      {"sigma", [](auto& p) { p.top_n_sigma = 1; }},
      {"top_h", [](auto& p) { p.top_h = 0.5f; }},
      {"xtc",
       [](auto& p) {
         p.xtc_probability = 1;
         p.xtc_threshold = 0.001f;
       }},
      {"dynamic", [](auto& p) { p.temperature_range = 0.5f; }},
      {"smoothing", [](auto& p) { p.smoothing_factor = 0.3f; }},
      {"dola", [](auto& p) { p.dola = DolaLayers::kHigh; }},
  };
  for (const auto scheme : {WatermarkScheme::kLeftHash, WatermarkScheme::kSelfHash, WatermarkScheme::kTournament,
                            WatermarkScheme::kGumbel}) {
    samplers.push_back({"watermark", [scheme](auto& p) { p.watermark.scheme = scheme; }});
  }
  return samplers;
}

}  // namespace

const std::vector<NamedSampler>& every_sampler() {
  static const std::vector<NamedSampler> samplers = make_samplers();
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
