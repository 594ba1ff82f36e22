// Tests all ways to end a text, and how parameters are validated.
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3};

// Returns the text of the tokens from `start` on.
std::string text_from(const Session& session, uint64_t start) {
  std::string bytes;
  for (uint64_t i = start; i < session.token_count(); ++i) bytes += bytes_of({session.token_stream().token_at(i)});
  std::string text(Utf8Stream::output_bound(bytes.size()), '\0');
  Utf8Stream characters;
  size_t size = characters.append(bytes, text.data());
  size += characters.flush(text.data() + size);
  return text.substr(0, size);
}

TEST(StopStrings, EndTheUnstoppedText) {
  std::mt19937 random(1);
  OpenedSession free(text_model()), stopped(text_model());
  size_t stops = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    free.sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
    stopped.sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
    const auto strings = random_strings(random, 1 + random() % 3, 2 + random() % 5);
    const bool include = random() % 2 == 0;
    stopped.stop_at(strings, include);
    free->reset();
    stopped->reset();
    free.prefill(kPrompt);
    stopped.prefill(kPrompt);
    const Generated all = free.generate(40);
    const Generated some = stopped.generate(40);
    ASSERT_TRUE(std::equal(some.tokens.begin(), some.tokens.end(), all.tokens.begin()));
    size_t start = std::string::npos, end = std::string::npos;
    for (const std::string& string : strings) {
      const size_t at = all.text.find(string);
      if (at == std::string::npos) continue;
      const size_t its_end = at + string.size();
      if (its_end < end || (its_end == end && at < start)) start = at, end = its_end;
    }
    if (end == std::string::npos) {
      EXPECT_EQ(some.end, Status::kOk);
      continue;
    }
    ++stops;
    EXPECT_EQ(some.end, Status::kStopString);
    EXPECT_EQ(some.text, all.text.substr(0, include ? end : start));
    EXPECT_EQ(text_from(*stopped.get(), kPrompt.size()), some.text);
  }
  EXPECT_GT(stops, 50u);
}

// A conversation whose answers end with stop strings continues with the same bits as one that was prefilled with the
// emitted text. This also holds after a save and a restore, and with banned strings and drafts.
TEST(StopStrings, TheStreamEndsWhereTheTextEnds) {
  const std::vector<std::string> stop_strings = {"ab", "\xC3\xA9", "cb"}, banned_strings = {"bb"};
  size_t stops = 0, spelled = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto adjust = [](SessionParams& params) { params.draft_tokens = 4; };
    OpenedSession session(text_model(), adjust), restored(text_model(), adjust);
    for (OpenedSession* each : {&session, &restored}) {
      each->sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
      const auto strings = views(stop_strings), bans = views(banned_strings);
      StopParams params;
      params.stop_strings = strings;
      params.include_stop_text = seed % 4 == 3;
      if (seed % 2 == 1) params.banned_strings = bans;
      ASSERT_EQ(each->get()->set_stops(params, nullptr), Status::kOk);
      SpeculationParams speculation;
      speculation.sources = seed % 3 == 0 ? kDraftLookup : 0;
      ASSERT_EQ(each->get()->set_speculation(speculation, nullptr), Status::kOk);
    }
    for (int turn = 0; turn < 5; ++turn) {
      session.prefill({static_cast<int32_t>(1 + seed % 7), 2});
      const uint64_t start = session->token_count();
      const Generated answer = session.generate(8);
      if (answer.end != Status::kStopString) continue;
      ++stops;
      EXPECT_EQ(session->info().stop, Status::kStopString);
      EXPECT_EQ(session->next(nullptr), Status::kStopString);
      EXPECT_EQ(session->piece().text_size, 0u);
      EXPECT_EQ(text_from(*session.get(), start), answer.text);
      std::vector<int32_t> tokens;
      for (uint64_t i = 0; i < session->token_count(); ++i) tokens.push_back(session->token_stream().token_at(i));
      const size_t kept = tokens.size() - static_cast<size_t>(start);
      spelled += kept > 0 && tokens.back() != answer.tokens[kept - 1];
      OpenedSession by_hand(text_model());
      by_hand.prefill(tokens);
      ASSERT_EQ(session.logits(), by_hand.logits());
      std::vector<uint8_t> bytes(SavedState::size(*session));
      SavedState::save(*session, bytes.data());
      Error error;
      ASSERT_EQ(SavedState::restore(bytes, restored.get(), &error), Status::kOk) << error.message;
      restored.prefill({3});
      session.prefill({3});
      EXPECT_EQ(restored.generate(4).tokens, session.generate(4).tokens);
    }
  }
  EXPECT_GT(stops, 50u);
  EXPECT_GT(spelled, 5u);
}

// The first sequence of a search draws the tokens that the session would draw. After a stop string, both must keep the
// same tokens, wherever the string begins.
TEST(StopStrings, SequencesOfASearchEndWhereTheTextEnds) {
  struct Mode {
    SearchMode mode;
    uint32_t count;
    float temperature;
  };
  constexpr Mode kModes[] = {{SearchMode::kSample, 3, 1}, {SearchMode::kBeam, 1, 0}, {SearchMode::kContrastive, 1, 0}};
  const std::vector<std::string> stop_strings = {"ab", "\xC3\xA9", "cb", "caa"};
  size_t stops = 0, spelled = 0, in_stream = 0;
  for (const Mode& mode : kModes) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const auto adjust = [](SessionParams& params) {
        params.sequence_count = 4;
        params.sequence_tokens = 20;
        params.features = kFeatureHiddenHistory;
      };
      OpenedSession session(text_model(), adjust), searched(text_model(), adjust);
      const int32_t first = static_cast<int32_t>(1 + seed % 11), second = static_cast<int32_t>(1 + seed / 11);
      for (OpenedSession* each : {&session, &searched}) {
        each->sample(seed, [&](SamplerParams& params) {
          params.ignore_end = true;
          params.temperature = mode.temperature;
        });
        each->stop_at(stop_strings, seed % 4 == 3);
        each->prefill({first, second});
      }
      if (session.generate(2).end != Status::kOk) continue;
      ASSERT_EQ(searched.generate(2).end, Status::kOk);
      const uint64_t start = session->token_count();
      SearchParams params;
      params.mode = mode.mode;
      params.sequence_count = mode.count;
      params.max_tokens = 20;
      params.contrastive_alpha = 0;
      std::span<const SearchSequence> found;
      ASSERT_EQ(searched->search(params, &found, nullptr), Status::kOk);
      EXPECT_EQ(searched->token_count(), start);
      const Generated answer = session.generate(20);
      if (answer.tokens.empty()) continue;  // the text had ended before
      ASSERT_EQ(found[0].stop == Status::kStopString, answer.end == Status::kStopString);
      if (answer.end != Status::kStopString) continue;
      ++stops;
      std::vector<int32_t> expected;
      for (uint64_t i = start; i < session->token_count(); ++i) expected.push_back(session->token_stream().token_at(i));
      EXPECT_EQ(std::vector<int32_t>(found[0].tokens, found[0].tokens + found[0].token_count), expected) << seed;
      in_stream += session->token_count() <= start;
      spelled += !expected.empty() && expected.back() != answer.tokens[expected.size() - 1];
      for (const SearchSequence& sequence : found) {
        ASSERT_LE(sequence.token_count, params.max_tokens);
        if (seed % 4 == 3 || sequence.stop != Status::kStopString) continue;
        const std::string text = bytes_of({sequence.tokens, sequence.tokens + sequence.token_count});
        for (const std::string& string : stop_strings) EXPECT_EQ(text.find(string), std::string::npos);
      }
    }
  }
  EXPECT_GT(stops, 60u);
  EXPECT_GT(spelled, 5u);
  EXPECT_GT(in_stream, 2u);
}

// If the limit leaves no space for the tokens that spell the text, the last token stays.
TEST(StopStrings, SequencesOfASearchStayWithinTheirLimit) {
  OpenedSession session(text_model(), [](SessionParams& params) { params.sequence_count = 16; });
  session.sample(1, [](SamplerParams& params) { params.ignore_end = true; });
  session.stop_at({"ab", "ca", "cb"});
  session.prefill(kPrompt);
  size_t stops = 0;
  for (uint32_t limit = 1; limit <= 6; ++limit) {
    SearchParams params;
    params.mode = SearchMode::kSample;
    params.max_tokens = limit;
    std::span<const SearchSequence> found;
    ASSERT_EQ(session->search(params, &found, nullptr), Status::kOk);
    for (const SearchSequence& sequence : found) {
      EXPECT_LE(sequence.token_count, limit);
      stops += sequence.stop == Status::kStopString;
    }
  }
  EXPECT_GT(stops, 10u);
}

TEST(StopStrings, WithheldTextIsFlushedAtOtherStops) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    OpenedSession session(text_model()), free(text_model());
    for (OpenedSession* each : {&session, &free}) {
      each->sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
      each->prefill(kPrompt);
    }
    const std::vector<std::string> never = {"abcabc!", "cabca!", "\xC3\xA9!", "a!"};
    StopParams params;
    const auto strings = views(never);
    params.stop_strings = strings;
    params.max_tokens = 7;
    ASSERT_EQ(session->set_stops(params, nullptr), Status::kOk);
    params.stop_strings = {};
    ASSERT_EQ(free->set_stops(params, nullptr), Status::kOk);
    const Generated held = session.generate(100), plain = free.generate(100);
    EXPECT_EQ(held.end, Status::kStopMaxTokens);
    EXPECT_EQ(plain.end, Status::kStopMaxTokens);
    EXPECT_EQ(held.text, plain.text);
    EXPECT_EQ(held.tokens.size(), 7u);
  }
}

TEST(StopTokens, EndTheTextWithoutBeingPartOfIt) {
  OpenedSession free(text_model()), session(text_model());
  free.sample(5);
  session.sample(5);
  const int32_t stop_tokens[] = {9, 4, 12};
  StopParams params;
  params.stop_tokens = stop_tokens;
  ASSERT_EQ(session->set_stops(params, nullptr), Status::kOk);
  free.prefill(kPrompt);
  session.prefill(kPrompt);
  const Generated all = free.generate(60), some = session.generate(60);
  ASSERT_EQ(some.end, Status::kStopToken);
  const auto is_stop = [&](int32_t token) {
    return std::count(std::begin(stop_tokens), std::end(stop_tokens), token) > 0;
  };
  const auto first = std::find_if(all.tokens.begin(), all.tokens.end(), is_stop);
  EXPECT_EQ(some.tokens, std::vector<int32_t>(all.tokens.begin(), first));
  EXPECT_EQ(session->token_count(), kPrompt.size() + some.tokens.size());
  EXPECT_EQ(session->next(nullptr), Status::kStopToken);  // the draw is the same
}

TEST(StopLimits, CountFromTheLastPrefill) {
  OpenedSession session(text_model());
  session.sample(1, [](SamplerParams& params) { params.ignore_end = true; });
  StopParams params;
  params.max_tokens = 4;
  ASSERT_EQ(session->set_stops(params, nullptr), Status::kOk);
  session.prefill(kPrompt);
  EXPECT_EQ(session.generate(100).tokens.size(), 4u);
  EXPECT_EQ(session->next(nullptr), Status::kStopMaxTokens);
  session.prefill({5});
  EXPECT_EQ(session.generate(100).tokens.size(), 4u);
  ASSERT_EQ(session->rewind(6, nullptr), Status::kOk);  // into the first answer
  EXPECT_EQ(session.generate(100).tokens.size(), 1u);
  session.prefill({});
  EXPECT_EQ(session.generate(100).tokens.size(), 4u);
  ASSERT_EQ(session->rewind(session->token_count() - 2, nullptr), Status::kOk);
  EXPECT_EQ(session.generate(100).tokens.size(), 2u);
  ASSERT_EQ(session->rewind(5, nullptr), Status::kOk);
  EXPECT_EQ(session.generate(100).tokens.size(), 2u);
}

TEST(StopLimits, TimeAndRepetitionEndTheText) {
  OpenedSession session(text_model());
  StopParams params;
  params.max_time_ns = 1;
  ASSERT_EQ(session->set_stops(params, nullptr), Status::kOk);
  session.prefill(kPrompt);
  EXPECT_EQ(session->next(nullptr), Status::kStopTime);
  params = {};
  params.max_time_ns = uint64_t{1} << 62;
  params.repetition_limit = 0.4f;
  params.repetition_window = 16;
  ASSERT_EQ(session->set_stops(params, nullptr), Status::kOk);
  const int32_t only[] = {7};
  session.sample(1, [&](SamplerParams& sampler) { sampler.allowed_tokens = only; });
  const Generated same = session.generate(60);
  EXPECT_EQ(same.end, Status::kStopRepetition);
  EXPECT_GT(same.tokens.size(), 2u);
  EXPECT_LT(same.tokens.size(), 20u);
}

Status collect(Session* session, uint64_t max_tokens, std::string* text, size_t* pieces) {
  struct Out {
    std::string* text;
    size_t* pieces;
  } out = {text, pieces};
  return session->generate(
      {}, max_tokens,
      [](void* user_data, const Piece* piece) {
        const auto* to = static_cast<Out*>(user_data);
        to->text->append(piece->text, piece->text_size);
        *to->pieces += piece->token >= 0 ? 1 : 0;
        return 0;
      },
      &out, nullptr);
}

TEST(Generate, LeavesNothingWithheld) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    OpenedSession pushed(text_model()), pulled(text_model());
    for (OpenedSession* each : {&pushed, &pulled}) {
      each->sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
      each->prefill(kPrompt);
    }
    pushed.stop_at({"abcabc!", "cabca!", "\xC3\xA9!"});
    StopParams limit;
    limit.max_tokens = 9;
    ASSERT_EQ(pulled->set_stops(limit, nullptr), Status::kOk);
    std::string text;
    size_t pieces = 0;
    EXPECT_EQ(collect(pushed.get(), 9, &text, &pieces), Status::kStopMaxTokens);
    EXPECT_EQ(pieces, 9u);
    EXPECT_EQ(text, pulled.generate(20).text);
    EXPECT_EQ(collect(pushed.get(), 0, &text, &pieces), Status::kStopMaxTokens);
    EXPECT_EQ(pieces, 9u);
  }
}

TEST(Generate, ReportsAStopAtTheLastToken) {
  OpenedSession session(text_model()), counted(text_model());
  for (OpenedSession* each : {&session, &counted}) {
    each->sample(2, [](SamplerParams& params) { params.ignore_end = true; });
    each->stop_at({"ab"});
    each->prefill(kPrompt);
  }
  const size_t needed = counted.generate(60).tokens.size();
  std::string text;
  size_t pieces = 0;
  EXPECT_EQ(collect(session.get(), needed, &text, &pieces), Status::kStopString);
}

// The message must contain the name of what is wrong.
void expect_refused(Session* session, const StopParams& params, const std::string& name,
                    Status status = Status::kInvalidArgument) {
  Error error;
  EXPECT_EQ(session->set_stops(params, &error), status);
  EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
}

TEST(StopParameters, RejectionNamesTheParameter) {
  OpenedSession session(text_model(), [](SessionParams& params) { params.list_bytes = 2000; });
  session.stop_at({"abc"});
  const auto refuse = [&](const std::string& name, auto change) {
    StopParams params;
    change(params);
    expect_refused(session.get(), params, name);
  };
  for (const float limit : {-0.1f, 1.5f, std::numeric_limits<float>::quiet_NaN()}) {
    refuse("repetition_limit", [&](StopParams& params) { params.repetition_limit = limit; });
  }
  for (const uint32_t window : {0u, 7u, 65u}) {
    refuse("repetition_window", [&](StopParams& params) {
      params.repetition_limit = 0.5f;
      params.repetition_window = window;
    });
  }
  const std::vector<int32_t> outside = {1, 19}, negative = {-1}, many(501, 1);
  refuse("stop_tokens[1]", [&](StopParams& params) { params.stop_tokens = outside; });
  refuse("stop_tokens[0]", [&](StopParams& params) { params.stop_tokens = negative; });
  refuse("list_bytes", [&](StopParams& params) { params.stop_tokens = many; });
  const std::vector<TextView> null = {{nullptr, 3}};
  refuse("stop_strings[0]", [&](StopParams& params) { params.stop_strings = null; });
  for (const auto& [strings, name] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"a", ""}, "strings[1] is empty"},
           {{"\xC3"}, "strings[0] is not UTF-8"},
           {{std::string(1025, 'a')}, "strings[0] has 1025 bytes; it may have at most 1024"},
           {{std::string(200, 'a')}, "list_bytes"}}) {
    const auto list = views(strings);
    refuse("stop_" + (name == "list_bytes" ? "strings" : name),
           [&](StopParams& params) { params.stop_strings = list; });
    refuse("banned_" + (name == "list_bytes" ? "strings" : name),
           [&](StopParams& params) { params.banned_strings = list; });
  }
  // The old parameters still apply.
  session.sample(3, [](SamplerParams& params) { params.ignore_end = true; });
  session.prefill(kPrompt);
  EXPECT_EQ(session.generate(60).end, Status::kStopString);

  OpenedSession mute(model_without_text());
  const std::vector<std::string> list = {"a"};
  const auto strings = views(list);
  StopParams params;
  params.stop_strings = strings;
  expect_refused(mute.get(), params, "stop_strings", Status::kTokenizerMissing);
}

TEST(SessionParameters, RejectionNamesTheParameter) {
  const auto refuse = [](const std::string& name, auto change) {
    SessionParams params;
    change(params);
    size_t size;
    Error error;
    EXPECT_EQ(Session::memory_size(text_model(), params, &size, &error), Status::kInvalidArgument);
    EXPECT_EQ(std::string(error.message).rfind(name, 0), 0u) << error.message;
  };
  refuse("features", [](SessionParams& params) { params.features = 8; });
  refuse("list_bytes", [](SessionParams& params) { params.list_bytes = (1u << 24) + 1; });
  refuse("sequence_count", [](SessionParams& params) { params.sequence_count = 65; });
  refuse("sequence_tokens", [](SessionParams& params) {
    params.sequence_count = 2;
    params.sequence_tokens = 65;
  });
  refuse("sequence_tokens", [](SessionParams& params) { params.sequence_tokens = 5; });
}

TEST(Cancelling, FlushesWithheldTextAndContinues) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    OpenedSession session(text_model()), free(text_model());
    for (OpenedSession* each : {&session, &free}) {
      each->sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
      each->prefill(kPrompt);
    }
    session.stop_at({"abcab!", "\xC3\xA9\xC3\xA9!", "a!"});
    std::string text;
    std::vector<int32_t> tokens;
    while (tokens.size() < 30) {
      const Generated some = session.generate(3);
      ASSERT_EQ(some.end, Status::kOk);
      text += some.text;
      tokens.insert(tokens.end(), some.tokens.begin(), some.tokens.end());
      session->cancel();
      ASSERT_EQ(session->next(nullptr), Status::kStopCancelled);
      text.append(session->piece().text, session->piece().text_size);
    }
    const Generated all = free.generate(30);
    EXPECT_EQ(tokens, all.tokens);
    EXPECT_EQ(text, all.text);
  }
}

}  // namespace
}  // namespace sotto
