// Tests sotto.hpp against the golden figures that every binding must reproduce.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sotto.hpp>

#include "platforms/cpp/tests/golden_file.h"

namespace {

class GoldenTest : public ::testing::Test {
 protected:
  const golden::Case& expected(const std::string& name) const { return cases_.at(name); }

  sotto::Session new_session(uint32_t sequence_count = 0) const {
    sotto::SessionParams params;
    params.context_tokens = 256;
    params.sequence_count = sequence_count;
    return sotto::Session::create(model_, params);
  }

  static sotto::SamplerParams sampler(const golden::Case& from) {
    sotto::SamplerParams params;
    if (from.count("seed") == 0) return params;
    params.temperature = golden::real(from, "temperature");
    params.top_k = static_cast<uint32_t>(golden::number(from, "top_k"));
    params.top_p = golden::real(from, "top_p");
    params.repetition_penalty = golden::real(from, "repetition_penalty");
    params.seed = static_cast<uint64_t>(golden::number(from, "seed"));
    return params;
  }

  // Prefills and streams with a session that is ready to use.
  void expect_stream(sotto::Session& session, const golden::Case& from) const {
    session.set_sampler(sampler(from));
    std::string text;
    std::vector<sotto::Token> tokens;
    auto stream = session.stream(golden::text(from, "prompt"), static_cast<size_t>(golden::number(from, "max_tokens")));
    for (const sotto::Piece& piece : stream) {
      text += piece.text();
      if (piece.token() >= 0) tokens.push_back(piece.token());
    }
    EXPECT_EQ(text, golden::text(from, "text"));
    EXPECT_EQ(tokens, golden::tokens(from, "tokens"));
    EXPECT_EQ(static_cast<int>(stream.status()), golden::number(from, "status"));
  }

  template <class Function>
  static void expect_error(const golden::Case& from, Function&& function) {
    try {
      function();
      FAIL() << "nothing was thrown";
    } catch (const sotto::Error& error) {
      EXPECT_EQ(error.status(), golden::number(from, "status"));
      EXPECT_EQ(error.what(), golden::text(from, "message"));
      const std::string offset = golden::text(from, "offset");
      EXPECT_EQ(error.offset(), offset == "none" ? sotto::Error::no_offset : std::stoull(offset));
    }
  }

  const sotto::Model model_ = sotto::Model::open(golden::environment("SOTTO_DEMO_MODEL"));

 private:
  const std::map<std::string, golden::Case> cases_ = golden::read();
};

TEST_F(GoldenTest, TokenizesToTheGoldenTokens) {
  const std::string text = golden::text(expected("tokenize"), "text");
  const std::vector<sotto::Token> tokens = model_.tokenize(text);
  EXPECT_EQ(tokens, golden::tokens(expected("tokenize"), "tokens"));
  EXPECT_EQ(model_.detokenize(tokens), text);
  std::string joined;
  for (const sotto::Token token : tokens) joined += model_.token_bytes(token);
  EXPECT_EQ(joined, text);
}

TEST_F(GoldenTest, Streams) {
  for (const char* name : {"greedy", "sampled", "example"}) {
    SCOPED_TRACE(name);
    sotto::Session session = new_session();
    expect_stream(session, expected(name));
  }
}

TEST_F(GoldenTest, StreamsInOneBatch) {
  const std::vector<const char*> names = {"greedy", "sampled", "example"};
  std::vector<sotto::Session> sessions;
  std::vector<std::string> texts(names.size());
  for (const char* name : names) {
    sessions.push_back(new_session());
    sessions.back().set_sampler(sampler(expected(name)));
    ASSERT_EQ(sessions.back().prefill(golden::text(expected(name), "prompt")), sotto::Status::ok);
    sessions.back().set_limit(static_cast<size_t>(golden::number(expected(name), "max_tokens")));
  }
  const std::vector<sotto::Session*> list = {&sessions[0], &sessions[1], &sessions[2]};
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    const auto steps = sotto::Session::next_of(list);
    for (size_t i = 0; i < steps.size(); ++i) {
      ASSERT_FALSE(steps[i].error);
      texts[i] += steps[i].piece.text();
      goes_on |= steps[i].status == sotto::Status::ok;
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(texts[i], golden::text(expected(names[i]), "text"));
    EXPECT_EQ(sessions[i].info().stop, golden::number(expected(names[i]), "status"));
  }
  sotto::Session empty = new_session();
  const auto steps = sotto::Session::next_of({&empty, list[0]});
  ASSERT_TRUE(steps[0].error);
  EXPECT_STREQ(steps[0].error->what(), "the stream is empty: prefill a prompt first");
  EXPECT_FALSE(steps[1].error);
  EXPECT_THROW(sotto::Session::next_of({&empty, &empty}), sotto::Error);
}

TEST_F(GoldenTest, StopsAtAString) {
  const golden::Case& from = expected("stop");
  sotto::Session session = new_session();
  sotto::StopParams stops;
  stops.stop_strings = {golden::text(from, "stop_string")};
  session.set_stops(stops);
  expect_stream(session, from);
}

TEST_F(GoldenTest, FollowsAGrammar) {
  const golden::Case& from = expected("grammar");
  sotto::GrammarParams params(static_cast<sotto_grammar_language>(golden::number(from, "language")));
  params.json_space = static_cast<sotto_json_space>(golden::number(from, "json_space"));
  const auto grammar = sotto::Grammar::compile(golden::text(from, "source"), params);
  sotto::Session session = new_session();
  session.set_grammar(grammar);
  expect_stream(session, from);
}

TEST_F(GoldenTest, SearchesGiveTheGoldenTokens) {
  const golden::Case& from = expected("search");
  sotto::Session session = new_session(static_cast<uint32_t>(golden::number(from, "sequence_count")));
  EXPECT_EQ(session.prefill(golden::text(from, "prompt")), sotto::Status::ok);
  sotto::SearchParams params;
  params.max_tokens = static_cast<uint32_t>(golden::number(from, "max_tokens"));
  const std::vector<sotto::Sequence> sequences = session.search(params);
  ASSERT_EQ(sequences.size(), from.count("sequence"));
  auto line = from.lower_bound("sequence");
  for (const sotto::Sequence& sequence : sequences) {
    EXPECT_EQ(sequence.tokens, golden::tokens((line++)->second));
  }
}

TEST_F(GoldenTest, EmbedsToTheGoldenVector) {
  const golden::Case& from = expected("embedding");
  sotto::Session session = new_session();
  const std::vector<float> embedding = session.embed(model_.tokenize(golden::text(from, "prompt")),
                                                     static_cast<sotto_pooling>(golden::number(from, "pooling")));
  EXPECT_EQ(static_cast<long long>(embedding.size()), golden::number(from, "size"));
  std::istringstream words(golden::text(from, "first_bits"));
  for (size_t i = 0; i < 4; ++i) {
    uint32_t word = 0, bits = 0;
    ASSERT_TRUE(words >> std::hex >> word);
    std::memcpy(&bits, &embedding[i], sizeof bits);
    EXPECT_EQ(bits, word);
  }
}

// Executes one call of the case `calls` and returns the text that it generates.
std::string execute(sotto::Session& session, const sotto::Model& model, const std::string& name,
                    const std::string& argument) {
  std::string text;
  size_t rest = name == "callback" ? std::stoull(argument) : SIZE_MAX;
  const auto collect = [&](const sotto::Piece& piece) {
    text += piece.text();
    return --rest > 0;
  };
  if (name == "prefill") {
    static_cast<void>(session.prefill(argument));
  } else if (name == "next") {
    sotto::Piece piece;
    session.next(piece);
    text = piece.text();
  } else if (name == "generate" || name == "callback") {
    session.generate(name == "generate" ? std::stoull(argument) : SIZE_MAX, collect);
  } else if (name == "limit") {
    session.set_limit(std::stoull(argument));
  } else if (name == "stops") {
    const size_t space = std::min(argument.find(' '), argument.size());
    const std::string stop = argument.substr(0, space), value = argument.substr(std::min(space + 1, argument.size()));
    sotto::StopParams params;
    if (stop == "stop_string") params.stop_strings = {value};
    if (stop == "banned_string") params.banned_strings = {value};
    if (stop == "stop_token") params.stop_tokens = golden::tokens(value);
    if (stop == "max_time_ns") params.max_time_ns = std::stoull(value);
    if (stop == "repetition_limit") params.repetition_limit = std::stof(value);
    session.set_stops(params);
  } else if (name == "allow") {
    sotto::SamplerParams params;
    params.temperature = 0;
    params.allowed_tokens = golden::tokens(argument);
    session.set_sampler(params);
  } else if (name == "grammar" && argument.empty()) {
    session.clear_matcher();
  } else if (name == "grammar") {
    session.set_grammar(sotto::Grammar::compile(argument, sotto::GrammarParams(SOTTO_GRAMMAR_REGEX)));
  } else if (name == "score") {
    session.score(model.tokenize(argument));
  } else if (name == "embed") {
    session.embed(model.tokenize(argument));
  } else if (name == "rewind") {
    session.rewind(std::stoull(argument));
  } else if (name == "restore") {
    session.restore(session.save());
  } else if (name == "cancel") {
    session.canceller()();
  } else if (name == "reset") {
    session.reset();
  } else {
    throw std::runtime_error("unknown call: " + name);
  }
  return text;
}

TEST_F(GoldenTest, CallsEndAndContinueTexts) {
  const golden::Case& from = expected("calls");
  sotto::Session session = new_session();
  auto result = from.lower_bound("result");
  for (auto line = from.lower_bound("call"); line != from.upper_bound("call"); ++line, ++result) {
    SCOPED_TRACE(line->second);
    const size_t space = std::min(line->second.find(' '), line->second.size());
    const std::string argument = line->second.substr(std::min(space + 1, line->second.size()));
    try {
      const std::string text = execute(session, model_, line->second.substr(0, space), argument);
      EXPECT_EQ(std::to_string(session.info().stop) + " " + text, result->second);
    } catch (const sotto::Error& error) {
      EXPECT_EQ(std::to_string(error.status()) + " ", result->second);
    }
  }
}

TEST_F(GoldenTest, ErrorsSayWhatIsWrong) {
  expect_error(expected("bad_grammar"),
               [&] { static_cast<void>(sotto::Grammar::compile(golden::text(expected("bad_grammar"), "source"))); });
  expect_error(expected("bad_text"), [&] {
    std::istringstream words(golden::text(expected("bad_text"), "bytes"));
    std::string text;
    for (int byte; words >> std::hex >> byte;) text += static_cast<char>(byte);
    static_cast<void>(model_.tokenize(text));
  });
  expect_error(expected("bad_parameter"), [&] {
    sotto::SamplerParams params;
    params.temperature = golden::real(expected("bad_parameter"), "temperature");
    new_session().set_sampler(params);
  });
  expect_error(expected("bad_model"), [&] {
    std::ifstream file(golden::environment("SOTTO_DEMO_MODEL"), std::ios::binary);
    sotto::Memory memory(static_cast<size_t>(golden::number(expected("bad_model"), "kept_bytes")));
    file.read(static_cast<char*>(memory.data()), static_cast<std::streamsize>(memory.size()));
    static_cast<void>(sotto::Model::from_memory(std::move(memory)));
  });
}

}  // namespace
