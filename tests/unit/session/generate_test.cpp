// Tests that one call for many tokens equals a loop over next().
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 6};
const std::vector<std::string> kBans = {"abcab", "cabca", "aaaaa", "bbbbb"};  // these make the output buffer tokens

struct Pieces {
  std::vector<int32_t> tokens;
  std::string text;
  size_t max_tokens = SIZE_MAX;  // maximum number of tokens

  static int32_t add(void* self, const Piece* piece) {
    auto& pieces = *static_cast<Pieces*>(self);
    pieces.text.append(piece->text, piece->text_size);
    if (piece->token >= 0) pieces.tokens.push_back(piece->token);
    return pieces.tokens.size() >= pieces.max_tokens ? 1 : 0;
  }
};

Status generate(OpenedSession& session, uint64_t max_tokens, Pieces* pieces) {
  return session->generate({}, max_tokens, Pieces::add, pieces, nullptr);
}

void endless(SamplerParams& params) { params.ignore_end = true; }

// Enables the features that count from the beginning of the answer.
void counting(SamplerParams& params) {
  static const int32_t kForced[] = {4, 5, 4};
  static const int32_t kSuppressed[] = {7};
  endless(params);
  params.frequency_penalty = 0.7f;
  params.penalize_prompt = false;
  params.forced_prefix = kForced;
  params.begin_suppressed_tokens = kSuppressed;
}

TEST(Generate, ContinuesAfterTheLastCall) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    OpenedSession whole(text_model()), parts(text_model()), restored(text_model());
    for (OpenedSession* session : {&whole, &parts, &restored}) {
      session->sample(seed, counting);
    }
    whole.prefill(kPrompt);
    parts.prefill(kPrompt);
    Pieces expected, found;
    EXPECT_EQ(generate(whole, 24, &expected), Status::kStopMaxTokens);
    EXPECT_EQ(generate(parts, 2, &found), Status::kStopMaxTokens);
    std::vector<uint8_t> bytes(SavedState::size(*parts));
    SavedState::save(*parts, bytes.data());
    ASSERT_EQ(SavedState::restore(bytes, restored.get(), nullptr), Status::kOk);
    EXPECT_EQ(generate(restored, 13, &found), Status::kStopMaxTokens);
    EXPECT_EQ(generate(restored, 9, &found), Status::kStopMaxTokens);
    EXPECT_EQ(found.tokens, expected.tokens) << seed;
  }
}

TEST(Generate, CountsEmittedTokens) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    OpenedSession session(text_model());
    session.sample(seed, endless);
    session.ban(kBans);
    session.prefill(kPrompt);
    ASSERT_EQ(session->next(nullptr), Status::kOk);
    Pieces two, stopped, many;
    EXPECT_EQ(generate(session, 2, &two), Status::kStopMaxTokens);
    EXPECT_EQ(two.tokens.size(), 2u);
    stopped.max_tokens = 1;
    EXPECT_EQ(generate(session, 6, &stopped), Status::kStopCallback);
    EXPECT_EQ(session.generate(8).end, Status::kOk);  // next() does not have the limit
    EXPECT_EQ(generate(session, 20, &many), Status::kStopMaxTokens);
    EXPECT_EQ(many.tokens.size(), 20u);
  }
}

TEST(Generate, NestedCallsKeepTheOuterLimit) {
  struct Within {
    OpenedSession* session;
    Pieces outer, inner;
  };
  OpenedSession session(text_model());
  session.sample(1, endless);
  session.prefill(kPrompt);
  Within within = {&session, {}, {}};
  const auto on_piece = [](void* self, const Piece* piece) -> int32_t {
    auto& all = *static_cast<Within*>(self);
    const bool is_first = all.outer.tokens.empty();
    Pieces::add(&all.outer, piece);
    if (is_first) (void)generate(*all.session, 3, &all.inner);
    return 0;
  };
  EXPECT_EQ(session->generate({}, 5, on_piece, &within, nullptr), Status::kStopMaxTokens);
  EXPECT_EQ(within.inner.tokens.size(), 3u);
  EXPECT_EQ(within.outer.tokens.size(), 2u);
}

TEST(Generate, EmptyPrefillStartsBeforeBufferedTokens) {
  OpenedSession session(text_model());
  session.sample(3, endless);
  session.ban(kBans);
  StopParams stops;
  const TextView ban = {"abcab", 5};
  stops.banned_strings = {&ban, 1};
  stops.max_tokens = 4;
  ASSERT_EQ(session->set_stops(stops, nullptr), Status::kOk);
  session.prefill(kPrompt);
  ASSERT_EQ(session->next(nullptr), Status::kOk);
  session.prefill({});
  const Generated all = session.generate(40);
  EXPECT_EQ(all.end, Status::kStopMaxTokens);
  EXPECT_EQ(all.tokens.size(), 4u);
}

// Tokens that have been drawn but not emitted are drawn again.
TEST(Generate, NewSamplerRedrawsBufferedTokens) {
  size_t changed = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    OpenedSession session(text_model()), other(text_model());
    for (OpenedSession* each : {&session, &other}) {
      each->sample(seed, endless);
      each->ban(kBans);
      each->prefill(kPrompt);
      ASSERT_EQ((*each)->next(nullptr), Status::kOk);
    }
    ASSERT_EQ(other->next(nullptr), Status::kOk);
    const int32_t suppressed[] = {other->piece().token};
    session.sample(seed, [&](SamplerParams& params) {
      endless(params);
      params.suppressed_tokens = suppressed;
    });
    ASSERT_EQ(session->next(nullptr), Status::kOk);
    changed += session->piece().token != suppressed[0] ? 1 : 0;
  }
  EXPECT_EQ(changed, 20u);
}

}  // namespace
}  // namespace sotto
