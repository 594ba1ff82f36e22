// Tests sessions of the demo model under grammars: their text must match the grammar, and the matcher must stay in step
// with the stream.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/capi/open_grammar.h"
#include "tests/capi/open_session.h"
#include "tests/support/repeated.h"

namespace sotto {
namespace {

using nlohmann::json;

LoadedModel& demo() {
  static LoadedModel model = [] {
    std::ifstream stream(SOTTO_DEMO_MODEL, std::ios::binary);
    return LoadedModel(std::vector<uint8_t>(std::istreambuf_iterator<char>(stream), {}));
  }();
  return model;
}

const OpenVocabulary& words() {
  static OpenVocabulary vocabulary(demo().get());
  return vocabulary;
}

const char kPerson[] = R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},
    "age":{"type":"integer","minimum":0,"maximum":150},"likes":{"type":"array","maxItems":3,
    "items":{"enum":["cats","dogs","tea"]}}},"required":["name","age","likes"],
    "additionalProperties":false})";

OpenGrammar compact(const std::string& schema) {
  return OpenGrammar(schema, [](auto& p) {
    p.language = SOTTO_GRAMMAR_JSON_SCHEMA;
    p.json_space = SOTTO_JSON_COMPACT;
  });
}

bool is_person(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object() || value.size() != 3) return false;
  const int64_t age = value["age"].is_number_integer() ? value["age"].get<int64_t>() : -1;
  bool fits =
      value["name"].is_string() && age >= 0 && age <= 150 && value["likes"].is_array() && value["likes"].size() <= 3;
  for (const json& like : value["likes"]) fits = fits && (like == "cats" || like == "dogs" || like == "tea");
  return fits;
}

std::vector<sotto_token> tokens_of(const std::string& text) {
  std::vector<sotto_token> tokens(text.size());
  size_t count = 0;
  EXPECT_EQ(sotto_tokenize(demo().get(), text.data(), text.size(), 0, tokens.data(), tokens.size(), &count, nullptr),
            SOTTO_OK);
  tokens.resize(count);
  return tokens;
}

struct Written {
  std::string text;
  size_t token_count = 0;
  sotto_status end = SOTTO_OK;
};

class GrammarSession : public OpenSession {
 public:
  explicit GrammarSession(const std::function<void(sotto_session_params&)>& adjust = {})
      : OpenSession(demo().get(), adjust) {}

  void prefill(const std::string& text) {
    const auto tokens = tokens_of(text);
    ASSERT_EQ(sotto_session_prefill(get(), tokens.data(), tokens.size()), SOTTO_OK);
  }
  void set(OpenMatcher* matcher) {
    sotto_error error = {};
    error.struct_size = sizeof error;
    sotto_matcher* used = matcher == nullptr ? nullptr : matcher->get();
    ASSERT_EQ(sotto_session_set_matcher(get(), used, &error), SOTTO_OK) << error.message;
  }
  void sample(uint64_t seed, const std::function<void(sotto_sampler_params&)>& adjust = {}) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.seed = seed;
    params.temperature = 1.5f;
    if (adjust) adjust(params);
    ASSERT_EQ(sotto_session_set_sampler(get(), &params, nullptr), SOTTO_OK);
  }
  Written write(size_t most = 200) {
    Written written;
    const sotto_piece* piece = nullptr;
    while (written.token_count < most && written.end == SOTTO_OK) {
      written.end = sotto_session_next(get(), &piece);
      if (written.end < 0) break;
      written.text.append(piece->text, piece->text_size);
      if (written.end == SOTTO_OK) ++written.token_count;
    }
    return written;
  }
};

// Returns a schema from a member for each number, joined by commas.
template <typename Member>
std::string joined(int count, Member member) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + member(std::to_string(i));
  return list;
}

TEST(GrammarSession, DefaultMatcherMemorySufficesForPlainGrammars) {
  const auto properties = [](const std::string& i) { return "\"p" + i + "\":{\"type\":\"integer\"}"; };
  const auto constant = [](const std::string& i) { return "{\"const\":\"value " + i + " of many\"}"; };
  const auto list = [](const std::string& i) { return "{\"const\":[" + i + ",\"x\"]}"; };
  const auto object = [](const std::string& i) {
    return "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"k" + i +
           "\":{\"type\":\"string\"}},\"required\":[\"a\"]}";
  };
  const std::string node =
      R"({"type":"object","properties":{"v":{"type":"string"},"next":{"anyOf":[{"type":"null"},{"$ref":"#"}]}},)"
      R"("required":["v","next"],"additionalProperties":false})";
  const struct {
    sotto_grammar_language language;
    std::string source;
    std::string text;
  } cases[] = {
      {SOTTO_GRAMMAR_JSON_SCHEMA,
       "{\"type\":\"object\",\"properties\":{" + joined(300, properties) + "},\"additionalProperties\":false}",
       "{\"p3\": 1, \"p37\": 22, \"p100\": 333, \"p299\": 4}"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{\"anyOf\":[" + joined(200, object) + "]}", R"({"a": 12, "k150": "text"})"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{\"anyOf\":[" + joined(500, constant) + "]}", "\"value 350 of many\""},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{\"anyOf\":[" + joined(500, list) + "]}", "[350, \"x\"]"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, node, repeated(R"({"v": "x", "next": )", 100) + "null" + repeated("}", 100)},
      {SOTTO_GRAMMAR_JSON, "", repeated("[", 200) + repeated("]", 200)},
      {SOTTO_GRAMMAR_GBNF, "root ::= x{0,50}\nx ::= \"a\"{0,50}", repeated("a", 2000)},
  };
  for (const auto& [language, source, text] : cases) {
    SCOPED_TRACE(source.substr(0, 60));
    const sotto_grammar_language written = language;
    const OpenGrammar grammar(
        source, [written](auto& params) { params.language = written; }, 8);
    OpenMatcher matcher(grammar, &words());
    const uint64_t* mask = nullptr;
    for (const sotto_token token : tokens_of(text)) {
      ASSERT_EQ(sotto_matcher_borrow_mask(matcher.get(), 0, &mask), SOTTO_OK);
      ASSERT_EQ(matcher.take(token), SOTTO_OK);
    }
    ASSERT_EQ(sotto_matcher_borrow_mask(matcher.get(), 0, &mask), SOTTO_OK);
    EXPECT_EQ(matcher.info().may_end, 1u);
  }
}

TEST(GrammarSession, GeneratedTextParses) {
  const OpenGrammar grammar = compact(kPerson);
  OpenMatcher matcher(grammar, &words());
  GrammarSession session;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    sotto_session_reset(session.get());
    ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
    session.sample(seed, [seed](auto& p) {
      p.selection = static_cast<sotto_selection>(seed % 6);
      p.adaptive_target = 0.2f;
      p.repetition_penalty = seed % 2 == 0 ? 1.0f : 1.3f;
    });
    session.prefill("A person: ");
    session.set(&matcher);
    const Written written = session.write();
    EXPECT_EQ(written.end, SOTTO_STOP_GRAMMAR) << written.text;
    EXPECT_TRUE(is_person(written.text)) << written.text;
    EXPECT_EQ(matcher.info().token_count, written.token_count);
  }
}

TEST(GrammarSession, EndsWithAnAnswerAndBeginsWithTheNextOne) {
  const OpenGrammar grammar = compact(R"({"enum":["one","two"]})");
  OpenMatcher matcher(grammar, &words());
  GrammarSession session;
  session.prefill("Say a number: ");
  session.set(&matcher);
  EXPECT_EQ(session.write().end, SOTTO_STOP_GRAMMAR);
  session.prefill(" And now another one: ");
  const Written none = session.write();
  EXPECT_EQ(none.token_count, 0u);
  EXPECT_EQ(none.end, SOTTO_INVALID_STATE);
  sotto_error error = {};
  error.struct_size = sizeof error;
  ASSERT_EQ(sotto_session_get_error(session.get(), &error), SOTTO_OK);
  EXPECT_STREQ(error.message,
               "the text of the grammar is complete: before another text, set the grammar again or reset the session");
  ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
  session.set(&matcher);
  const Written second = session.write();
  EXPECT_TRUE(second.text == "\"one\"" || second.text == "\"two\"") << second.text;
  session.set(nullptr);
  EXPECT_EQ(session.write(10).token_count, 10u);
}

TEST(GrammarSession, ATextThatIsCompleteAtTheLimitOfTokensEndsWithTheGrammar) {
  OpenGrammar grammar("root ::= [a-z]{3}", SOTTO_GRAMMAR_GBNF);
  for (const bool has_limit : {false, true}) {
    OpenMatcher matcher(grammar, &words());
    GrammarSession session;
    session.prefill("It was");
    session.set(&matcher);
    session.sample(1);
    const Written free = session.write();
    EXPECT_EQ(free.end, SOTTO_STOP_GRAMMAR);
    ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
    sotto_session_reset(session.get());
    session.prefill("It was");
    const size_t limit = has_limit ? free.token_count : free.token_count - 1;
    ASSERT_EQ(sotto_session_set_limit(session.get(), limit), SOTTO_OK);
    const Written limited = session.write();
    EXPECT_EQ(limited.token_count, limit);
    EXPECT_EQ(limited.end, has_limit ? SOTTO_STOP_GRAMMAR : SOTTO_STOP_MAX_TOKENS);
    const auto prompt = tokens_of("She said");
    EXPECT_EQ(sotto_session_generate(session.get(), prompt.data(), prompt.size(), 0, nullptr, nullptr),
              SOTTO_STOP_MAX_TOKENS);
  }
}

TEST(GrammarSession, FollowsRewindsAndResets) {
  const OpenGrammar grammar("root ::= [a-z ]{500}");
  OpenMatcher matcher(grammar, &words(), [](auto& p) {
    p.rollback_count = 4;
    p.state_set_count = 300;  // collected several times; pinned sets stay
    p.state_count = 300;
  });
  GrammarSession session;
  session.sample(3, [](auto& p) { p.ignore_end = 1; });
  session.prefill("Once upon");
  const uint64_t start = session.info().token_count;
  session.set(&matcher);
  ASSERT_EQ(matcher.accept(""), SOTTO_OK);
  const Written first = session.write(12);
  ASSERT_EQ(first.token_count, 12u);
  EXPECT_EQ(sotto_session_rewind(session.get(), start + 3), SOTTO_INVALID_STATE);
  EXPECT_EQ(session.info().token_count, start + 12);
  EXPECT_EQ(matcher.info().token_count, 13u);
  EXPECT_EQ(sotto_session_rewind(session.get(), start + 9), SOTTO_OK);
  EXPECT_EQ(matcher.info().token_count, 10u);
  EXPECT_EQ(session.write(3).token_count, 3u);
  EXPECT_EQ(sotto_session_rewind(session.get(), start), SOTTO_OK);  // to the start, however far that is
  EXPECT_EQ(matcher.info().token_count, 0u);
  EXPECT_EQ(session.write(12).text, first.text);
  EXPECT_EQ(session.write(400).end, SOTTO_STOP_GRAMMAR);
  sotto_session_reset(session.get());
  EXPECT_EQ(matcher.info().token_count, 0u);
  session.prefill("Once upon");
  EXPECT_EQ(session.write(12).text, first.text);
}

TEST(GrammarSession, ExhaustedLimitsStopItAndItContinuesWithoutAMatcher) {
  const OpenGrammar grammar("root ::= \"(\" root \")\" | \"[\" root \"]\" \".\"");
  EXPECT_EQ(grammar.status, SOTTO_GRAMMAR_SYNTAX);  // no text of this grammar ends
  const OpenGrammar nested("root ::= \"(\" root \")\" | \"x\"");
  OpenMatcher matcher(nested, &words(), [](auto& p) {
    p.node_count = 64;
    p.frame_count = 64;
  });
  GrammarSession session;
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  const sotto_token_bias never = {tokens_of("x")[0], -100.0f};
  params.logit_bias = &never;
  params.logit_bias_count = 1;
  ASSERT_EQ(sotto_session_set_sampler(session.get(), &params, nullptr), SOTTO_OK);
  session.prefill("Open");
  session.set(&matcher);
  const Written written = session.write(500);
  ASSERT_EQ(written.end, SOTTO_GRAMMAR_TOO_LARGE);
  EXPECT_EQ(written.text, std::string(written.text.size(), '('));
  const uint64_t count = session.info().token_count;
  EXPECT_EQ(session.write(1).end, SOTTO_GRAMMAR_TOO_LARGE);
  EXPECT_EQ(session.info().token_count, count);
  session.set(nullptr);
  EXPECT_EQ(session.write(5).token_count, 5u);
}

TEST(GrammarSession, SearchesFollowTheGrammar) {
  const OpenGrammar grammar = compact(R"({"enum":["cats","dogs","tea",12]})");
  GrammarSession session([](auto& p) {
    p.sequence_count = 4;
    p.sequence_tokens = 16;
    p.features = SOTTO_FEATURE_HIDDEN_HISTORY;
  });
  session.prefill("I like ");
  OpenMatcher few(grammar, &words(), [](auto& p) { p.sequence_count = 8; });
  sotto_error error = {};
  error.struct_size = sizeof error;
  EXPECT_EQ(sotto_session_set_matcher(session.get(), few.get(), &error), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(error.message),
            "matcher: its sequence_count is 8; it must be at least 9 for the session's searches");
  OpenMatcher matcher(grammar, &words(), [](auto& p) { p.sequence_count = 9; });
  session.set(&matcher);
  for (const sotto_search_mode mode :
       {SOTTO_SEARCH_BEAM, SOTTO_SEARCH_BEAM_SAMPLE, SOTTO_SEARCH_SAMPLE, SOTTO_SEARCH_CONTRASTIVE}) {
    sotto_search_params params;
    sotto_search_params_init(&params, sizeof params);
    params.mode = mode;
    const sotto_sequence* found = nullptr;
    size_t count = 0;
    ASSERT_EQ(sotto_session_search(session.get(), &params, &found, &count, &error), SOTTO_OK)
        << mode << ": " << error.message;
    ASSERT_GT(count, 0u);
    for (size_t i = 0; i < count; ++i) {
      char text[256];
      size_t size = 0;
      ASSERT_EQ(sotto_detokenize(demo().get(), found[i].tokens, found[i].token_count, text, sizeof text, &size),
                SOTTO_OK);
      EXPECT_FALSE(json::parse(std::string(text, size), nullptr, false).is_discarded())
          << mode << ": " << std::string(text, size);
    }
  }
  EXPECT_EQ(session.write().end, SOTTO_STOP_GRAMMAR);
}

TEST(GrammarSession, WorksWithStopsBansAndHealing) {
  const OpenGrammar grammar("root ::= [a-z]{3} \" \" [a-z]{3} \" \" [a-z]*");
  OpenMatcher matcher(grammar, &words());
  const sotto_text banned[] = {{"a", 1}, {"he", 2}, {"t", 1}};
  const sotto_text stop = {" ", 1};
  sotto_stop_params stops;
  sotto_stop_params_init(&stops, sizeof stops);
  stops.banned_strings = banned;
  stops.banned_string_count = 3;
  GrammarSession session;
  for (const bool stopped : {false, true}) {
    stops.stop_strings = &stop;
    stops.stop_string_count = stopped ? 1 : 0;
    ASSERT_EQ(sotto_session_set_stops(session.get(), &stops, nullptr), SOTTO_OK);
    for (uint64_t seed = 0; seed < 8; ++seed) {
      sotto_session_reset(session.get());
      ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
      session.sample(seed, [](auto& p) { p.ignore_end = 1; });
      session.prefill("One day, ");  // ends in a blank that belongs to the next word
      ASSERT_EQ(sotto_session_heal(session.get()), SOTTO_OK);
      session.set(&matcher);
      const Written written = session.write(12);
      ASSERT_GE(written.end, 0) << sotto_status_text(written.end);
      for (const sotto_text& ban : banned) {
        EXPECT_EQ(written.text.find(ban.text, 0, ban.size), std::string::npos) << written.text;
      }
      OpenMatcher judge(grammar);
      EXPECT_TRUE(judge.begins(written.text)) << written.text;
      if (written.end == SOTTO_STOP_STRING) {
        EXPECT_TRUE(stopped);
        EXPECT_EQ(written.text.size(), 3u) << written.text;
      }
    }
  }
}

TEST(GrammarSession, SearchesWaitForAHealedWord) {
  GrammarSession session([](sotto_session_params& params) { params.sequence_count = 2; });
  session.sample(1);
  session.prefill("One day, ");
  ASSERT_EQ(sotto_session_heal(session.get()), SOTTO_OK);
  const sotto_sequence* found = nullptr;
  size_t count = 0;
  EXPECT_EQ(sotto_session_search(session.get(), nullptr, &found, &count, nullptr), SOTTO_INVALID_STATE);
  ASSERT_EQ(session.write(1).end, SOTTO_OK);
  EXPECT_EQ(sotto_session_search(session.get(), nullptr, &found, &count, nullptr), SOTTO_OK);
  EXPECT_EQ(count, 2u);
}

TEST(GrammarSession, StatesAndForksLeaveTheMatcherWhereItWasSet) {
  const OpenGrammar grammar("root ::= [a-z ]{200}");
  OpenMatcher matcher(grammar, &words());
  OpenMatcher others(grammar, &words());
  GrammarSession session, copy;
  session.sample(5);
  copy.sample(5);
  session.prefill("Once");
  session.set(&matcher);
  const Written first = session.write(6);
  size_t size = 0;
  ASSERT_EQ(sotto_session_saved_size(session.get(), &size), SOTTO_OK);
  std::vector<uint8_t> saved(size);
  ASSERT_EQ(sotto_session_save(session.get(), saved.data(), size, &size), SOTTO_OK);
  const Written rest = session.write(6);
  ASSERT_EQ(sotto_session_restore(session.get(), saved.data(), size, nullptr), SOTTO_OK);
  EXPECT_EQ(matcher.info().token_count, 0u);
  ASSERT_EQ(matcher.accept(first.text), SOTTO_OK);
  session.set(&matcher);
  EXPECT_EQ(session.write(6).text, rest.text);

  ASSERT_EQ(others.accept(first.text + rest.text), SOTTO_OK);
  ASSERT_EQ(sotto_session_fork(session.get(), copy.get(), nullptr), SOTTO_OK);
  copy.set(&others);
  EXPECT_EQ(copy.write(8).text, session.write(8).text);
}

TEST(GrammarSession, TriggersWaitForTheirText) {
  const std::string call = "{";
  const sotto_text trigger = {call.data(), call.size()};
  const OpenGrammar grammar("root ::= \"\\\"\" [a-z]{1,5} \"\\\"}\"", [&](auto& p) {
    p.triggers = &trigger;
    p.trigger_count = 1;
  });
  OpenMatcher matcher(grammar, &words());
  GrammarSession session;
  const sotto_token_bias more = {tokens_of("{")[0], 9.0f};
  int called = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    sotto_session_reset(session.get());
    ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
    session.sample(seed, [&](auto& p) {
      p.logit_bias = &more;
      p.logit_bias_count = 1;
      p.ignore_end = 1;
    });
    session.prefill("Call {");
    session.set(&matcher);
    const Written written = session.write(60);
    const size_t begin = written.text.find('{');
    if (begin == std::string::npos || written.end != SOTTO_STOP_GRAMMAR) continue;
    ++called;
    const std::string name = written.text.substr(begin);
    EXPECT_EQ(name.substr(0, 2), "{\"");
    EXPECT_EQ(name.substr(name.size() - 2), "\"}");
    EXPECT_LE(name.size(), 9u);
  }
  EXPECT_GT(called, 2);
}

TEST(GrammarSession, GuidesAndLayersSeeOnlyAllowedTokens) {
  const OpenGrammar grammar = compact(kPerson);
  OpenMatcher matcher(grammar, &words());
  const auto all = [](auto& p) { p.features = SOTTO_FEATURE_DOLA | SOTTO_FEATURE_GUIDE; };
  GrammarSession session(all), guide(all);
  session.sample(2, [](auto& p) { p.dola = SOTTO_DOLA_HIGH; });
  session.prefill("A person: ");
  guide.prefill("An animal: ");
  ASSERT_EQ(sotto_session_set_guide(session.get(), guide.get(), nullptr, nullptr), SOTTO_OK);
  session.set(&matcher);
  const Written written = session.write();
  EXPECT_EQ(written.end, SOTTO_STOP_GRAMMAR) << written.text;
  EXPECT_TRUE(is_person(written.text)) << written.text;
}

}  // namespace
}  // namespace sotto
