// A session that owns its memory.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/memory/support.h"

namespace sotto {

class OpenSession {
 public:
  explicit OpenSession(sotto_model* model, const std::function<void(sotto_session_params&)>& adjust = {}) {
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    if (adjust) adjust(params);
    size_t size = 0;
    EXPECT_EQ(sotto_session_memory_size(model, &params, &size, nullptr), SOTTO_OK);
    memory_ = std::make_unique<AlignedBytes>(size, 0xEE);  // no code may rely on zeros
    EXPECT_EQ(sotto_session_init(model, &params, memory_->data(), size, &session_, nullptr), SOTTO_OK);
  }
  ~OpenSession() { sotto_session_deinit(session_); }
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  sotto_session* get() { return session_; }

  sotto_session_info info() {
    sotto_session_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(sotto_session_get_info(session_, &info), SOTTO_OK);
    return info;
  }

  std::vector<float> logits() {
    const float* logits = nullptr;
    size_t count = 0;
    EXPECT_EQ(sotto_session_logits(session_, &logits, &count), SOTTO_OK);
    return {logits, logits + count};
  }

  // Returns up to `count` tokens, and the status that ended them.
  std::vector<sotto_token> generate(size_t count, sotto_status* end = nullptr) {
    std::vector<sotto_token> tokens;
    sotto_status status = SOTTO_OK;
    const sotto_piece* piece;
    while (tokens.size() < count && (status = sotto_session_next(session_, &piece)) == SOTTO_OK) {
      tokens.push_back(piece->token);
    }
    if (end != nullptr) *end = status;
    return tokens;
  }

 private:
  std::unique_ptr<AlignedBytes> memory_;
  sotto_session* session_ = nullptr;
};

inline std::vector<sotto_token> random_tokens(size_t count, uint32_t vocabulary, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<sotto_token> tokens(count);
  for (auto& token : tokens) token = static_cast<sotto_token>(random() % vocabulary);
  return tokens;
}

}  // namespace sotto
