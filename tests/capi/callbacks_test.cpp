// Tests every function of a session from every callback. Inside callbacks of samplers, searches and executors,
// functions return INVALID_STATE. Inside the callback of generate, all functions except deinit work.

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/capi/open_sampler.h"
#include "tests/capi/open_session.h"
#include "tests/capi/session_calls.h"

namespace sotto {
namespace {

// A call that a callback makes once.
struct Attempt {
  sotto_session* session = nullptr;
  const Call* call = nullptr;
  bool made = false;
  sotto_status status = SOTTO_OK;

  void make() {
    if (made) return;
    made = true;
    status = call->run(session);
    sotto_session_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(sotto_session_get_info(session, &info), SOTTO_OK);
  }
};

void set_logits_callback(sotto_session* session, Attempt* attempt) {
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.logits_callback = [](void* user_data, float*, size_t) { static_cast<Attempt*>(user_data)->make(); };
  params.logits_user_data = attempt;
  ASSERT_EQ(sotto_session_set_sampler(session, &params, nullptr), SOTTO_OK);
}

class Callbacks : public testing::Test {
 protected:
  Callbacks() : model_(make_model_file(kShape, true)) {}

  LoadedModel model_;
};

TEST_F(Callbacks, AStepRejectsCallsOnItsSession) {
  OpenSession plain(model_.get(), allow_everything);
  OpenSession other(model_.get(), allow_everything);
  ASSERT_EQ(sotto_session_prefill(plain.get(), kPrompt, 4), SOTTO_OK);
  const auto expected = plain.generate(8);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    OpenSession session(model_.get(), allow_everything);
    Attempt attempt = {session.get(), &call};
    set_logits_callback(session.get(), &attempt);
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    EXPECT_EQ(session.generate(8), expected);
    EXPECT_TRUE(attempt.made);
    EXPECT_EQ(attempt.status, SOTTO_INVALID_STATE);
  }
}

TEST_F(Callbacks, AStepOfABatchRejectsCallsOnAllItsSessions) {
  OpenSession other(model_.get(), allow_everything);
  for (const bool is_own : {false, true}) {
    for (const Call& call : calls(other.get())) {
      SCOPED_TRACE(call.name);
      OpenSession first(model_.get(), allow_everything), second(model_.get(), allow_everything);
      Attempt attempt = {is_own ? first.get() : second.get(), &call};
      set_logits_callback(first.get(), &attempt);
      sotto_session* const sessions[] = {first.get(), second.get()};
      for (sotto_session* session : sessions) ASSERT_EQ(sotto_session_prefill(session, kPrompt, 4), SOTTO_OK);
      const sotto_piece* pieces[2];
      sotto_status statuses[2];
      for (int step = 0; step < 2; ++step) {
        ASSERT_EQ(sotto_sessions_next(sessions, 2, pieces, statuses, nullptr), SOTTO_OK);
        for (const sotto_status status : statuses) EXPECT_EQ(status, SOTTO_OK);
      }
      EXPECT_TRUE(attempt.made);
      EXPECT_EQ(attempt.status, SOTTO_INVALID_STATE);
      EXPECT_EQ(second.generate(4).size(), 4u);
    }
  }
}

TEST_F(Callbacks, AProcessorRejectsCallsOnItsSession) {
  OpenSession other(model_.get(), allow_everything);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    OpenSession session(model_.get(), allow_everything);
    Attempt attempt = {session.get(), &call};
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.logits_processor = [](void* user_data, const sotto_token*, size_t, uint32_t, float*, size_t) {
      static_cast<Attempt*>(user_data)->make();
    };
    params.processor_user_data = &attempt;
    ASSERT_EQ(sotto_session_set_sampler(session.get(), &params, nullptr), SOTTO_OK);
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    EXPECT_EQ(session.generate(8).size(), 8u);
    EXPECT_TRUE(attempt.made);
    EXPECT_EQ(attempt.status, SOTTO_INVALID_STATE);
  }
}

TEST_F(Callbacks, AStepRejectsCallsOnItsGuide) {
  OpenSession other(model_.get(), allow_everything);
  const auto generate = [&](const Call* call) {
    OpenSession session(model_.get(), allow_everything);
    OpenSession guide(model_.get(), allow_everything);
    Attempt attempt = {guide.get(), call};
    if (call != nullptr) set_logits_callback(session.get(), &attempt);
    EXPECT_EQ(sotto_session_set_guide(session.get(), guide.get(), nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    EXPECT_EQ(sotto_session_prefill(guide.get(), kPrompt, 2), SOTTO_OK);
    const auto tokens = session.generate(8);
    EXPECT_EQ(attempt.status, call == nullptr ? SOTTO_OK : SOTTO_INVALID_STATE);
    return tokens;
  };
  const auto expected = generate(nullptr);
  ASSERT_EQ(expected.size(), 8u);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    EXPECT_EQ(generate(&call), expected);
  }
}

TEST_F(Callbacks, ErrorsOfAStepReplaceOlderOnes) {
  for (const bool is_guide : {false, true}) {
    OpenSession session(model_.get(), allow_everything);
    OpenSession guide(model_.get(), allow_everything);
    sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
    const Call call = {"prefill", [&error](auto* s) {
                         const sotto_status status = sotto_session_prefill(s, kPrompt, 2);
                         EXPECT_EQ(sotto_session_get_error(s, &error), SOTTO_OK);
                         return status;
                       }};
    Attempt attempt = {is_guide ? guide.get() : session.get(), &call};
    set_logits_callback(session.get(), &attempt);
    EXPECT_EQ(sotto_session_set_guide(session.get(), guide.get(), nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    EXPECT_EQ(sotto_session_prefill(guide.get(), kPrompt, 2), SOTTO_OK);
    EXPECT_EQ(sotto_session_rewind(attempt.session, 1000), SOTTO_INVALID_ARGUMENT);
    EXPECT_EQ(session.generate(1).size(), 1u);
    EXPECT_EQ(error.status, SOTTO_INVALID_STATE);
    EXPECT_STREQ(error.message,
                 "session is in use: it cannot be called from a callback of its sampler, search or executor");
    EXPECT_EQ(sotto_session_get_error(session.get(), &error), SOTTO_OK);
    EXPECT_EQ(error.status, SOTTO_OK);
    EXPECT_STREQ(error.message, "");
  }
}

TEST_F(Callbacks, AStepOfASearchRejectsCallsOnItsSession) {
  OpenSession other(model_.get(), allow_everything);
  const auto search = [](sotto_session* session, Attempt* attempt, std::vector<sotto_token>* tokens) {
    sotto_search_params params;
    sotto_search_params_init(&params, sizeof params);
    params.on_step = [](void* user_data, uint32_t, sotto_token) -> int32_t {
      if (user_data != nullptr) static_cast<Attempt*>(user_data)->make();
      return 0;
    };
    params.step_user_data = attempt;
    const sotto_sequence* sequences = nullptr;
    size_t count = 0;
    const sotto_status status = sotto_session_search(session, &params, &sequences, &count, nullptr);
    if (status >= 0) tokens->assign(sequences[0].tokens, sequences[0].tokens + sequences[0].token_count);
    return status;
  };
  std::vector<sotto_token> expected;
  OpenSession plain(model_.get(), allow_everything);
  ASSERT_EQ(sotto_session_prefill(plain.get(), kPrompt, 4), SOTTO_OK);
  ASSERT_GE(search(plain.get(), nullptr, &expected), 0);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    OpenSession session(model_.get(), allow_everything);
    Attempt attempt = {session.get(), &call};
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    std::vector<sotto_token> found;
    EXPECT_GE(search(session.get(), &attempt, &found), 0);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(attempt.status, SOTTO_INVALID_STATE);
  }
}

// An executor that makes a call before it runs a task.
struct CallingExecutor {
  Attempt attempt;

  sotto_executor executor() {
    return {sizeof(sotto_executor), 0, [](void*) -> int32_t { return 2; },
            [](void* self, void* context, void (*task)(void*)) {
              Attempt& made = static_cast<CallingExecutor*>(self)->attempt;
              if (made.call != nullptr) made.make();
              task(context);
            },
            this};
  }
};

TEST_F(Callbacks, AnExecutorMustNotCallItsSession) {
  OpenSession other(model_.get(), allow_everything);
  const std::pair<const char*, std::function<void(sotto_session*)>> runs[] = {
      {"prefill", [](auto* s) { EXPECT_EQ(sotto_session_prefill(s, kPrompt, 4), SOTTO_OK); }},
      {"logits",
       [](auto* s) {
         const float* logits;
         size_t count;
         EXPECT_EQ(sotto_session_logits(s, &logits, &count), SOTTO_OK);
       }},
      {"hidden",
       [](auto* s) {
         const float* hidden;
         size_t count;
         EXPECT_EQ(sotto_session_hidden(s, &hidden, &count), SOTTO_OK);
       }},
      {"embed",
       [](auto* s) {
         float embedding[kShape.embedding_size];
         EXPECT_EQ(sotto_session_embed(s, kPrompt, 2, SOTTO_POOL_MEAN, embedding), SOTTO_OK);
       }},
  };
  for (const auto& [name, run] : runs) {
    for (const Call& call : calls(other.get())) {
      SCOPED_TRACE(std::string(call.name) + " in " + name);
      CallingExecutor host;
      const sotto_executor executor = host.executor();
      OpenSession session(model_.get(), [&](sotto_session_params& params) {
        allow_everything(params);
        params.thread_count = 3;
        params.executor = &executor;
      });
      ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
      EXPECT_EQ(session.generate(1).size(), 1u);
      host.attempt = {session.get(), &call};
      run(session.get());
      EXPECT_TRUE(host.attempt.made);
      EXPECT_EQ(host.attempt.status, SOTTO_INVALID_STATE);
      host.attempt = {};
      EXPECT_EQ(session.generate(4).size(), 4u);
    }
  }
}

TEST_F(Callbacks, AnExecutorOfAGuideMustNotCallTheGuidedSession) {
  OpenSession other(model_.get(), allow_everything);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    CallingExecutor host;
    const sotto_executor executor = host.executor();
    OpenSession session(model_.get(), allow_everything);
    OpenSession guide(model_.get(), [&](sotto_session_params& params) {
      allow_everything(params);
      params.thread_count = 3;
      params.executor = &executor;
    });
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    ASSERT_EQ(sotto_session_set_guide(session.get(), guide.get(), nullptr, nullptr), SOTTO_OK);
    host.attempt = {session.get(), &call};
    EXPECT_EQ(sotto_session_prefill(guide.get(), kPrompt, 2), SOTTO_OK);
    EXPECT_TRUE(host.attempt.made);
    EXPECT_EQ(host.attempt.status, SOTTO_INVALID_STATE);
    host.attempt = {};
    EXPECT_EQ(session.generate(4).size(), 4u);
  }
}

TEST_F(Callbacks, EverythingMayBeCalledBetweenTokens) {
  // Healing follows a prompt, and the others return no status.
  const std::set<std::string> without_success = {"heal", "reset", "reset_timings", "deinit"};
  OpenSession other(model_.get(), allow_everything);
  ASSERT_EQ(sotto_session_prefill(other.get(), kPrompt, 4), SOTTO_OK);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    OpenSession session(model_.get(), allow_everything);
    Attempt attempt = {session.get(), &call};
    const sotto_status status = sotto_session_generate(
        session.get(), kPrompt, 4, 8,
        [](void* user_data, const sotto_piece*) -> int32_t {
          static_cast<Attempt*>(user_data)->make();
          return 0;
        },
        &attempt);
    EXPECT_TRUE(attempt.made);
    EXPECT_EQ(attempt.status == SOTTO_INVALID_STATE, without_success.count(call.name) == 1);
    EXPECT_TRUE(status >= 0 || status == SOTTO_INVALID_STATE) << status;
    sotto_session_reset(session.get());
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    sotto_session_set_guide(session.get(), nullptr, nullptr, nullptr);
    EXPECT_EQ(session.generate(4).size(), 4u);
  }
}

TEST_F(Callbacks, NumbersThatAreNotFiniteAreHarmless) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    OpenSession session(model_.get(), allow_everything);
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.adaptive_target = 0.5f;
    float written = value;
    params.logits_callback = [](void* user_data, float* logits, size_t count) {
      std::fill_n(logits, count, *static_cast<float*>(user_data));
    };
    params.logits_user_data = &written;
    for (const sotto_selection selection : {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_GUMBEL, SOTTO_SELECT_MIROSTAT,
                                            SOTTO_SELECT_MIROSTAT_V2, SOTTO_SELECT_ADAPTIVE_P}) {
      params.selection = selection;
      ASSERT_EQ(sotto_session_set_sampler(session.get(), &params, nullptr), SOTTO_OK);
      ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
      EXPECT_EQ(session.generate(4).size(), 4u);
      size_t size = 0;
      ASSERT_EQ(sotto_session_saved_size(session.get(), &size), SOTTO_OK);
      std::vector<uint8_t> saved(size);
      ASSERT_EQ(sotto_session_save(session.get(), saved.data(), size, &size), SOTTO_OK);
      EXPECT_EQ(sotto_session_restore(session.get(), saved.data(), size, nullptr), SOTTO_OK) << selection;
    }
  }
}

// The settings of each mode of search, and of a session without one.
struct Mode {
  const char* name;
  sotto_search_mode mode = SOTTO_SEARCH_BEAM;
  uint32_t group_count = 1;
  bool is_search = true;
};
constexpr Mode kModes[] = {{"beam"},
                           {"diverse", SOTTO_SEARCH_BEAM, 2},
                           {"beam sample", SOTTO_SEARCH_BEAM_SAMPLE},
                           {"sample", SOTTO_SEARCH_SAMPLE},
                           {"contrastive", SOTTO_SEARCH_CONTRASTIVE},
                           {"session", SOTTO_SEARCH_BEAM, 1, false}};

struct Found {
  std::vector<std::vector<sotto_token>> tokens;
  std::vector<double> scores;
  bool operator==(const Found&) const = default;
};

// Returns the sequences that a search finds after the prompt, or the tokens that a session generates.
Found find(sotto_model* model, const Mode& mode, const std::function<void(sotto_sampler_params&)>& adjust) {
  OpenSession session(model, [](sotto_session_params& params) {
    allow_everything(params);
    params.sequence_count = 4;
  });
  sotto_sampler_params sampler;
  sotto_sampler_params_init(&sampler, sizeof sampler);
  sampler.top_k = 0;
  sampler.ignore_end = 1;
  adjust(sampler);
  EXPECT_EQ(sotto_session_set_sampler(session.get(), &sampler, nullptr), SOTTO_OK);
  EXPECT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
  if (!mode.is_search) return {{session.generate(12)}, {}};
  sotto_search_params params;
  sotto_search_params_init(&params, sizeof params);
  params.mode = mode.mode;
  params.group_count = mode.group_count;
  params.max_tokens = 12;
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  EXPECT_EQ(sotto_session_search(session.get(), &params, &sequences, &count, nullptr), SOTTO_OK) << mode.name;
  Found found;
  for (size_t i = 0; i < count; ++i) {
    found.tokens.emplace_back(sequences[i].tokens, sequences[i].tokens + sequences[i].token_count);
    found.scores.push_back(sequences[i].score);
  }
  return found;
}

void use(sotto_sampler_params& params, sotto_logits_processor_fn function, void* user_data) {
  params.logits_processor = function;
  params.processor_user_data = user_data;
}

// A processor that forbids a token must find the same sequences as a bias that forbids it.
TEST_F(Callbacks, AProcessorForbidsATokenInEveryMode) {
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    const Found plain = find(model_.get(), mode, [](auto&) {});
    ASSERT_FALSE(plain.tokens.empty());
    ASSERT_FALSE(plain.tokens[0].empty());
    sotto_token token = plain.tokens[0][0];
    const sotto_token_bias ban = {token, -std::numeric_limits<float>::infinity()};
    const Found expected = find(model_.get(), mode, [&](auto& params) {
      params.logit_bias = &ban;
      params.logit_bias_count = 1;
    });
    EXPECT_NE(expected, plain);
    EXPECT_EQ(find(model_.get(), mode,
                   [&](auto& params) {
                     use(
                         params,
                         [](void* banned, const sotto_token*, size_t, uint32_t, float* logits, size_t) {
                           logits[*static_cast<sotto_token*>(banned)] = std::numeric_limits<float>::quiet_NaN();
                         },
                         &token);
                   }),
              expected);
  }
}

// The same for pairs of tokens. The processor then needs the tokens of exactly the sequence whose logits it changes.
TEST_F(Callbacks, AProcessorSeesTheTokensOfItsSequence) {
  static constexpr uint32_t kShift = 100;  // token t must not follow a token t + kShift, modulo the vocabulary
  const auto forbidden_after = [](sotto_token last) {
    return static_cast<sotto_token>((static_cast<uint32_t>(last) + kShift) % kShape.vocabulary_size);
  };
  std::vector<sotto_token> pairs;
  for (uint32_t token = 0; token < kShape.vocabulary_size; ++token) {
    pairs.push_back(static_cast<sotto_token>(token));
    pairs.push_back(forbidden_after(pairs.back()));
  }
  std::vector<sotto_sequence_bias> biases;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    biases.push_back({&pairs[i], 2, -std::numeric_limits<float>::infinity(), 0});
  }
  struct Log {
    std::vector<std::vector<sotto_token>> tokens;
    std::vector<uint32_t> sequences;
  };
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    const Found expected = find(model_.get(), mode, [&](auto& params) {
      params.sequence_bias = biases.data();
      params.sequence_bias_count = biases.size();
    });
    Log log;
    const Found found = find(model_.get(), mode, [&](auto& params) {
      use(
          params,
          [](void* user_data, const sotto_token* tokens, size_t token_count, uint32_t sequence, float* logits, size_t) {
            auto& seen = *static_cast<Log*>(user_data);
            seen.tokens.emplace_back(tokens, tokens + token_count);
            seen.sequences.push_back(sequence);
            const auto last = static_cast<uint32_t>(tokens[token_count - 1]);
            logits[(last + kShift) % kShape.vocabulary_size] = -std::numeric_limits<float>::infinity();
          },
          &log);
    });
    EXPECT_EQ(found, expected);
    const std::vector<sotto_token> prompt(kPrompt, kPrompt + 4);
    std::set<uint32_t> indices(log.sequences.begin(), log.sequences.end());
    for (const auto& tokens : log.tokens) {
      ASSERT_GE(tokens.size(), 4u);
      EXPECT_EQ(std::vector<sotto_token>(tokens.begin(), tokens.begin() + 4), prompt);
    }
    const bool is_one = !mode.is_search || mode.mode == SOTTO_SEARCH_CONTRASTIVE;
    EXPECT_EQ(indices.size(), is_one ? 1u : 4u);
    EXPECT_EQ(*indices.begin(), 0u);
    if (mode.mode != SOTTO_SEARCH_SAMPLE) continue;
    // Each result is what the processor saw last for its sequence, and one more token.
    for (size_t i = 0; i < found.tokens.size(); ++i) {
      size_t last = 0;
      for (size_t call = 0; call < log.tokens.size(); ++call) last = log.sequences[call] == i ? call : last;
      std::vector<sotto_token> whole = prompt;
      whole.insert(whole.end(), found.tokens[i].begin(), found.tokens[i].end() - 1);
      EXPECT_EQ(log.tokens[last], whole);
    }
  }
}

TEST_F(Callbacks, NumbersThatAreNotFiniteAreHarmlessInEveryMode) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto find_with = [&](const Mode& mode, std::vector<float>& pattern) {
    const Found found = find(model_.get(), mode, [&](auto& params) {
      use(
          params,
          [](void* user_data, const sotto_token*, size_t, uint32_t, float* logits, size_t count) {
            const auto& written = *static_cast<std::vector<float>*>(user_data);
            for (size_t i = 0; i < count; ++i) {
              if (written[i % written.size()] != 0) logits[i] = written[i % written.size()];
            }
          },
          &pattern);
    });
    for (const double score : found.scores) EXPECT_TRUE(std::isfinite(score)) << mode.name;
    return found;
  };
  for (const Mode& mode : kModes) {
    SCOPED_TRACE(mode.name);
    // Bans of all tokens are skipped.
    const Found plain = find(model_.get(), mode, [](auto&) {});
    for (const float value : {-kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> all = {value};
      EXPECT_EQ(find_with(mode, all), plain);
    }
    // Tokens with +infinity are the only ones that can follow. 0 in the pattern keeps a logit.
    std::vector<float> some = {0, -kInfinity, 0, std::numeric_limits<float>::quiet_NaN(), 3e38f, kInfinity};
    for (const auto& tokens : find_with(mode, some).tokens) {
      for (const sotto_token token : tokens) EXPECT_EQ(token % 6, 5);
    }
    std::vector<float> huge = {3e38f, -3e38f};
    for (const auto& tokens : find_with(mode, huge).tokens) {
      for (const sotto_token token : tokens) EXPECT_EQ(token % 2, 0);
    }
  }
}

TEST(SamplerCallbacks, AStepRejectsCallsOnItsSampler) {
  constexpr size_t kVocabulary = 16;
  OpenSampler sampler(kVocabulary);
  struct Statuses {
    sotto_sampler* sampler;
    sotto_status set = SOTTO_OK;
    sotto_status sample = SOTTO_OK;
  } statuses = {sampler.get()};
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.logits_user_data = &statuses;
  params.logits_callback = [](void* user_data, float* logits, size_t) {
    auto& found = *static_cast<Statuses*>(user_data);
    sotto_sampler_params plain;
    sotto_sampler_params_init(&plain, sizeof plain);
    found.set = sotto_sampler_set(found.sampler, &plain, nullptr);
    sotto_sampler_input again = {};
    again.struct_size = sizeof again;
    again.logits = logits;
    sotto_token token;
    found.sample = sotto_sampler_sample(found.sampler, &again, &token, nullptr);
  };
  ASSERT_EQ(sotto_sampler_set(sampler.get(), &params, nullptr), SOTTO_OK);
  const std::vector<float> logits(kVocabulary, 1.0f);
  sotto_sampler_input input = {};
  input.struct_size = sizeof input;
  input.logits = logits.data();
  sotto_token token = -1;
  EXPECT_EQ(sotto_sampler_sample(sampler.get(), &input, &token, nullptr), SOTTO_OK);
  EXPECT_EQ(statuses.set, SOTTO_INVALID_STATE);
  EXPECT_EQ(statuses.sample, SOTTO_INVALID_STATE);
}

}  // namespace
}  // namespace sotto
