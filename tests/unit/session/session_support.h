// A model over a few short tokens, so that strings often cross token borders, and sessions over it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session/saved_state.h"
#include "runtime/session/session.h"
#include "tests/support/any_token.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {

// The tokens are strings of a, b, c and a few multi-byte characters, complete or cut, and an end-of-text token without
// bytes.
inline constexpr int32_t kEndToken = 0;
const std::vector<std::string>& vocabulary();
int32_t token_of(std::string_view bytes);
std::string bytes_of(const std::vector<int32_t>& tokens);

// Returns a model with `layer_count` layers; `seed` selects the weights, and `norm_gain` scales the final norm. Each
// model is made only once.
const Model& text_model(uint32_t layer_count = 2, uint64_t seed = 1, float norm_gain = 1);
// Returns a model with another vocabulary and without a tokenizer.
const Model& model_without_text();

struct Generated {
  std::vector<int32_t> tokens;
  std::string text;
  Status end = Status::kOk;
};

class OpenedSession {
 public:
  explicit OpenedSession(const Model& model, const std::function<void(SessionParams&)>& adjust = {});
  ~OpenedSession() { session_->deinit(); }
  OpenedSession(const OpenedSession&) = delete;
  OpenedSession& operator=(const OpenedSession&) = delete;

  Session* operator->() { return session_; }
  Session& operator*() { return *session_; }
  Session* get() { return session_; }

  // Sets temperature 1 without truncation, and the changes of `adjust`.
  void sample(uint64_t seed, const std::function<void(SamplerParams&)>& adjust = {});
  void stop_at(const std::vector<std::string>& strings, bool include = false);
  void ban(const std::vector<std::string>& strings);
  void prefill(const std::vector<int32_t>& tokens);
  // Calls next() until a stop, at most `count` times.
  Generated generate(size_t count);
  std::vector<float> logits();

 private:
  std::unique_ptr<TestMemory> memory_;
  Session* session_ = nullptr;
};

// A constraint: a small automaton over tokens, with a trail for rewinds.
class Automaton : public AnyToken {
 public:
  // moves[state][token] is the next state. A state in `ends` also allows the end-of-text token. A state without moves
  // must be in `ends`, and completes the text.
  Automaton(std::vector<std::map<int32_t, int>> moves, std::vector<int> ends);
  Automaton(const Automaton&) = delete;
  Automaton& operator=(const Automaton&) = delete;

  TokenConstraint get() { return TokenConstraint(this); }
  int state() const { return trail_.back(); }
  size_t accepted() const { return trail_.size() - 1; }
  // Number of tokens that can be rolled back, apart from a return to the start.
  size_t memory = SIZE_MAX;

  Status mask(uint32_t sequence, TokenMask* mask);
  bool must_end(uint32_t sequence);
  Status accept_token(uint32_t sequence, int32_t token);
  Status accept_text(uint32_t sequence, std::span<const char> text);
  Status test_text(uint32_t sequence, std::span<const char> text, bool* begins, bool* matches);
  bool can_rewind(uint64_t count) const { return count <= std::min(memory, accepted()); }
  Status rewind(uint64_t count);
  void mark_start() { start_ = accepted(); }
  void restart() { trail_.resize(start_ + 1); }

 private:
  // Returns the state after text that tokens allowed here spell as a whole, or -1 if there is none.
  int step(std::span<const char> text) const;
  bool ends_in(int state) const;

  std::vector<std::map<int32_t, int>> moves_;
  std::vector<int> ends_;
  std::vector<int> trail_ = {0};
  size_t start_ = 0;
  std::vector<uint64_t> words_;
};

// Returns views of a list of strings.
std::vector<TextView> views(const std::vector<std::string>& strings);

std::string random_text(std::mt19937& random, size_t min_size, size_t max_size);
std::vector<std::string> random_strings(std::mt19937& random, size_t count, size_t max_size);

}  // namespace sotto
