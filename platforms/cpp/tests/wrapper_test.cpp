// Tests of lifetimes, callbacks and exceptions in sotto.hpp, and a call of every part of the interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sotto.hpp>
#include <string>
#include <thread>

#include "platforms/cpp/tests/golden_file.h"

namespace {

using sotto::Session;
using sotto::Status;
using sotto::Token;

sotto::Model demo(const sotto::ModelParams& params = {}) {
  return sotto::Model::open(golden::environment("SOTTO_DEMO_MODEL"), params);
}

Session session_of(const sotto::Model& model, uint32_t features = 0, uint32_t draft_tokens = 0) {
  sotto::SessionParams params;
  params.context_tokens = 128;
  params.features = features;
  params.draft_tokens = draft_tokens;
  return Session::create(model, params);
}

template <class Prompt>
void prefill(Session& session, const Prompt& prompt) {
  ASSERT_EQ(session.prefill(prompt), Status::ok);
}

std::vector<Token> take(Session& session, size_t count) {
  std::vector<Token> tokens;
  for (const sotto::Piece& piece : session.stream("", count)) {
    if (piece.token() >= 0) tokens.push_back(piece.token());
  }
  return tokens;
}

static_assert(!std::is_copy_constructible_v<sotto::Model> && !std::is_copy_assignable_v<Session>);
static_assert(!std::is_copy_constructible_v<sotto::Grammar> && !std::is_copy_constructible_v<sotto::Matcher>);
static_assert(std::is_nothrow_move_constructible_v<sotto::Model> && std::is_nothrow_move_assignable_v<Session>);
static_assert(std::is_move_constructible_v<sotto::Sampler> && std::is_move_constructible_v<sotto::Vocabulary>);

TEST(Lifetimes, HandlesKeepWhatTheyUse) {
  std::optional<Session> session;
  {
    auto model = demo();
    Session made = session_of(model);
    made.set_grammar(sotto::Grammar::compile(R"(root ::= "yes, " [a-z]+)"));
    session = std::move(made);
  }
  std::string text;
  for (const sotto::Piece& piece : session->stream("Is it so?", 5)) text += piece.text();
  EXPECT_EQ(text.rfind("yes, ", 0), 0u) << text;
}

TEST(Lifetimes, AStreamAndACancellerOutliveTheSession) {
  std::optional<Session> session = session_of(demo());
  auto stream = session->stream("It was", 3);
  const sotto::Canceller cancel = session->canceller();
  session.reset();
  size_t count = 0;
  for (const sotto::Piece& piece : stream) count += piece.token() >= 0;
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(stream.status(), Status::max_tokens);
  cancel();
}

TEST(Lifetimes, AssignmentReplaces) {
  auto model = demo();
  Session session = session_of(model);
  prefill(session, "One");
  session = session_of(model);
  EXPECT_EQ(session.info().token_count, 0u);
}

#if defined(__linux__)
// Returns the kernel flags of the mapping at an address (proc(5), VmFlags).
std::string kernel_flags(uintptr_t address) {
  std::ifstream smaps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(smaps, line);) {
    const size_t dash = line.find('-');
    if (dash < line.find(' ')) {
      const uintptr_t begin = std::stoull(line, nullptr, 16);
      const uintptr_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
      is_inside = begin <= address && address < end;
    } else if (is_inside && line.rfind("VmFlags:", 0) == 0) {
      return line;
    }
  }
  return "";
}

TEST(MemoryTest, LargeBlocksUseHugePages) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "no huge pages here";
  }
  const sotto::Memory large(4 << 20);
  const auto first = reinterpret_cast<uintptr_t>(large.data());
  EXPECT_EQ(first % (2 << 20), 0u);
  EXPECT_NE(kernel_flags(first).find(" hg"), std::string::npos);
  EXPECT_NE(kernel_flags(first + large.size() - 1).find(" hg"), std::string::npos);
}
#endif

TEST(ModelTest, ReportsItsProperties) {
  std::string messages;
  sotto::ModelParams params;
  params.isa = SOTTO_ISA_REFERENCE;
  params.log = [&](sotto_log_level, const char* message) { messages += message; };
  const auto model = demo(params);
  EXPECT_EQ(model.info().embedding_size, 256u);
  EXPECT_EQ(model.info().isa, SOTTO_ISA_REFERENCE);
  std::ifstream file(golden::environment("SOTTO_DEMO_MODEL"), std::ios::binary | std::ios::ate);
  sotto::Memory bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0).read(static_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const sotto::Bytes view(static_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto same = sotto::Model::from_bytes(view, params);
  EXPECT_EQ(sotto::Model::required_memory(view, params), same.memory_size());
  EXPECT_EQ(same.tokenize("<|endoftext|>", true), std::vector<Token>{model.info().end_of_text_token});
  EXPECT_THROW(static_cast<void>(model.token_bytes(-1)), sotto::Error);
  EXPECT_EQ(model.token_flags(model.info().end_of_text_token), SOTTO_TOKEN_SPECIAL | SOTTO_TOKEN_END_OF_TEXT);
  EXPECT_FALSE(model.text(SOTTO_MODEL_TEXT_NAME).empty());
  EXPECT_EQ(model.text(SOTTO_MODEL_TEXT_CHAT_TEMPLATE), "");
}

TEST(ModelTest, MisalignedBytesAreCopied) {
  std::ifstream file(golden::environment("SOTTO_DEMO_MODEL"), std::ios::binary | std::ios::ate);
  const auto size = static_cast<size_t>(file.tellg());
  sotto::Memory memory(size + 1);
  auto* first = static_cast<uint8_t*>(memory.data());
  file.seekg(0).read(reinterpret_cast<char*>(first) + 1, static_cast<std::streamsize>(size));
  auto model = sotto::Model::from_bytes(sotto::Bytes(first + 1, size));
  std::memset(first, 0, size + 1);
  EXPECT_EQ(model.detokenize(model.tokenize("Once upon a time")), "Once upon a time");
}

std::string failure_of_opening(const std::string& path) {
  try {
    static_cast<void>(sotto::Model::open(path));
  } catch (const sotto::Error& error) {
    return error.what();
  }
  return "";
}

TEST(ModelTest, ErrorsOfFilesNameTheFile) {
  const std::string directory = testing::TempDir(), damaged = directory + "/damaged.sotto";
  std::ofstream(damaged) << "no model";
  for (const std::string& path : {directory + "/missing.sotto", directory, damaged}) {
    EXPECT_EQ(failure_of_opening(path).rfind(path + ": ", 0), 0u) << failure_of_opening(path);
  }
  EXPECT_NE(failure_of_opening(directory).find("directory"), std::string::npos);
  std::remove(damaged.c_str());
}

TEST(StreamTest, EndsAtItsLimitOfTokens) {
  auto model = demo();
  Session session = session_of(model);
  for (const size_t limit : {0, 2}) {
    auto stream = session.stream("It was", limit);
    EXPECT_EQ(static_cast<size_t>(std::distance(stream.begin(), stream.end())), limit);
    EXPECT_EQ(stream.status(), Status::max_tokens);
  }
  auto stream = session.stream("");
  EXPECT_GT(std::distance(stream.begin(), stream.end()), 2);
  EXPECT_NE(stream.status(), Status::max_tokens);
}

TEST(StreamTest, GivesWithheldTextAtItsLimit) {
  auto model = demo();
  Session session = session_of(model);
  const auto text = [&] {
    std::string joined;
    for (const sotto::Piece& piece : session.stream("It was", 4)) joined += piece.text();
    return joined;
  };
  const std::string whole = text();
  session.reset();
  sotto::StopParams stops;
  stops.stop_strings = {whole + "?"};
  session.set_stops(stops);
  EXPECT_EQ(text(), whole);
}

TEST(ChatTest, RepliesAndUndoes) {
  auto model = demo();
  sotto::ChatParams params;
  params.reply_tokens = 16;
  auto chat = sotto::Chat::create(session_of(model), SOTTO_CHAT_PLAIN, params);
  chat.add(SOTTO_ROLE_USER, "Once upon a time?");
  const std::string reply = chat.reply(8);
  EXPECT_EQ(chat.info().message_count, 2u);
  const auto state = chat.save();
  chat.undo_reply();
  std::string again;
  (void)chat.reply(8, [&](const sotto::Piece& piece) { again += piece.text(); });
  EXPECT_EQ(again, reply);
  chat.undo();
  chat.restore(state);
  sotto::StopParams stops;
  stops.max_tokens = 2;
  chat.set_stops(stops);
  chat.add(SOTTO_ROLE_USER, "And then?");
  EXPECT_EQ(chat.reply(SIZE_MAX, [](const sotto::Piece&) {}), Status::max_tokens);
  chat.reset();
  EXPECT_EQ(chat.info().turn_count, 0u);
  EXPECT_THROW(chat.undo(), sotto::Error);
}

TEST(SessionTest, ALimitCountsFromItsCall) {
  auto model = demo();
  Session session = session_of(model);
  prefill(session, "It was");
  sotto::Piece piece;
  for (const size_t limit : {3, 2}) {
    session.set_limit(limit);
    for (size_t i = 0; i < limit; ++i) EXPECT_EQ(session.next(piece), Status::ok);
    EXPECT_EQ(session.next(piece), Status::max_tokens);
  }
}

TEST(SessionTest, ASecondTextNeedsTheGrammarAgain) {
  auto model = demo();
  Session session = session_of(model);
  session.set_grammar(sotto::Grammar::compile(R"(root ::= "yes" | "no")"));
  for (int i = 0; i < 2; ++i) {
    std::string text;
    for (const sotto::Piece& piece : session.stream("He said ")) text += piece.text();
    EXPECT_TRUE(text == "yes" || text == "no") << text;
    auto second = session.stream("She said ");
    EXPECT_THROW(second.begin(), sotto::Error);
    session.reset();
  }
}

TEST(SessionTest, ATextIsCompleteWithinTheTokensOfItsGrammar) {
  auto model = demo();
  Session session = session_of(model);
  sotto::GrammarParams params;
  params.language = SOTTO_GRAMMAR_JSON_SCHEMA;
  const char schema[] = R"({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})";
  session.set_grammar(sotto::Grammar::compile(schema, params), 20);
  std::string text;
  auto stream = session.stream("A person: ", 20);
  for (const sotto::Piece& piece : stream) text += piece.text();
  EXPECT_EQ(stream.status(), Status::grammar);
  EXPECT_TRUE(!text.empty() && text.back() == '}') << text;
}

TEST(StreamTest, IsEmptyIfThePromptWasCancelled) {
  auto model = demo();
  Session session = session_of(model);
  session.canceller()();
  auto stream = session.stream("It was");
  EXPECT_EQ(stream.begin(), stream.end());
  EXPECT_EQ(stream.status(), Status::cancelled);
}

TEST(Callbacks, GeneratePassesPiecesUntilFalse) {
  auto model = demo();
  Session session = session_of(model);
  prefill(session, "It was");
  size_t count = 0;
  EXPECT_EQ(session.generate(10, [&](sotto::Piece) { return ++count < 4; }), Status::callback);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(session.generate(5, [&](const sotto::Piece& piece) { count += piece.token() >= 0; }), Status::max_tokens);
  EXPECT_EQ(count, 9u);
}

TEST(Callbacks, ExceptionsPassTheLibrary) {
  auto model = demo();
  Session session = session_of(model);
  prefill(session, "It was");
  EXPECT_THROW(session.generate(9, [](sotto::Piece) { throw std::runtime_error("piece"); }), std::runtime_error);
  EXPECT_EQ(take(session, 3).size(), 3u);  // the session is usable as before

  sotto::SamplerParams params;
  params.logits_callback = [](sotto::View<float>) { throw std::runtime_error("logits"); };
  session.set_sampler(params);
  EXPECT_THROW(take(session, 1), std::runtime_error);
  params.logits_callback = [](sotto::View<float> logits) {
    for (float& logit : logits) logit = -std::numeric_limits<float>::infinity();
    logits[11] = 0;
  };
  session.set_sampler(params);
  EXPECT_EQ(take(session, 2), (std::vector<Token>{11, 11}));

  sotto::SamplerParams counting;
  counting.logits_processor = [](sotto::Tokens tokens, uint32_t sequence, sotto::View<float> logits) {
    EXPECT_EQ(sequence, 0u);
    logits[static_cast<size_t>(tokens[tokens.size() - 1]) + 1] = std::numeric_limits<float>::infinity();
  };
  session.set_sampler(counting);
  EXPECT_EQ(take(session, 3), (std::vector<Token>{12, 13, 14}));
  counting.logits_processor = [](sotto::Tokens, uint32_t, sotto::View<float>) { throw std::runtime_error("tokens"); };
  session.set_sampler(counting);
  EXPECT_THROW(take(session, 1), std::runtime_error);
}

TEST(Callbacks, CancelFromAnotherThread) {
  auto model = demo();
  sotto::SessionParams params;
  params.context_tokens = 64;
  params.overflow = SOTTO_OVERFLOW_RING;
  Session session = Session::create(model, params);
  sotto::SamplerParams sampler;
  sampler.ignore_end = 1;
  session.set_sampler(sampler);
  std::atomic<bool> began = false;
  std::thread other([&, cancel = session.canceller()] {
    while (!began) std::this_thread::yield();
    cancel();
  });
  auto stream = session.stream("It was");
  for (const sotto::Piece& piece : stream) began = piece.token() >= 0;
  other.join();
  EXPECT_EQ(stream.status(), Status::cancelled);
}

TEST(SessionTest, StatesForksAndRewinds) {
  auto model = demo();
  Session session = session_of(model);
  prefill(session, "It was a");
  take(session, 5);
  const std::vector<uint8_t> saved = session.save();
  const uint64_t place = session.info().token_count;
  Session fork = session_of(model);
  session.fork_into(fork);
  const std::vector<Token> tokens = take(session, 20);
  EXPECT_EQ(take(fork, 20), tokens);
  Session restored = session_of(model);
  restored.restore(saved);
  EXPECT_EQ(take(restored, 20), tokens);
  session.rewind(place);
  EXPECT_EQ(take(session, 20), tokens);
  std::vector<uint8_t> damaged = saved;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_THROW(restored.restore(damaged), sotto::Error);
  session.reset();
  EXPECT_THROW(take(session, 1), sotto::Error);
  EXPECT_GT(fork.timings().decode_tokens, 0u);
  fork.reset_timings();
  EXPECT_EQ(fork.timings().decode_tokens, 0u);
  session.reset();
  (void)session.prefill_embeddings(std::vector<float>(model.info().embedding_size, 0.1f));
  try {
    (void)session.save();
    FAIL() << "saved";
  } catch (const sotto::Error& error) {
    EXPECT_STREQ(error.what(), "a stream that begins with embeddings cannot be saved");
  }
}

// Outputs that were not computed are not returned. In this test the context is full.
TEST(SessionTest, StopsThatLeaveNothingAreFailures) {
  auto model = demo();
  sotto::SessionParams params;
  params.context_tokens = 16;
  params.sequence_count = 2;
  params.sequence_tokens = 4;
  params.overflow = SOTTO_OVERFLOW_STOP;
  Session session = Session::create(model, params);
  const std::vector<Token> tokens(17, 5), fitting(15, 5);
  const auto is_full = [](auto&& call) {
    try {
      call();
    } catch (const sotto::Error& error) {
      return error.status() == SOTTO_STOP_CONTEXT_FULL;
    }
    return false;
  };
  try {
    (void)session.score(tokens);
    FAIL();
  } catch (const sotto::Error& error) {
    EXPECT_EQ(error.status(), SOTTO_PROMPT_TOO_LONG);
    EXPECT_STREQ(error.what(),
                 "17 tokens do not fit a context of 16; shorten the prompt, or set overflow to ring or shift");
  }
  prefill(session, fitting);
  take(session, 2);  // the second token has not been evaluated yet
  EXPECT_TRUE(is_full([&] { (void)session.logits(); }));
  EXPECT_TRUE(is_full([&] { (void)session.hidden(); }));
  EXPECT_TRUE(is_full([&] { (void)session.search(); }));
}

TEST(SessionTest, ScoresAndLogits) {
  auto model = demo();
  Session session = session_of(model);
  const std::vector<Token> tokens = model.tokenize("It was a dark night");
  std::vector<float> log_probabilities;
  const sotto_score score = session.score(tokens, &log_probabilities);
  EXPECT_EQ(score.token_count, tokens.size() - 1);
  double sum = 0;
  for (size_t i = 1; i < log_probabilities.size(); ++i) sum += static_cast<double>(log_probabilities[i]);
  EXPECT_NEAR(sum, score.log_probability, 1e-4);
  EXPECT_TRUE(std::isnan(log_probabilities[0]));
  EXPECT_EQ(session.logits().size(), model.info().vocabulary_size);
  EXPECT_EQ(session.hidden().size(), model.info().embedding_size);

  sotto::SamplerParams params;
  params.alternative_count = 3;
  params.log_probabilities = 1;
  params.statistics = 1;
  session.set_sampler(params);
  sotto::Piece piece;
  ASSERT_EQ(session.next(piece), Status::ok);
  ASSERT_EQ(piece.alternatives().size(), 3u);
  EXPECT_GE(piece.alternatives()[0].log_probability, piece.log_probability());
  EXPECT_EQ(piece.bytes(), model.token_bytes(piece.token()));
  EXPECT_NEAR(piece.effective_vocabulary(), std::exp(piece.entropy()), 1e-3 * piece.effective_vocabulary());
  EXPECT_GT(piece.kept_count(), 1u);
  EXPECT_LT(piece.repetitiveness(), 1);
}

TEST(SessionTest, HealsAndListsOfTheSampler) {
  auto model = demo();
  Session session = session_of(model);
  sotto::SamplerParams params;
  const std::vector<Token> the = model.tokenize(" the");
  params.bad_words = {the, model.tokenize(" in the")};
  params.logit_bias = {{11, -5.0f}};
  params.sequence_bias = {{the, -2.0f}};
  params.dry_multiplier = 0.5f;
  params.dry_breakers = {"\n", "."};
  params.forced_prefix = model.tokenize(" was");
  params.watermark.emplace();
  params.watermark->scheme = SOTTO_WATERMARK_LEFT_HASH;
  session.set_sampler(params);
  prefill(session, "The end of all wa");
  const std::vector<Token> tokens = take(session, 60);
  EXPECT_EQ(tokens.front(), model.tokenize(" was").front());
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), the.front()), 0);
  const auto found = sotto::detect_watermark(*params.watermark, model.info().vocabulary_size, tokens);
  EXPECT_GT(found.z, 2);
  prefill(session, "On a dark nig");
  session.heal();
  EXPECT_EQ(take(session, 1).size(), 1u);
}

TEST(SessionTest, SpeculationChangesNoToken) {
  auto model = demo();
  Session plain = session_of(model), session = session_of(model, 0, 4);
  std::optional<Session> draft = session_of(model);
  prefill(plain, "It was a");
  prefill(session, "It was a");
  sotto::SpeculationParams params;
  params.sources = SOTTO_DRAFT_SESSION | SOTTO_DRAFT_CALLBACK;
  params.draft_session = &*draft;
  size_t calls = 0;
  params.draft = [&](sotto::Tokens tokens, sotto::View<const float>, sotto::View<Token>) -> size_t {
    calls += !tokens.empty();
    return 0;
  };
  session.set_speculation(params);
  draft.reset();
  EXPECT_EQ(take(session, 30), take(plain, 30));
  EXPECT_GT(calls, 0u);
  EXPECT_GT(session.speculation_info().accepted_count, 0u);
  session.clear_speculation();
}

TEST(SessionTest, Guides) {
  auto model = demo();
  Session session = session_of(model, SOTTO_FEATURE_GUIDE), guide = session_of(model);
  prefill(session, "She was very");
  prefill(guide, "He");
  session.set_guide(guide);
  EXPECT_EQ(take(session, 5).size(), 5u);
  session.clear_guide();
  Session other = session_of(model);
  EXPECT_THROW(other.set_guide(guide), sotto::Error);  // it was created without the feature
}

TEST(SearchTest, CallbacksAndPhrasesReachTheSearch) {
  auto model = demo();
  sotto::SessionParams session_params;
  session_params.sequence_count = 4;
  Session session = Session::create(model, session_params);
  prefill(session, "It was");
  sotto::SearchParams params;
  params.max_tokens = 12;
  params.phrases = {model.tokenize(" house")};
  for (const sotto::Sequence& sequence : session.search(params)) {
    EXPECT_NE(model.detokenize(sequence.tokens).find(" house"), std::string::npos);
  }
  params.phrases.clear();
  params.mode = SOTTO_SEARCH_SAMPLE;
  params.rerank = SOTTO_RERANK_CALLBACK;
  size_t steps = 0;
  params.similarity = [](sotto::Tokens a, sotto::Tokens b) { return a[0] == b[0] ? 1.0 : 0.0; };
  params.on_step = [&](uint32_t, Token) { return ++steps > 0; };
  Status ended = Status::grammar;
  EXPECT_EQ(session.search(params, &ended).size(), 4u);
  EXPECT_EQ(ended, Status::ok);
  EXPECT_GT(steps, 4u);
  params.on_step = [](uint32_t, Token) -> bool { throw std::runtime_error("step"); };
  EXPECT_THROW(static_cast<void>(session.search(params)), std::runtime_error);
}

TEST(SearchTest, StepsNameTheSequencesThatTheyContinue) {
  const auto model = demo();
  sotto::SessionParams session_params;
  session_params.sequence_count = 6;
  Session session = Session::create(model, session_params);
  prefill(session, "It was");
  for (const uint32_t group_count : {1u, 2u}) {
    sotto::SearchParams params;
    params.max_tokens = 16;
    params.group_count = group_count;
    params.diversity_penalty = group_count == 1 ? 0.0f : 0.5f;
    std::vector<std::vector<Token>> beams(6), next(6);
    uint32_t newest = 6;
    size_t reordered = 0;
    params.on_step = [&](uint32_t sequence, Token token) {
      if (sequence <= newest) beams = next;
      newest = sequence;
      const uint32_t parent = session.info().step_parent;
      if (parent != sequence) ++reordered;
      next[sequence] = beams[parent];
      next[sequence].push_back(token);
      return true;
    };
    for (const sotto::Sequence& sequence : session.search(params)) {
      ASSERT_EQ(sequence.tokens.size(), 16u);
      // The last tokens end the sequences, so that none is reported as live.
      const std::vector<Token> before(sequence.tokens.begin(), sequence.tokens.end() - 1);
      EXPECT_NE(std::find(next.begin(), next.end(), before), next.end());
    }
    EXPECT_GT(reordered, 6u);
  }
}

TEST(GrammarTest, ConstrainsTokensWithoutAModel) {
  const auto vocabulary = sotto::Vocabulary::create({{"a", "b", "ab", "c", ""}, {}, {4}});
  const auto compiled = sotto::Grammar::compile("start ::= \"ab\"+ \"c\"", [] {
    sotto::GrammarParams params;
    params.root = "start";
    return params;
  }());
  const auto grammar = sotto::Grammar::load(compiled.save());
  auto matcher = sotto::Matcher::create(grammar, vocabulary);
  EXPECT_EQ(matcher.mask(), std::vector<uint64_t>{0b00101});
  matcher.accept(Token{2});
  EXPECT_EQ(matcher.mask(), std::vector<uint64_t>{0b01101});
  const uint64_t* words = matcher.borrow_mask();
  EXPECT_EQ(words[0], 0b01101u);
  matcher.accept("a");
  EXPECT_EQ(matcher.forced_text(), "b");
  EXPECT_TRUE(matcher.test("bc").matches);
  EXPECT_FALSE(matcher.test("c").begins);
  EXPECT_THROW(matcher.accept(Token{3}), sotto::Error);
  matcher.rewind(1);
  EXPECT_EQ(matcher.info().token_count, 1u);
  matcher.accept("c");
  EXPECT_EQ(matcher.mask(), std::vector<uint64_t>{0b10000});
  EXPECT_TRUE(matcher.info().must_end);
  matcher.reset();
  EXPECT_EQ(matcher.info().token_count, 0u);
}

TEST(SamplerTest, PicksFromAnyLogits) {
  auto sampler = sotto::Sampler::create(3);
  sotto::SamplerParams params;
  params.top_k = 2;
  params.top_p = 1;
  params.min_p = 0;
  params.temperature = 1;
  sampler.set(params);
  const std::vector<float> logits{0.0f, std::log(3.0f), -1.0f};
  sotto::SamplerInput input;
  input.logits = logits;
  const std::vector<sotto::Candidate> candidates = sampler.apply(input);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[1].token, 1);
  EXPECT_NEAR(candidates[1].probability, 0.75f, 1e-6f);
  const std::vector<uint64_t> allowed{0b100};
  input.allowed = allowed;
  EXPECT_EQ(sampler.sample(input), 2);
  input.logits = {logits.data(), 2};
  EXPECT_THROW(sampler.sample(input), sotto::Error);
}

}  // namespace
