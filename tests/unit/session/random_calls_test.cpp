// Tests that any order of calls keeps the invariants: banned strings never occur in a text, a restored session
// continues identically, and no assertion fails.
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

class RandomCalls {
 public:
  explicit RandomCalls(uint32_t seed)
      : random_(seed),
        session_(text_model(), [this](SessionParams& params) { shape(params); }),
        guide_(text_model()),
        copy_(text_model(), [this](SessionParams& params) { shape(params); }) {
    set_sampler();
    set_stops();
  }

  void run(int calls) {
    for (int i = 0; i < calls && !testing::Test::HasFatalFailure(); ++i) call();
  }

 private:
  void shape(SessionParams& params) {
    params.features = kFeatureGuide;
    if (shape_ == 3) shape_ = random_() % 3;
    params.overflow = static_cast<Overflow>(shape_);
    params.context_tokens = params.overflow == Overflow::kStop ? 64 : 18;
    params.batch_tokens = 5;
  }

  void call() {
    switch (random_() % 16) {
      case 0:
        return set_sampler();
      case 1:
        return set_stops();
      case 2:
        return prefill();
      case 3:
        return constrain();
      case 4:
        return guide();
      case 5:
        return rewind();
      case 6:
        return compare_copy();
      case 7: {
        const Status status = session_->heal(nullptr);
        ASSERT_TRUE(status == Status::kOk || status == Status::kInvalidState);
        return;
      }
      case 8:
        return session_->cancel();
      case 9:
        return score();
      default:
        return generate(random_() % 8);
    }
  }

  void set_sampler() {
    const auto selection = static_cast<Selection>(random_() % 6);
    const uint64_t seed = random_();
    for (OpenedSession* each : {&session_, &copy_}) {
      each->sample(seed, [&](SamplerParams& params) {
        params.selection = selection;
        if (selection == Selection::kAdaptiveP) params.adaptive_target = 0.3f;
        params.repetition_penalty = 1.1f;
      });
    }
  }

  void set_stops() {
    const auto stops = random_strings(random_, random_() % 3, 5);
    bans_ = random_strings(random_, random_() % 3, 9);
    const auto stop_views = views(stops), ban_views = views(bans_);
    const int32_t stop_token = static_cast<int32_t>(random_() % vocabulary().size());
    StopParams params;
    params.stop_strings = stop_views;
    params.banned_strings = ban_views;
    if (random_() % 4 == 0) params.stop_tokens = {&stop_token, 1};
    if (random_() % 4 == 0) params.max_tokens = 1 + random_() % 9;
    for (OpenedSession* each : {&session_, &copy_}) {
      ASSERT_EQ((*each)->set_stops(params, nullptr), Status::kOk);
    }
    // Tokens that a ring cannot roll back, and text withheld until a rewind, would be emitted even if banned now.
    const int32_t token = 1;
    if (session_->token_stream().params().overflow != Overflow::kStop) (void)session_->prefill({&token, 1}, nullptr);
    oldest_rewind_ = session_->token_count();
    text_.clear();
  }

  void prefill() {
    std::vector<int32_t> tokens(random_() % 9);
    for (int32_t& token : tokens) token = static_cast<int32_t>(random_() % vocabulary().size());
    const Status status = session_->prefill(tokens, nullptr);
    ASSERT_TRUE(status == Status::kOk || status == Status::kPromptTooLong || status == Status::kStopCancelled);
    if (status == Status::kPromptTooLong) {
      session_->reset();
      oldest_rewind_ = 0;
    }
    text_.clear();
  }

  void constrain() {
    const bool on = random_() % 2 == 0;
    const Status status = session_->set_constraint(on ? automaton_.get() : TokenConstraint(), nullptr);
    ASSERT_TRUE(status == Status::kOk || status == Status::kInvalidState);
    // One automaton is enough, because it continues from its present state.
    automaton_.memory = random_() % 3 == 0 ? random_() % 4 : SIZE_MAX;
    text_.clear();
  }

  void guide() {
    if (random_() % 2 == 0) guide_->reset();
    if (guide_->token_count() == 0 && session_->set_guide(nullptr, {}, nullptr) == Status::kOk) {
      guide_.prefill({1, 2});
      const Status status = session_->set_guide(guide_.get(), {}, nullptr);
      ASSERT_TRUE(status == Status::kOk || status == Status::kInvalidState);
    } else {
      const Status status = session_->set_guide(nullptr, {}, nullptr);
      ASSERT_TRUE(status == Status::kOk || status == Status::kInvalidState);
      guide_->reset();
    }
    text_.clear();
  }

  void rewind() {
    const uint64_t count = session_->token_count();
    const uint64_t to = std::max(std::min(count, oldest_rewind_), count - std::min<uint64_t>(count, random_() % 6));
    const Status status = session_->rewind(to, nullptr);
    ASSERT_TRUE(status == Status::kOk || status == Status::kInvalidState);
    ASSERT_EQ(session_->token_count(), status == Status::kOk ? to : count);
    text_.clear();
  }

  void score() {
    const int32_t tokens[] = {1, 2, 3};
    ScoreResult result;
    const Status status = session_->score(tokens, nullptr, &result, nullptr);
    ASSERT_TRUE(status == Status::kOk || status == Status::kPromptTooLong || status == Status::kStopCancelled);
    text_.clear();
  }

  void generate(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const Status status = session_->next(nullptr);
      text_.append(session_->piece().text, session_->piece().text_size);
      for (const std::string& ban : bans_) {
        ASSERT_EQ(text_.find(ban), std::string::npos) << ban << " in " << text_;
      }
      if (static_cast<int32_t>(status) < 0) {
        ASSERT_TRUE(status == Status::kInvalidState || status == Status::kGrammarDeadEnd) << status_text(status);
        return;
      }
      if (status == Status::kStopCancelled) continue;
      if (status != Status::kOk) {
        text_.clear();
        return;
      }
    }
  }

  // Compares without constraint and guide, which are not part of a saved state.
  void compare_copy() {
    session_->cancel();
    (void)session_->next(nullptr);
    if (session_->set_constraint({}, nullptr) != Status::kOk) return;
    if (session_->set_guide(nullptr, {}, nullptr) != Status::kOk) return;
    std::vector<uint8_t> bytes(SavedState::size(*session_));
    SavedState::save(*session_, bytes.data());
    if (random_() % 2 == 0) {
      Error error;
      ASSERT_EQ(SavedState::restore(bytes, copy_.get(), &error), Status::kOk) << error.message;
    } else {
      ASSERT_EQ(SavedState::fork(*session_, copy_.get(), nullptr), Status::kOk);
    }
    for (int i = 0; i < 12; ++i) {
      const Status status = session_->next(nullptr);
      ASSERT_EQ(copy_->next(nullptr), status);
      const Piece &a = session_->piece(), &b = copy_->piece();
      ASSERT_EQ(a.token, b.token);
      ASSERT_EQ(std::string(a.text, a.text_size), std::string(b.text, b.text_size));
    }
    text_.clear();
  }

  std::mt19937 random_;
  uint32_t shape_ = 3;
  OpenedSession session_, guide_, copy_;
  Automaton automaton_{{{{1, 1}, {2, 0}, {9, 1}}, {{3, 0}, {4, 1}, {12, 0}}}, {0}};
  std::vector<std::string> bans_;
  std::string text_;
  uint64_t oldest_rewind_ = 0;  // the text before this token was generated with other stops
};

TEST(RandomCalls, KeepEveryInvariant) {
  for (uint32_t seed = 0; seed < 400 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomCalls(seed).run(80);
  }
}

}  // namespace
}  // namespace sotto
