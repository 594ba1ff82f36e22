// Compares sessions that advance in one batch with sessions that advance alone, bit for bit: all fields of the pieces,
// the logits, and the saved states with the KV ring.
#include "runtime/session/session_batch.h"

#include "kernels/thread_pool.h"
#include "tests/unit/session/speculation_support.h"

namespace sotto {
namespace {

// Adds all sessions to a batch, or returns why this is not possible.
Status add_all(const std::vector<Session*>& sessions, SessionBatch* batch, Error* error = nullptr) {
  for (Session* session : sessions) SOTTO_TRY(batch->add(session, error));
  return Status::kOk;
}

// Advances all sessions by one batch. Adds the error of each session to `errors`, unless that is null.
std::vector<RecordedPiece> next_of(const std::vector<Session*>& sessions, std::vector<Error>* errors = nullptr) {
  SessionBatch batch;
  Error error;
  EXPECT_EQ(add_all(sessions, &batch, &error), Status::kOk) << error.message;
  batch.evaluate();
  std::vector<RecordedPiece> pieces;
  for (Session* session : sessions) {
    Error failure;
    const Status status = batch.next(session, &failure);
    pieces.push_back(record(status, session->piece()));
    if (errors != nullptr) errors->push_back(failure);
  }
  return pieces;
}

// A session with everything that it uses. Two of them with the same seed behave in the same way.
class Twin {
 public:
  explicit Twin(uint32_t seed, uint32_t thread_count) : random_(seed), shape_(draw(7)), thread_count_(thread_count) {
    configure();
    if (shape_ == 4) guide(own_guide_);
    if (shape_ == 5) guide(other_guide_);
    if (shape_ == 6) {
      SpeculationParams params;
      params.sources = kDraftLookup;
      EXPECT_EQ(session_->set_speculation(params, nullptr), Status::kOk);
    }
    prefill();
  }

  Session* get() { return session_.get(); }

  // Makes a random call other than next().
  void call() {
    switch (draw(12)) {
      case 0:
        return configure();
      case 1:
        return prefill();
      case 2:
        return (void)session_->rewind(session_->token_count() - std::min<uint64_t>(session_->token_count(), draw(5)),
                                      nullptr);
      case 3:
        return (void)session_->heal(nullptr);
      case 4:
        return session_->cancel();
      case 5:
        return session_->set_limit(draw(4));
      case 6:
        return (void)session_->set_constraint(draw(2) == 0 ? automaton_.get() : TokenConstraint(), nullptr);
      case 7:
        return read(&Session::logits);
      case 8:
        return read(&Session::hidden);
      case 9:
        if (draw(4) > 0) return;
        session_->reset();
        return prefill();
    }
  }

  std::vector<uint8_t> saved() { return saved_bytes(*session_.get()); }
  // Returns the logits or hidden states that call() has read last.
  const std::vector<float>& row() const { return row_; }

 private:
  uint32_t draw(uint32_t count) { return static_cast<uint32_t>(random_() % count); }

  void adjust(SessionParams& params) {
    params.overflow = static_cast<Overflow>(shape_ % 3);
    params.context_tokens = params.overflow == Overflow::kStop ? 64 : 16 + draw(9);
    params.batch_tokens = 1 + draw(9);
    params.thread_count = thread_count_;
    params.features = draw(2) == 0 ? kFeatureGuide : kFeatureAll;
    if (shape_ == 6) params.draft_tokens = 3;
  }

  void configure() {
    const NamedSampler& sampler = every_sampler()[draw(static_cast<uint32_t>(every_sampler().size()))];
    const bool can_contrast = (session_->token_stream().params().features & kFeatureDola) != 0;
    const bool describes = draw(2) == 0;
    session_.sample(draw(1000), [&](SamplerParams& params) {
      sampler.adjust(params);
      if (!can_contrast) params.dola = DolaLayers::kOff;
      params.log_probabilities = describes;
      params.alternative_count = describes ? 3 : 0;
    });
    session_.stop_at(random_strings(random_, draw(3), 5));
    if (draw(3) == 0) session_.ban(random_strings(random_, draw(3), 5));
  }

  void prefill() {
    std::vector<int32_t> tokens(1 + draw(9));
    for (int32_t& token : tokens)
      token = static_cast<int32_t>(1 + draw(static_cast<uint32_t>(vocabulary().size()) - 1));
    if (session_->prefill(tokens, nullptr) == Status::kPromptTooLong) session_->reset();
  }

  void read(Status (Session::*find)(std::span<const float>*, Error*)) {
    std::span<const float> row;
    if ((session_.get()->*find)(&row, nullptr) == Status::kOk) row_.assign(row.begin(), row.end());
  }

  void guide(OpenedSession& guide) {
    guide.prefill({1, 2});
    EXPECT_EQ(session_->set_guide(guide.get(), {}, nullptr), Status::kOk);
  }

  std::mt19937 random_;
  uint32_t shape_;
  uint32_t thread_count_;
  OpenedSession own_guide_{text_model(8, 5)}, other_guide_{text_model(2, 1)};
  Automaton automaton_{{{{1, 1}, {2, 0}, {9, 1}}, {{3, 0}, {4, 1}, {12, 0}}}, {0}};
  OpenedSession session_{text_model(8, 5), [this](SessionParams& params) { adjust(params); }};
  std::vector<float> row_;
};

class SessionBatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (find_kernels(isa_of_environment()) == nullptr) GTEST_SKIP() << "this CPU or build lacks the instruction set";
  }
};

void compare(uint32_t seed, uint32_t thread_count) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<Twin>> together, alone;
  for (size_t i = 0; i < 1 + random() % 6; ++i) {
    const auto own_seed = static_cast<uint32_t>(random());
    together.push_back(std::make_unique<Twin>(own_seed, thread_count));
    alone.push_back(std::make_unique<Twin>(own_seed, thread_count));
  }
  for (int step = 0; step < 60; ++step) {
    // Sessions take part in random steps, in a random order.
    std::vector<size_t> order;
    for (size_t i = 0; i < together.size(); ++i) {
      if (random() % 8 > 0) order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Session*> sessions;
    for (const size_t i : order) sessions.push_back(together[i]->get());
    std::vector<Error> errors;
    const std::vector<RecordedPiece> pieces = next_of(sessions, &errors);
    for (size_t place = 0; place < order.size(); ++place) {
      SCOPED_TRACE(testing::Message() << "step " << step << ", session " << order[place]);
      Session* const other = alone[order[place]]->get();
      Error error;
      const Status status = other->next(&error);
      ASSERT_EQ(pieces[place], record(status, other->piece()));
      ASSERT_STREQ(errors[place].message, error.message);
    }
    for (size_t i = 0; i < together.size(); ++i) {
      if (random() % 8 > 0) continue;
      SCOPED_TRACE(testing::Message() << "call in step " << step << ", session " << i);
      together[i]->call();
      alone[i]->call();
      ASSERT_EQ(together[i]->row(), alone[i]->row());
      ASSERT_EQ(together[i]->saved(), alone[i]->saved());
    }
  }
}

TEST_F(SessionBatchTest, EqualsSessionsAlone) {
  for (uint32_t seed = 0; seed < 80 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    compare(seed, 1);
  }
}

TEST_F(SessionBatchTest, EqualsSessionsAloneWithTwoThreads) {
  if (!threads_available()) GTEST_SKIP() << "built without threads";
  for (uint32_t seed = 1000; seed < 1020 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    compare(seed, 2);
  }
}

// More sessions than one batch can hold.
TEST_F(SessionBatchTest, DividesLongLists) {
  constexpr size_t kCount = KvSequence::kMaxSequences + 3;
  std::vector<std::unique_ptr<OpenedSession>> together, alone;
  std::vector<Session*> sessions;
  for (size_t i = 0; i < kCount; ++i) {
    for (auto* list : {&together, &alone}) {
      OpenedSession& session = *list->emplace_back(std::make_unique<OpenedSession>(text_model()));
      session.sample(i);
      session.prefill({1, static_cast<int32_t>(1 + i % 9)});
    }
    sessions.push_back(together.back()->get());
  }
  for (int step = 0; step < 8; ++step) {
    const std::vector<RecordedPiece> pieces = next_of(sessions);
    for (size_t i = 0; i < kCount; ++i) {
      const Status status = (*alone[i])->next(nullptr);
      ASSERT_EQ(pieces[i], record(status, (*alone[i])->piece())) << step << ", " << i;
    }
  }
}

// Every pending token is evaluated in a batch, and all sessions report an equal share of its time.
TEST_F(SessionBatchTest, EvaluatesPendingTokensAtOnce) {
  OpenedSession a(text_model()), b(text_model());
  for (OpenedSession* session : {&a, &b}) {
    session->sample(1, [](SamplerParams& params) { params.ignore_end = true; });
    session->prefill({1, 2});
  }
  next_of({a.get(), b.get()});
  SessionBatch batch;
  ASSERT_EQ(add_all({a.get(), b.get()}, &batch), Status::kOk);
  ASSERT_TRUE(a->token_stream().has_pending() && b->token_stream().has_pending());
  batch.evaluate();
  EXPECT_FALSE(a->token_stream().has_pending() || b->token_stream().has_pending());
  EXPECT_EQ(a->timings().decode_tokens, 1u);
  EXPECT_EQ(a->timings().decode_ns, b->timings().decode_ns);
}

// The last token of a text costs nothing, as without a batch.
TEST_F(SessionBatchTest, DoesNotEvaluateTheLastToken) {
  OpenedSession a(text_model()), b(text_model());
  for (OpenedSession* session : {&a, &b}) {
    session->sample(1, [](SamplerParams& params) { params.ignore_end = true; });
    session->prefill({1, 2});
  }
  a->set_limit(1);
  next_of({a.get(), b.get()});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next_of({a.get(), b.get()})[0].status, Status::kStopMaxTokens);
  EXPECT_TRUE(a->token_stream().has_pending());
  EXPECT_EQ(a->timings().decode_tokens, 0u);
  EXPECT_EQ(b->token_count(), 2u + 4u);
}

TEST_F(SessionBatchTest, RejectsListsWithoutChanges) {
  OpenedSession a(text_model()), b(text_model()), other(text_model(8, 5));
  OpenedSession guided(text_model(), [](SessionParams& params) { params.features = kFeatureGuide; });
  for (OpenedSession* session : {&a, &b, &other, &guided}) session->prefill({1, 2});
  ASSERT_EQ(guided->set_guide(b.get(), {}, nullptr), Status::kOk);
  const auto message_of = [](const std::vector<Session*>& sessions) {
    Error error;
    SessionBatch batch;
    EXPECT_EQ(add_all(sessions, &batch, &error), Status::kInvalidArgument);
    return std::string(error.message);
  };
  EXPECT_EQ(message_of({a.get(), other.get()}), "sessions[1] has another model; it must have the one of sessions[0]");
  const char* twice = "sessions[2] is given twice, or as the guide or draft session of another one";
  EXPECT_EQ(message_of({a.get(), b.get(), a.get()}), twice);
  EXPECT_EQ(message_of({a.get(), b.get(), guided.get()}), twice);
  EXPECT_EQ(message_of({a.get(), guided.get(), b.get()}), twice);
  for (OpenedSession* session : {&a, &b, &other, &guided}) {
    EXPECT_FALSE((*session)->is_in_use());
    EXPECT_EQ((*session)->token_count(), 2u);
  }
  SessionBatch().evaluate();
}

// A callback of one session finds all sessions of the batch in use.
TEST_F(SessionBatchTest, IsInUseInCallbacks) {
  OpenedSession a(text_model()), b(text_model());
  const std::vector<Session*> sessions = {a.get(), b.get()};
  struct Calls {
    const std::vector<Session*>& sessions;
    int count = 0;
  } calls{sessions};
  a.sample(1, [&](SamplerParams& params) {
    params.logits_user_data = &calls;
    params.logits_callback = [](void* self, float*, size_t) {
      auto& made = *static_cast<Calls*>(self);
      ++made.count;
      for (Session* session : made.sessions) {
        EXPECT_TRUE(session->is_in_use());
        session->deinit();
      }
      Error error;
      SessionBatch batch;
      EXPECT_EQ(add_all(made.sessions, &batch, &error), Status::kInvalidState);
      EXPECT_EQ(std::string(error.message).substr(0, 22), "sessions[0] is in use:");
    };
  });
  b.sample(2);
  for (Session* session : sessions) ASSERT_EQ(session->prefill(std::vector<int32_t>{1, 2}, nullptr), Status::kOk);
  for (int i = 0; i < 5; ++i) next_of(sessions);
  EXPECT_EQ(calls.count, 5);
}

}  // namespace
}  // namespace sotto
