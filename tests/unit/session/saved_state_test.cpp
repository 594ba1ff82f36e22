// Saves sessions at every point, and tests that they continue as if they had never been saved. Damaged and forged
// states are rejected as a whole.
#include "tests/unit/session/session_support.h"

#include "runtime/base/xxhash64.h"
#include "runtime/session/saved_state.h"
#include "tests/emulated/work.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 6};

std::vector<uint8_t> save(const Session& session) {
  std::vector<uint8_t> bytes(SavedState::size(session));
  SavedState::save(session, bytes.data());
  return bytes;
}

void continues_like(OpenedSession& one, OpenedSession& other, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Status status = one->next(nullptr);
    ASSERT_EQ(other->next(nullptr), status) << i;
    const Piece &a = one->piece(), &b = other->piece();
    ASSERT_EQ(a.token, b.token) << i;
    ASSERT_EQ(std::string(a.text, a.text_size), std::string(b.text, b.text_size)) << i;
    ASSERT_EQ(std::memcmp(&a.log_probability, &b.log_probability, sizeof(float)), 0);
    ASSERT_EQ(std::memcmp(&a.sampled_log_probability, &b.sampled_log_probability, sizeof(float)), 0);
    ASSERT_EQ(std::memcmp(&a.entropy, &b.entropy, sizeof(float)), 0);
    ASSERT_EQ(std::memcmp(&a.repetitiveness, &b.repetitiveness, sizeof(float)), 0);
    ASSERT_EQ(a.kept_count, b.kept_count);
    ASSERT_EQ(a.alternative_count, b.alternative_count);
    for (uint32_t k = 0; k < a.alternative_count; ++k) {
      ASSERT_EQ(a.alternatives[k].token, b.alternatives[k].token);
      ASSERT_EQ(a.alternatives[k].log_probability, b.alternatives[k].log_probability);
    }
  }
}

class SavedStates : public testing::TestWithParam<std::tuple<Selection, Overflow>> {
 protected:
  void adjust(SessionParams& params) const {
    params.overflow = std::get<1>(GetParam());
    params.context_tokens = params.overflow == Overflow::kStop ? 64 : 17;
  }
  void prepare(OpenedSession& session, uint64_t seed) const {
    session.sample(seed, [&](SamplerParams& params) {
      params.selection = std::get<0>(GetParam());
      params.ignore_end = seed % 2 == 0;
      if (params.selection == Selection::kAdaptiveP) params.adaptive_target = 0.2f;
      params.frequency_penalty = 0.4f;
      params.log_probabilities = true;
      params.alternative_count = 3;
    });
    const auto stops = views(kStops);
    const auto bans = views(kBans);
    StopParams params;
    params.stop_strings = stops;
    params.banned_strings = bans;
    params.max_tokens = 40 + seed;
    Error error;
    ASSERT_EQ(session->set_stops(params, &error), Status::kOk) << error.message;
  }
  const std::vector<std::string> kStops = {"abcab!", "cc"};
  const std::vector<std::string> kBans = {"abca", "bcbcb", "\xC3\xA9\xC3\xA9"};
};

TEST_P(SavedStates, ContinueWhereTheyWereSaved) {
  std::mt19937 random(11);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto shape = [&](SessionParams& params) { adjust(params); };
    OpenedSession session(text_model(), shape);
    prepare(session, seed);
    session.prefill(kPrompt);
    if (seed % 3 == 0) {
      ASSERT_EQ(session->heal(nullptr), Status::kOk);
    }
    for (int cut = 0; cut < 6; ++cut) {
      session.generate(random() % 14);
      if (cut == 3) session.prefill({2, 1});
      OpenedSession restored(text_model(), shape), forked(text_model(), shape);
      for (OpenedSession* each : {&restored, &forked}) {
        prepare(*each, seed);
        each->prefill({5, 5, 5});
        each->generate(3);
      }
      const std::vector<uint8_t> bytes = save(*session);
      Error error;
      ASSERT_EQ(SavedState::restore(bytes, restored.get(), &error), Status::kOk) << error.message;
      ASSERT_EQ(SavedState::fork(*session, forked.get(), &error), Status::kOk) << error.message;
      EXPECT_EQ(save(*restored), bytes);
      EXPECT_EQ(save(*forked), bytes);
      ASSERT_EQ(restored->token_count(), session->token_count());
      ASSERT_EQ(restored->token_stream().kv().cached_tokens(), session->token_stream().kv().cached_tokens());
      // `original`, `restored` and `forked` continue here; the test goes on with `session`.
      OpenedSession original(text_model(), shape);
      prepare(original, seed);
      ASSERT_EQ(SavedState::restore(bytes, original.get(), nullptr), Status::kOk);
      continues_like(original, restored, 30);
      ASSERT_EQ(SavedState::restore(bytes, original.get(), nullptr), Status::kOk);
      continues_like(original, forked, 30);
      ASSERT_EQ(SavedState::restore(bytes, original.get(), nullptr), Status::kOk);
      const uint64_t back = std::min<uint64_t>(session->token_count() - 1, random() % 5);
      ASSERT_EQ(original->rewind(original->token_count() - back, nullptr),
                session->rewind(session->token_count() - back, nullptr));
      continues_like(session, original, 8);
      std::span<const float> ours, theirs;
      const Status status = session->logits(&ours, nullptr);
      ASSERT_EQ(original->logits(&theirs, nullptr), status);
      EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SavedStates,
                         testing::Combine(testing::Values(Selection::kMultinomial, Selection::kGreedy,
                                                          Selection::kGumbel, Selection::kMirostat,
                                                          Selection::kMirostatV2, Selection::kAdaptiveP),
                                          testing::Values(Overflow::kStop, Overflow::kRing, Overflow::kShift)));

TEST(SavedState, SavesAnEmptySession) {
  OpenedSession session(text_model()), other(text_model());
  other.prefill(kPrompt);
  ASSERT_EQ(SavedState::restore(save(*session), other.get(), nullptr), Status::kOk);
  EXPECT_EQ(other->token_count(), 0u);
  EXPECT_EQ(other->next(nullptr), Status::kInvalidState);
}

// Runs once for each instruction set of this CPU.
TEST(SavedState, HasTheSameBytesEverywhere) {
  if (find_kernels(isa_of_environment()) == nullptr) {
    GTEST_SKIP() << "this CPU or build lacks the instruction set";
  }
  OpenedSession session(text_model(), [](SessionParams& params) {
    params.context_tokens = 16;
    params.overflow = Overflow::kRing;
    params.features = kFeatureHiddenHistory;
  });
  session.sample(9, [](SamplerParams& params) {
    params.ignore_end = true;
    params.selection = Selection::kMirostat;
    params.mirostat_tau = 3;
    params.log_probabilities = true;
    params.alternative_count = 4;
  });
  session.ban({"aaaaaaaaab", "bbbbbbbba", "abcabcabca", "cacacacaca", "bcbcbcbcbc"});
  session.prefill(kPrompt);
  session.generate(80);
  const std::vector<uint8_t> bytes = save(*session);
  EXPECT_EQ(xxhash64(bytes.data(), bytes.size()), 7961163433789205827u) << bytes.size() << " bytes";
}

// A session that uses every part of a saved state. The state is small.
struct Small {
  Small() : session(text_model(), [](SessionParams& params) { params.context_tokens = 16; }) {
    session.sample(1, [](SamplerParams& params) {
      params.ignore_end = true;
      params.log_probabilities = true;
      params.alternative_count = 2;
    });
    session.ban({"aaaaaaaaab", "bbbbbbbba", "abcabcabca", "cacacacaca", "bcbcbcbcbc"});
    session.prefill({1, 2});
    session.generate(3);
    bytes = save(*session);
  }
  OpenedSession session;
  std::vector<uint8_t> bytes;
};

TEST(SavedState, DetectsEveryFlippedByte) {
  Small small;
  OpenedSession target(text_model(), [](SessionParams& params) { params.context_tokens = 16; });
  target.prefill({3, 3, 3});
  const std::vector<float> logits = target.logits();
  for (size_t i = 0; i < small.bytes.size(); ++i) {
    for (const uint8_t bits : {0x01, 0x80, 0xFF}) {
      std::vector<uint8_t> bytes = small.bytes;
      bytes[i] ^= bits;
      Error error;
      ASSERT_EQ(SavedState::restore(bytes, target.get(), &error), Status::kStateCorrupt) << i;
      ASSERT_NE(std::string(error.message).find("saved state"), std::string::npos) << error.message;
    }
  }
  for (size_t size = 0; size < small.bytes.size(); ++size) {
    ASSERT_EQ(SavedState::restore({small.bytes.data(), size}, target.get(), nullptr), Status::kStateCorrupt) << size;
  }
  std::vector<uint8_t> longer = small.bytes;
  longer.push_back(0);
  Error error;
  EXPECT_EQ(SavedState::restore(longer, target.get(), &error), Status::kStateCorrupt);
  EXPECT_EQ(std::string(error.message).rfind("the saved state has ", 0), 0u) << error.message;
  EXPECT_EQ(target->token_count(), 3u);
  EXPECT_EQ(target.logits(), logits);
}

void sign(std::vector<uint8_t>& bytes) {
  const uint64_t checksum = xxhash64(bytes.data(), bytes.size() - sizeof(uint64_t));
  std::memcpy(bytes.data() + bytes.size() - sizeof checksum, &checksum, sizeof checksum);
}

// The head and the session's configuration.
constexpr size_t kHeaderSize = Envelope::kHeadSize + 4 * sizeof(uint32_t);

// With a valid checksum, damage may remain undetected but must be harmless.
TEST(SavedState, ForgedStatesAreSafe) {
  Small small;
  std::mt19937 random(12);
  size_t taken = 0, refused = 0;
  const size_t round_count = work<size_t>(6000, 600);
  for (size_t round = 0; round < round_count; ++round) {
    std::vector<uint8_t> bytes = small.bytes;
    const size_t changes = 1 + random() % 3;
    for (size_t i = 0; i < changes; ++i) {
      // Keys and values are in the middle, and the fields at both ends.
      const size_t at = random() % 2 == 0 ? kHeaderSize + random() % 64 : bytes.size() - 9 - random() % 700;
      const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF, static_cast<uint8_t>(random())};
      bytes[at] = values[random() % 6];
    }
    sign(bytes);
    OpenedSession target(text_model(), [](SessionParams& params) { params.context_tokens = 16; });
    target.sample(1);
    target.ban({"ab", "ca"});
    target.prefill({3, 3, 3});
    Error error;
    const Status status = SavedState::restore(bytes, target.get(), &error);
    if (status != Status::kOk) {
      ASSERT_EQ(status, Status::kStateCorrupt);
      ASSERT_EQ(target->token_count(), 3u);
      ++refused;
      continue;
    }
    ++taken;
    target.generate(4);
    if (target->token_count() > 2) (void)target->rewind(target->token_count() - 2, nullptr);
    target.generate(8);
    (void)target->rewind(1, nullptr);
    target.generate(3);
    target.prefill({1});
  }
  EXPECT_GT(taken, round_count / 20);
  EXPECT_GT(refused, round_count / 20);
}

TEST(SavedState, ForgedStatesThatAreRestoredCanBeSavedAgain) {
  Small small;
  const auto open = [](SessionParams& params) { params.context_tokens = 16; };
  OpenedSession target(text_model(), open);
  OpenedSession other(text_model(), open);
  size_t restored = 0;
  for (size_t from_end = 9; from_end < std::min<size_t>(700, small.bytes.size() - 100); ++from_end) {
    for (const uint8_t value : {1, 2, 5}) {
      std::vector<uint8_t> bytes = small.bytes;
      bytes[bytes.size() - from_end] = value;
      sign(bytes);
      if (SavedState::restore(bytes, target.get(), nullptr) != Status::kOk) continue;
      ++restored;
      for (const uint64_t count : {target->token_count(), uint64_t{3}, uint64_t{1}}) {
        (void)target->rewind(count, nullptr);
        ASSERT_EQ(SavedState::restore(save(*target.get()), other.get(), nullptr), Status::kOk) << from_end;
      }
    }
  }
  EXPECT_GT(restored, 100u);
}

TEST(SavedState, MismatchNamesTheParameter) {
  Small small;
  const auto refuse = [&](const Model& model, const std::string& name, auto change) {
    OpenedSession target(model, [&](SessionParams& params) {
      params.context_tokens = 16;
      change(params);
    });
    target.prefill({1});
    Error error;
    EXPECT_EQ(SavedState::restore(small.bytes, target.get(), &error), Status::kInvalidArgument);
    EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
    EXPECT_EQ(SavedState::fork(*small.session, target.get(), &error), Status::kInvalidArgument);
    EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
    EXPECT_EQ(target->token_count(), 1u);
  };
  refuse(text_model(2, 2), "another model", [](SessionParams&) {});
  refuse(text_model(3), "another model", [](SessionParams&) {});
  refuse(text_model(2, 1, 0.5f), "another model", [](SessionParams&) {});
  refuse(text_model(), "context_tokens", [](SessionParams& params) { params.context_tokens = 17; });
  refuse(text_model(), "overflow", [](SessionParams& params) {
    params.overflow = Overflow::kRing;
    params.sink_tokens = 0;
  });
  refuse(text_model(), "features", [](SessionParams& params) { params.features = kFeatureHiddenHistory; });
  Error error;
  EXPECT_EQ(SavedState::fork(*small.session, small.session.get(), &error), Status::kInvalidArgument);
}

TEST(SavedState, IncludesHiddenStates) {
  const auto keep = [](SessionParams& params) { params.features = kFeatureHiddenHistory; };
  OpenedSession session(text_model(), keep), other(text_model(), keep);
  session.prefill(kPrompt);
  const std::vector<uint8_t> bytes = save(*session);
  ASSERT_EQ(SavedState::restore(bytes, other.get(), nullptr), Status::kOk);
  EXPECT_EQ(save(*other), bytes);
  ASSERT_EQ(SavedState::fork(*session, other.get(), nullptr), Status::kOk);
  EXPECT_EQ(save(*other), bytes);
}

TEST(SavedState, RestartsTheConstraint) {
  Automaton automaton({{{1, 1}}, {{2, 0}}}, {});
  OpenedSession session(text_model());
  session.sample(1);
  session.prefill(kPrompt);
  const std::vector<uint8_t> bytes = save(*session);
  ASSERT_EQ(session->set_constraint(automaton.get(), nullptr), Status::kOk);
  session.generate(5);
  EXPECT_EQ(automaton.accepted(), 5u);
  ASSERT_EQ(SavedState::restore(bytes, session.get(), nullptr), Status::kOk);
  EXPECT_EQ(automaton.accepted(), 0u);
  EXPECT_EQ(session.generate(4).tokens, (std::vector<int32_t>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace sotto
