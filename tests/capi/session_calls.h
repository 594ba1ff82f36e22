// All functions that take a session, with arguments that a fresh session accepts. Functions that may always be called
// are left out.
#pragma once

#include <functional>
#include <vector>

#include "tests/memory/support.h"

namespace sotto {

inline constexpr ModelShape kShape = {300, 256, 32, 2, 48, 2};
inline constexpr sotto_token kPrompt[] = {1, 2, 3, 4};

inline void allow_everything(sotto_session_params& params) {
  params.context_tokens = 64;
  params.overflow = SOTTO_OVERFLOW_RING;
  params.sequence_count = 2;
  params.sequence_tokens = 16;
  params.draft_tokens = 4;
  params.features = SOTTO_FEATURE_GUIDE | SOTTO_FEATURE_HIDDEN_HISTORY;
}

struct Call {
  const char* name;
  std::function<sotto_status(sotto_session*)> run;
};

// `other` is a second session of the same model.
inline std::vector<Call> calls(sotto_session* other) {
  return {
      {"prefill", [](auto* s) { return sotto_session_prefill(s, kPrompt, 2); }},
      {"next",
       [](auto* s) {
         const sotto_piece* piece;
         return sotto_session_next(s, &piece);
       }},
      {"set_limit", [](auto* s) { return sotto_session_set_limit(s, 100); }},
      {"generate", [](auto* s) { return sotto_session_generate(s, nullptr, 0, 1, nullptr, nullptr); }},
      {"logits",
       [](auto* s) {
         const float* logits;
         size_t count;
         return sotto_session_logits(s, &logits, &count);
       }},
      {"hidden",
       [](auto* s) {
         const float* hidden;
         size_t count;
         return sotto_session_hidden(s, &hidden, &count);
       }},
      {"rewind", [](auto* s) { return sotto_session_rewind(s, 2); }},
      {"heal", [](auto* s) { return sotto_session_heal(s); }},
      {"set_sampler",
       [](auto* s) {
         sotto_sampler_params params;
         sotto_sampler_params_init(&params, sizeof params);
         return sotto_session_set_sampler(s, &params, nullptr);
       }},
      {"set_stops",
       [](auto* s) {
         sotto_stop_params params;
         sotto_stop_params_init(&params, sizeof params);
         return sotto_session_set_stops(s, &params, nullptr);
       }},
      {"set_matcher", [](auto* s) { return sotto_session_set_matcher(s, nullptr, nullptr); }},
      {"set_guide", [other](auto* s) { return sotto_session_set_guide(s, other, nullptr, nullptr); }},
      {"remove guide", [](auto* s) { return sotto_session_set_guide(s, nullptr, nullptr, nullptr); }},
      {"set_speculation", [](auto* s) { return sotto_session_set_speculation(s, nullptr, nullptr); }},
      {"score",
       [](auto* s) {
         sotto_score score = {};
         score.struct_size = sizeof score;
         return sotto_session_score(s, kPrompt, 2, nullptr, &score);
       }},
      {"embed",
       [](auto* s) {
         float embedding[kShape.embedding_size];
         return sotto_session_embed(s, kPrompt, 2, SOTTO_POOL_MEAN, embedding);
       }},
      {"search",
       [](auto* s) {
         sotto_search_params params;
         sotto_search_params_init(&params, sizeof params);
         const sotto_sequence* sequences;
         size_t count;
         return sotto_session_search(s, &params, &sequences, &count, nullptr);
       }},
      {"saved_size",
       [](auto* s) {
         size_t size;
         return sotto_session_saved_size(s, &size);
       }},
      {"save",
       [](auto* s) {
         std::vector<uint8_t> bytes(1 << 20);
         size_t size;
         return sotto_session_save(s, bytes.data(), bytes.size(), &size);
       }},
      {"restore",
       [](auto* s) {
         const uint8_t bytes[64] = {};
         return sotto_session_restore(s, bytes, sizeof bytes, nullptr) == SOTTO_INVALID_STATE ? SOTTO_INVALID_STATE
                                                                                              : SOTTO_OK;
       }},
      {"fork from", [other](auto* s) { return sotto_session_fork(s, other, nullptr); }},
      {"fork to", [other](auto* s) { return sotto_session_fork(other, s, nullptr); }},
      {"reset",
       [](auto* s) {
         sotto_session_reset(s);
         return SOTTO_INVALID_STATE;
       }},
      {"reset_timings",
       [](auto* s) {
         sotto_session_reset_timings(s);
         return SOTTO_INVALID_STATE;
       }},
      {"deinit",
       [](auto* s) {
         sotto_session_deinit(s);
         return SOTTO_INVALID_STATE;
       }},
  };
}

}  // namespace sotto
