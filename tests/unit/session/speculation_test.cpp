// Tests that speculation changes only the time. With any drafts, in every mode, a session emits the same tokens, text
// and probabilities, bit for bit, and ends in the same state.
#include "tests/unit/session/speculation_support.h"

#include <cmath>

namespace sotto {
namespace {

// Three layers, so that an early exit and DoLa have a choice of layers.
const Model& model() { return text_model(3, 1); }

std::vector<int32_t> repetitive_prompt() {
  std::vector<int32_t> prompt;
  for (int i = 0; i < 20; ++i) prompt.push_back(1 + (i % 7));
  return prompt;
}

void share_features(SessionParams& params) {
  params.features = kFeatureHiddenHistory | kFeatureDola | kFeatureGuide;
  params.batch_tokens = 3;
}

void report_all(SamplerParams& params) {
  params.log_probabilities = true;
  params.alternative_count = 3;
}

std::vector<float> logits_if_any(OpenedSession& session) {
  std::span<const float> logits;
  const Status status = session->logits(&logits, nullptr);
  EXPECT_TRUE(status == Status::kOk || status == Status::kStopContextFull);
  return {logits.begin(), logits.end()};
}

using Totals = std::map<std::string, SpeculationInfo>;

// Runs `use` on a plain session and on speculating ones, and compares the results.
void compare(const Model& used, const std::function<void(SessionParams&)>& adjust,
             const std::function<std::vector<RecordedPiece>(OpenedSession&)>& use, const std::string& what,
             Totals* totals = nullptr, bool is_whole = false) {
  OpenedSession plain(used, [&](SessionParams& params) {
    if (adjust) adjust(params);
  });
  const auto expected = use(plain);
  const auto expected_state = saved_bytes(*plain);
  const auto expected_logits = logits_if_any(plain);
  for (const NamedDrafts& drafts : every_source()) {
    SCOPED_TRACE(what + ", " + drafts.name);
    SpeculatingSession speculating(used, drafts.sources, adjust);
    for (const RecordedPiece& piece : expected) {
      if (speculating.unruly.truth.empty()) speculating.unruly.truth = repetitive_prompt();
      if (piece.token >= 0) speculating.unruly.truth.push_back(piece.token);
    }
    speculating.unruly.is_whole = is_whole;
    const auto found = use(*speculating);
    ASSERT_EQ(found, expected);
    ASSERT_EQ(saved_bytes(*speculating.operator->()), expected_state);
    ASSERT_EQ(logits_if_any(*speculating), expected_logits);
    EXPECT_EQ(speculating.unruly.bad_inputs, 0u);
    const SpeculationInfo& info = speculating->speculation_info();
    EXPECT_LE(info.accepted_count, info.proposed_count);
    if (totals == nullptr) continue;
    SpeculationInfo& total = (*totals)[drafts.name];
    total.proposed_count += info.proposed_count;
    total.accepted_count += info.accepted_count;
  }
}

TEST(Speculation, ChangesNothingInAnyModeOfSampling) {
  Totals totals;
  for (const NamedSampler& sampler : every_sampler()) {
    for (uint64_t seed = 0; seed < 2; ++seed) {
      compare(
          model(), share_features,
          [&](OpenedSession& session) {
            session.sample(seed, [&](SamplerParams& params) {
              sampler.adjust(params);
              report_all(params);
            });
            session.prefill(repetitive_prompt());
            return record(session, 30);
          },
          sampler.name, &totals, /*is_whole=*/true);
    }
  }
  for (const auto& [name, total] : totals) {
    if (name == "nothing") continue;
    EXPECT_GT(total.accepted_count, 20u) << name;
    EXPECT_LT(total.accepted_count, total.proposed_count) << name;
  }
}

TEST(Speculation, ChangesNothingIfTheRingOverflows) {
  for (const Overflow overflow : {Overflow::kStop, Overflow::kRing, Overflow::kShift}) {
    for (const uint32_t threads : {1u, 2u}) {
      compare(
          model(),
          [&](SessionParams& params) {
            share_features(params);
            params.context_tokens = 32;
            params.overflow = overflow;
            params.thread_count = threads;
          },
          [&](OpenedSession& session) {
            session.sample(3, [](SamplerParams& params) {
              params.ignore_end = true;
              params.temperature = 0.5f;
              report_all(params);
            });
            session.prefill(repetitive_prompt());
            return record(session, 120);
          },
          "overflow " + std::to_string(static_cast<int>(overflow)));
    }
  }
}

TEST(Speculation, ChangesNothingAroundRewindsAndPrefills) {
  compare(
      model(), share_features,
      [&](OpenedSession& session) {
        std::vector<RecordedPiece> all;
        const auto add = [&](size_t count) {
          const auto pieces = record(session, count);
          all.insert(all.end(), pieces.begin(), pieces.end());
        };
        session.sample(7, [](SamplerParams& params) {
          params.ignore_end = true;
          params.temperature = 0.7f;
          report_all(params);
        });
        session.prefill(repetitive_prompt());
        for (uint32_t round = 0; round < 12; ++round) {
          add(3 + round % 4);
          if (session->token_count() > 48) {
            EXPECT_EQ(session->rewind(24, nullptr), Status::kOk);
          }
          EXPECT_EQ(session->rewind(session->token_count() - round % 5, nullptr), Status::kOk);
          if (round % 3 == 1) (void)session.logits();
          if (round % 4 == 2) session.prefill({2, 3, 4});
          if (round % 5 == 3) {
            std::span<const float> hidden;
            EXPECT_EQ(session->hidden(&hidden, nullptr), Status::kOk);
          }
          if (round == 8) {
            ScoreResult score;
            const std::vector<int32_t> tokens = {4, 5, 6};
            EXPECT_EQ(session->score(tokens, nullptr, &score, nullptr), Status::kOk);
          }
        }
        add(10);
        return all;
      },
      "rewinds");
}

TEST(Speculation, ChangesNothingAboutStopsAndBans) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    compare(
        model(), share_features,
        [&](OpenedSession& session) {
          session.sample(seed, report_all);
          if (seed % 2 == 0) session.ban({"ab", "cc", "aaa"});
          if (seed % 2 == 1) session.stop_at({"bcab", "aaaaa"});
          session.prefill(repetitive_prompt());
          return record(session, 30);
        },
        "strings");
  }
}

TEST(Speculation, ChangesNothingUnderAConstraint) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    compare(
        model(), share_features,
        [&](OpenedSession& session) {
          Automaton automaton({{{1, 1}, {2, 0}}, {{2, 2}}, {{3, 3}}, {{1, 0}, {4, 3}}}, {3});
          session.sample(seed, report_all);
          session.prefill(repetitive_prompt());
          EXPECT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
          const auto pieces = record(session, 30);
          EXPECT_EQ(session->set_constraint({}, nullptr), Status::kOk);
          return pieces;
        },
        "constraint");
  }
}

// Dead ends: a text must end there before its pending token, if any, is evaluated.
TEST(Speculation, ChangesNothingIfConstraintAndBansLeaveNothing) {
  std::mt19937 random(9);
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::vector<std::map<int32_t, int>> moves(7);
    for (int state = 0; state < 6; ++state) {
      for (uint32_t ways = 1 + random() % 2; ways > 0; --ways) {
        moves[static_cast<size_t>(state)][1 + static_cast<int32_t>(random() % 3)] = state + 1;
      }
    }
    std::string ban;
    for (int state = 3; state < 6; ++state) {
      ban += bytes_of({moves[static_cast<size_t>(state)].begin()->first});
    }
    const std::vector<int32_t> prompt(1 + seed % 16, 2);
    compare(
        model(),
        [&](SessionParams& params) {
          share_features(params);
          params.context_tokens = 16;
          params.overflow = static_cast<Overflow>(seed % 3);
        },
        [&](OpenedSession& session) {
          Automaton automaton(moves, {6});
          session.sample(seed, [](SamplerParams& params) { params.temperature = 0; });
          session.ban({ban});
          session.prefill(prompt);
          EXPECT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
          const auto pieces = record(session, 20);
          EXPECT_EQ(session->set_constraint({}, nullptr), Status::kOk);
          return pieces;
        },
        "dead ends " + std::to_string(seed));
  }
}

TEST(Speculation, ChangesNothingWithAGuide) {
  for (const uint32_t guide_drafts : {0u, 4u}) {
    compare(
        model(), share_features,
        [&](OpenedSession& session) {
          OpenedSession guide(text_model(2, 5), [&](SessionParams& params) { params.draft_tokens = guide_drafts; });
          guide.prefill({1, 2});
          Error error;
          EXPECT_EQ(session->set_guide(guide.get(), {}, &error), Status::kOk) << error.message;
          session.sample(2, report_all);
          session.prefill(repetitive_prompt());
          const auto pieces = record(session, 30);
          EXPECT_EQ(session->set_guide(nullptr, {}, &error), Status::kOk);
          return pieces;
        },
        "guide");
  }
}

TEST(Speculation, ContinuesAfterEveryCancel) {
  compare(
      model(), share_features,
      [&](OpenedSession& session) {
        session.sample(11, [](SamplerParams& params) {
          params.ignore_end = true;
          report_all(params);
        });
        session.prefill(repetitive_prompt());
        std::vector<RecordedPiece> all;
        for (int round = 0; round < 8; ++round) {
          const auto pieces = record(session, 4);
          all.insert(all.end(), pieces.begin(), pieces.end());
          session->cancel();
          EXPECT_EQ(session->next(nullptr), Status::kStopCancelled);
        }
        return all;
      },
      "cancel");
}

TEST(Speculation, ForksAndStatesExcludeDrafts) {
  SpeculatingSession first(model(), kDraftAll, share_features);
  (*first).sample(4, report_all);
  (*first).prefill(repetitive_prompt());
  (void)record(*first, 9);
  OpenedSession plain(model(), share_features);
  plain.sample(4, report_all);
  Error error;
  ASSERT_EQ(SavedState::fork(*first.operator->(), plain.get(), &error), Status::kOk);
  EXPECT_EQ(record(*first, 12), record(plain, 12));
}

TEST(Speculation, SearchesStartAfterAcceptedDrafts) {
  const auto use = [](OpenedSession& session) {
    session.sample(4);
    session.prefill(repetitive_prompt());
    (void)record(session, 7);
    std::span<const SearchSequence> found;
    EXPECT_EQ(session->search(SearchParams(), &found, nullptr), Status::kOk);
    std::vector<std::vector<int32_t>> tokens;
    for (const SearchSequence& sequence : found) {
      tokens.push_back({sequence.tokens, sequence.tokens + sequence.token_count});
    }
    return tokens;
  };
  const auto adjust = [](SessionParams& params) {
    params.sequence_count = 3;
    params.sequence_tokens = 6;
  };
  OpenedSession plain(model(), adjust);
  const auto expected = use(plain);
  for (const NamedDrafts& drafts : every_source()) {
    SpeculatingSession speculating(model(), drafts.sources, adjust);
    EXPECT_EQ(use(*speculating), expected) << drafts.name;
  }
}

// The drafts of a model for itself are always right, because the same random numbers apply to the same rows.
TEST(Speculation, AcceptsEveryDraftOfAnEqualModel) {
  for (const NamedSampler& sampler : every_sampler()) {
    if (std::string(sampler.name) == "dola") continue;
    OpenedSession drafter(model());
    OpenedSession session(model(), [](SessionParams& params) { params.draft_tokens = 4; });
    SpeculationParams params;
    params.sources = kDraftSession;
    params.draft_session = drafter.get();
    ASSERT_EQ(session->set_speculation(params, nullptr), Status::kOk);
    session.sample(9, [&](SamplerParams& sampled) {
      sampler.adjust(sampled);
      sampled.ignore_end = true;
    });
    session.prefill(repetitive_prompt());
    (void)session.generate(25);
    const SpeculationInfo& info = session->speculation_info();
    EXPECT_GT(info.proposed_count, 0u) << sampler.name;
    EXPECT_LE(info.proposed_count - info.accepted_count, 4u) << sampler.name;  // the ones at the end
    ASSERT_EQ(session->set_speculation({0}, nullptr), Status::kOk);
  }
}

// Always guesses the same second token.
size_t guess_a(void*, const int32_t*, size_t, const float*, size_t, int32_t* drafts, size_t) {
  drafts[0] = 1;
  return 1;
}

TEST(Speculation, SamplesAndAcceptsWithTheModelsProbabilities) {
  constexpr uint64_t kRuns = 4000;
  const std::vector<int32_t> first = {4};
  OpenedSession session(model(), [](SessionParams& params) { params.draft_tokens = 1; });
  SpeculationParams params;
  params.sources = kDraftCallback;
  params.draft = guess_a;
  std::vector<double> seen(vocabulary().size());
  session.prefill(repetitive_prompt());
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    // The pace of guesses restarts, so that all of them are tried.
    ASSERT_EQ(session->set_speculation(params, nullptr), Status::kOk);
    ASSERT_EQ(session->rewind(repetitive_prompt().size(), nullptr), Status::kOk);
    session.sample(seed, [&](SamplerParams& sampled) {
      sampled.forced_prefix = first;
      sampled.ignore_end = true;
    });
    const Generated generated = session.generate(3);
    ASSERT_EQ(generated.tokens.size(), 3u);
    ++seen[static_cast<size_t>(generated.tokens[1])];
  }
  const SpeculationInfo info = session->speculation_info();

  OpenedSession plain(model());
  std::vector<int32_t> text = repetitive_prompt();
  text.push_back(first[0]);
  plain.prefill(text);
  std::vector<double> p;
  double sum = 0;
  for (const float logit : plain.logits()) p.push_back(std::exp(static_cast<double>(logit)));
  p[kEndToken] = 0;
  for (const double value : p) sum += value;
  double statistic = 0, rest_seen = 0, rest_expected = 0;
  double degrees = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    degrees += 1;
  };
  for (size_t i = 0; i < p.size(); ++i) {
    const double expected = kRuns * p[i] / sum;
    if (expected >= 5) {
      add(seen[i], expected);
    } else {
      rest_seen += seen[i];
      rest_expected += expected;
    }
  }
  if (rest_expected > 0) add(rest_seen, rest_expected);
  degrees -= 1;
  ASSERT_GE(degrees, 3);
  // The limit is four standard deviations.
  EXPECT_LT(statistic, degrees + 4 * std::sqrt(2 * degrees));
  // A draft that is always d is accepted with probability p(d), exactly as often as d occurs.
  EXPECT_EQ(info.accepted_count, static_cast<uint64_t>(seen[1]));
  EXPECT_GT(seen[1], 50);
}

TEST(Speculation, RejectionNamesTheParameter) {
  OpenedSession drafter(text_model());
  OpenedSession other(model_without_text());
  OpenedSession session(model(), [](SessionParams& params) { params.draft_tokens = 4; });
  const auto refused = [&](const std::string& name, const auto& adjust) {
    SpeculationParams params;
    adjust(params);
    Error error;
    EXPECT_NE(session->set_speculation(params, &error), Status::kOk) << name;
    EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
  };
  refused("sources", [](auto& p) { p.sources = 32; });
  refused("draft_tokens", [](auto& p) { p.draft_tokens = 5; });
  refused("min_match", [](auto& p) { p.min_match = 0; });
  refused("max_match", [](auto& p) { p.max_match = 65; });
  refused("min_match", [](auto& p) { p.min_match = p.max_match + 1; });
  refused("draft_threshold", [](auto& p) { p.draft_threshold = 1.5f; });
  refused("draft_threshold", [](auto& p) { p.draft_threshold = NAN; });
  refused("exit_layer", [](auto& p) {
    p.sources = kDraftEarlyExit;
    p.exit_layer = 3;
  });
  refused("draft is NULL", [](auto& p) { p.sources = kDraftCallback; });
  refused("draft_session is NULL", [](auto& p) { p.sources = kDraftSession; });
  refused("draft_session", [&](auto& p) {
    p.sources = kDraftSession;
    p.draft_session = session.get();
  });
  refused("vocabulary_size", [&](auto& p) {
    p.sources = kDraftSession;
    p.draft_session = other.get();
  });
  OpenedSession without(model());
  Error error;
  EXPECT_EQ(without->set_speculation({}, &error), Status::kInvalidState);
  EXPECT_EQ(without->set_speculation({0}, &error), Status::kOk);
}

TEST(Speculation, DrafterMayBeDestroyed) {
  OpenedSession session(model(), [](SessionParams& params) { params.draft_tokens = 4; });
  session.sample(1);
  session.prefill(repetitive_prompt());
  {
    OpenedSession drafter(text_model());
    SpeculationParams params;
    params.sources = kDraftSession;
    params.draft_session = drafter.get();
    ASSERT_EQ(session->set_speculation(params, nullptr), Status::kOk);
    (void)session.generate(5);
  }
  EXPECT_EQ(session.generate(5).tokens.size(), 5u);
}

}  // namespace
}  // namespace sotto
