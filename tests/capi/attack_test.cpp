// Attacks the C interface as a hostile or careless host would. With any arguments, a function must return a status, its
// error must have a message, and its objects must stay usable. tests/README.md lists the other tests of this kind.

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "capi/generated/field_ends.h"
#include "tests/capi/open_grammar.h"
#include "tests/capi/open_sampler.h"
#include "tests/capi/open_session.h"
#include "tests/capi/session_calls.h"

namespace sotto {
namespace {

struct Error : sotto_error {
  Error() : sotto_error() { struct_size = sizeof(sotto_error); }
};

// Checks that a status is documented and that a failure has a message.
void check(sotto_status status, const sotto_error* error = nullptr) {
  constexpr sotto_status kUndefined = -99;
  EXPECT_STRNE(sotto_status_text(status), sotto_status_text(kUndefined)) << status;
  if (status < 0 && error != nullptr) {
    EXPECT_NE(error->message[0], '\0') << status;
  }
}

// A session in a ring, which never becomes full, with memory for every feature.
class Attack : public testing::Test {
 protected:
  Attack() : file_(make_model_file(kShape, true)), model_(make_model_file(kShape, true)) {}

  // Checks that the session still generates the text of a new one.
  void expect_usable(sotto_session* session) {
    OpenSession fresh(model_.get(), allow_everything);
    EXPECT_EQ(text_of(session), text_of(fresh.get()));
  }
  std::vector<sotto_token> text_of(sotto_session* session) {
    sotto_session_reset(session);
    EXPECT_EQ(sotto_session_set_sampler(session, nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_session_set_stops(session, nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_session_set_matcher(session, nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_session_set_guide(session, nullptr, nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(sotto_session_set_speculation(session, nullptr, nullptr), SOTTO_OK);
    std::vector<sotto_token> tokens;
    const auto add = [](void* list, const sotto_piece* piece) -> int32_t {
      static_cast<std::vector<sotto_token>*>(list)->push_back(piece->token);
      return 0;
    };
    sotto_status status;
    // A cancellation that came after its call ends the first one here.
    do {
      tokens.clear();
      sotto_session_reset(session);
      status = sotto_session_generate(session, kPrompt, 4, 6, add, &tokens);
    } while (status == SOTTO_STOP_CANCELLED);
    check(status);
    return tokens;
  }

  AlignedBytes file_;
  LoadedModel model_;
};

// ---- NULLs ---------------------------------------------------------------------

// Calls a function with every combination of NULLs among its pointers.
template <typename Return, typename... Parameters, size_t... kIndices>
void call_with_nulls(Return (*function)(Parameters...), const std::tuple<Parameters...>& valid,
                     std::index_sequence<kIndices...>) {
  constexpr size_t kPointers = (size_t{0} + ... + size_t{std::is_pointer_v<Parameters>});
  for (size_t nulls = 0; nulls < size_t{1} << kPointers; ++nulls) {
    std::tuple<Parameters...> arguments = valid;
    sotto_error* error = nullptr;
    [[maybe_unused]] size_t pointer = 0;
    [[maybe_unused]] const auto replace = [&](auto& argument) {
      if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(argument)>>) {
        if ((nulls >> pointer++ & 1) != 0) argument = nullptr;
      }
      // sotto_session_get_error() describes the failure of another call.
      if constexpr (std::is_same_v<decltype(argument), sotto_error*&> && sizeof...(Parameters) > 2) error = argument;
    };
    (replace(std::get<kIndices>(arguments)), ...);
    if (error != nullptr) error->message[0] = '\0';
    if constexpr (std::is_same_v<Return, sotto_status>) {
      check(std::apply(function, arguments), error);
    } else {
      (void)std::apply(function, arguments);
    }
  }
}

class Nulls {
 public:
  template <typename Return, typename... Parameters, typename... Arguments>
  void call(const char* name, Return (*function)(Parameters...), Arguments... arguments) {
    SCOPED_TRACE(name);
    called_.insert(name);
    call_with_nulls(function, std::tuple<Parameters...>(arguments...), std::index_sequence_for<Parameters...>());
  }
  const std::set<std::string>& called() const { return called_; }

 private:
  std::set<std::string> called_;
};

template <typename T>
T sized() {
  T value = {};
  value.struct_size = sizeof value;
  return value;
}

template <typename T>
T defaults(void (*init)(T*, size_t)) {
  T value;
  init(&value, sizeof value);
  return value;
}

TEST_F(Attack, EveryPointerOfEveryFunctionMayBeNull) {
  Nulls nulls;
#define NULLS(function, ...) nulls.call(#function, function __VA_OPT__(, ) __VA_ARGS__)
  OpenSession session(model_.get(), allow_everything), other(model_.get(), allow_everything);
  OpenSampler sampler(kShape.vocabulary_size);
  OpenVocabulary vocabulary(model_.get());
  OpenGrammar grammar("root ::= [a-z]*");
  OpenMatcher matcher(grammar, &vocabulary,
                      [&](auto& params) { params.sequence_count = session.info().matcher_sequence_count; });
  sotto_session* const s = session.get();
  Error error;
  size_t size = 0, count = 0;
  uint32_t number = 0, second_number = 0;
  const char* text = nullptr;
  const char word[] = "the end";
  char bytes[64];
  sotto_token tokens[64] = {1, 2, 3, 4};
  const sotto_token* const prompt = tokens;
  const float* floats = nullptr;
  const sotto_piece* piece = nullptr;
  const sotto_piece* pieces[2];
  sotto_status statuses[2];
  const auto on_piece = [](void*, const sotto_piece*) -> int32_t { return 0; };
  AlignedBytes memory(size_t{8} << 20);
  std::vector<float> row(kShape.vocabulary_size, 1.0f);

  NULLS(sotto_version);
  NULLS(sotto_build_text);
  NULLS(sotto_status_text, SOTTO_OK);

  auto model_params = defaults(sotto_model_params_init);
  auto model_info = sized<sotto_model_info>();
  sotto_model* model = nullptr;
  NULLS(sotto_isa_text, SOTTO_ISA_AUTO);
  NULLS(sotto_model_params_init, &model_params, sizeof model_params);
  NULLS(sotto_model_memory_size, file_.data(), file_.size(), &model_params, &size, &error);
  NULLS(sotto_model_init, file_.data(), file_.size(), &model_params, memory.data(), memory.size(), &model, &error);
  NULLS(sotto_model_deinit, model);
  NULLS(sotto_model_get_info, model_.get(), &model_info);
  NULLS(sotto_model_text, model_.get(), SOTTO_MODEL_TEXT_NAME, &text, &size);
  NULLS(sotto_tokenize, model_.get(), word, 7, 0, tokens, 64, &count, &error);
  NULLS(sotto_token_bytes, model_.get(), 65, &text, &size);
  NULLS(sotto_token_flags, model_.get(), 65, &number);
  NULLS(sotto_detokenize, model_.get(), prompt, 4, bytes, sizeof bytes, &size);

  auto session_params = defaults(sotto_session_params_init);
  auto session_info = sized<sotto_session_info>();
  auto timings = sized<sotto_session_timings>();
  sotto_session* opened = nullptr;
  NULLS(sotto_session_params_init, &session_params, sizeof session_params);
  NULLS(sotto_session_memory_size, model_.get(), &session_params, &size, &error);
  NULLS(sotto_session_init, model_.get(), &session_params, memory.data(), memory.size(), &opened, &error);
  NULLS(sotto_session_deinit, opened);
  NULLS(sotto_session_prefill, s, prompt, 4);
  NULLS(sotto_session_next, s, &piece);
  sotto_session* const both[] = {s, other.get()};
  NULLS(sotto_sessions_next, both, 2, pieces, statuses, &error);
  sotto_session* const none[] = {s, nullptr};
  check(sotto_sessions_next(none, 2, pieces, statuses, &error), &error);
  NULLS(sotto_session_set_limit, s, 100);
  NULLS(sotto_session_generate, s, prompt, 4, 2, on_piece, &size);
  NULLS(sotto_session_logits, s, &floats, &count);
  NULLS(sotto_session_hidden, s, &floats, &count);
  NULLS(sotto_session_rewind, s, 1);
  NULLS(sotto_session_heal, s);
  NULLS(sotto_session_get_error, s, &error);
  NULLS(sotto_session_cancel, s);
  NULLS(sotto_session_get_info, s, &session_info);
  NULLS(sotto_session_get_timings, s, &timings);
  NULLS(sotto_session_reset_timings, s);
  auto stops = defaults(sotto_stop_params_init);
  NULLS(sotto_stop_params_init, &stops, sizeof stops);
  NULLS(sotto_session_set_stops, s, &stops, &error);
  auto score = sized<sotto_score>();
  NULLS(sotto_session_score, s, prompt, 4, row.data(), &score);
  NULLS(sotto_session_embed, s, prompt, 4, SOTTO_POOL_MEAN, row.data());
  auto guide = defaults(sotto_guide_params_init);
  NULLS(sotto_guide_params_init, &guide, sizeof guide);
  NULLS(sotto_session_set_guide, s, other.get(), &guide, &error);
  EXPECT_EQ(sotto_session_set_guide(s, nullptr, nullptr, nullptr), SOTTO_OK);
  std::vector<uint8_t> saved(size_t{1} << 20);
  NULLS(sotto_session_saved_size, s, &size);
  NULLS(sotto_session_save, s, saved.data(), saved.size(), &size);
  NULLS(sotto_session_restore, s, saved.data(), size, &error);
  NULLS(sotto_session_fork, s, other.get(), &error);

  auto watermark = defaults(sotto_watermark_params_init);
  auto result = sized<sotto_watermark_result>();
  NULLS(sotto_watermark_params_init, &watermark, sizeof watermark);
  NULLS(sotto_watermark_detect, &watermark, kShape.vocabulary_size, prompt, 4, &result, &error);
  auto sampler_params = defaults(sotto_sampler_params_init);
  NULLS(sotto_sampler_params_init, &sampler_params, sizeof sampler_params);
  NULLS(sotto_sampler_params_init_preset, &sampler_params, sizeof sampler_params, SOTTO_PRESET_CREATIVE);
  NULLS(sotto_session_set_sampler, s, &sampler_params, &error);
  sotto_sampler* opened_sampler = nullptr;
  NULLS(sotto_sampler_memory_size, kShape.vocabulary_size, 0, &size, &error);
  NULLS(sotto_sampler_init, model_.get(), kShape.vocabulary_size, 0, memory.data(), memory.size(), &opened_sampler,
        &error);
  NULLS(sotto_sampler_set, sampler.get(), &sampler_params, &error);
  auto input = sized<sotto_sampler_input>();
  input.logits = row.data();
  NULLS(sotto_sampler_sample, sampler.get(), &input, tokens, &error);
  sotto_token kept[kShape.vocabulary_size];
  float probabilities[kShape.vocabulary_size];
  NULLS(sotto_sampler_apply, sampler.get(), &input, kept, probabilities, kShape.vocabulary_size, &count, &error);

  auto search = defaults(sotto_search_params_init);
  search.max_tokens = 2;
  search.sequence_count = 2;
  const sotto_sequence* sequences = nullptr;
  NULLS(sotto_search_params_init, &search, sizeof search);
  NULLS(sotto_session_search, s, &search, &sequences, &count, &error);
  auto speculation = defaults(sotto_speculation_params_init);
  auto drafts = sized<sotto_speculation_info>();
  NULLS(sotto_speculation_params_init, &speculation, sizeof speculation);
  NULLS(sotto_session_set_speculation, s, &speculation, &error);
  NULLS(sotto_session_get_speculation_info, s, &drafts);

  auto words = defaults(sotto_vocabulary_params_init);
  sotto_vocabulary* opened_vocabulary = nullptr;
  NULLS(sotto_vocabulary_params_init, &words, sizeof words);
  words.model = model_.get();
  NULLS(sotto_vocabulary_memory_size, &words, &size, &error);
  NULLS(sotto_vocabulary_init, &words, memory.data(), memory.size(), &opened_vocabulary, &error);
  auto grammar_params = defaults(sotto_grammar_params_init);
  sotto_grammar* compiled = nullptr;
  const sotto_grammar* loaded = nullptr;
  const char source[] = "root ::= \"a\"+";
  NULLS(sotto_grammar_params_init, &grammar_params, sizeof grammar_params);
  NULLS(sotto_grammar_typical_memory, 100);
  NULLS(sotto_grammar_compile, source, sizeof source - 1, &grammar_params, memory.data(), memory.size(), &compiled,
        &size, &error);
  AlignedBytes image(size_t{1} << 20);
  NULLS(sotto_grammar_save, grammar.get(), image.data(), image.size(), &size);
  NULLS(sotto_grammar_load, image.data(), size, &loaded, &error);
  auto matcher_params = defaults(sotto_matcher_params_init);
  auto matcher_info = sized<sotto_matcher_info>();
  sotto_matcher* opened_matcher = nullptr;
  uint64_t mask[(kShape.vocabulary_size + 63) / 64];
  const uint64_t* borrowed = nullptr;
  NULLS(sotto_matcher_params_init, &matcher_params, sizeof matcher_params);
  NULLS(sotto_matcher_memory_size, grammar.get(), vocabulary.get(), &matcher_params, &size, &error);
  NULLS(sotto_matcher_init, grammar.get(), vocabulary.get(), &matcher_params, memory.data(), memory.size(),
        &opened_matcher, &error);
  NULLS(sotto_matcher_reset, matcher.get(), 0);
  NULLS(sotto_matcher_mask, matcher.get(), 0, mask, std::size(mask));
  NULLS(sotto_matcher_borrow_mask, matcher.get(), 0, &borrowed);
  NULLS(sotto_matcher_accept_token, matcher.get(), 0, 'a');
  NULLS(sotto_matcher_accept_text, matcher.get(), 0, word, 3);
  NULLS(sotto_matcher_test, matcher.get(), 0, word, 3, &number, &second_number);
  NULLS(sotto_matcher_rewind, matcher.get(), 1);
  NULLS(sotto_matcher_fork, matcher.get(), 0, 0);
  NULLS(sotto_matcher_forced_text, matcher.get(), 0, bytes, sizeof bytes, &size);
  NULLS(sotto_matcher_get_info, matcher.get(), 0, &matcher_info);
  NULLS(sotto_session_set_matcher, s, matcher.get(), &error);

  sotto_session_reset(s);
  NULLS(sotto_session_reset, s);
  NULLS(sotto_session_prefill_embeddings, s, row.data(), 1);
  sotto_session_reset(s);
  expect_usable(s);

  OpenSession talking(model_.get());
  auto chat_params = defaults(sotto_chat_params_init);
  auto chat_info = sized<sotto_chat_info>();
  const char format[] = "{user}{|}{assistant}";
  sotto_chat* chat = nullptr;
  NULLS(sotto_chat_format_text, SOTTO_CHAT_PLAIN);
  NULLS(sotto_chat_params_init, &chat_params, sizeof chat_params);
  chat_params.reply_tokens = 4;
  chat_params.history_bytes = 1024;
  NULLS(sotto_chat_memory_size, talking.get(), &chat_params, &size, &error);
  NULLS(sotto_chat_init, talking.get(), &chat_params, format, sizeof format - 1, memory.data(), memory.size(), &chat,
        &error);
  ASSERT_EQ(sotto_chat_init(talking.get(), &chat_params, format, sizeof format - 1, memory.data(), memory.size(), &chat,
                            &error),
            SOTTO_OK)
      << error.message;
  NULLS(sotto_chat_set_stops, chat, &stops, &error);
  NULLS(sotto_chat_add, chat, SOTTO_ROLE_USER, word, 7, &error);
  NULLS(sotto_chat_reply, chat, 2, on_piece, &size, &error);
  NULLS(sotto_chat_undo, chat, 1, &error);
  NULLS(sotto_chat_get_info, chat, &chat_info);
  NULLS(sotto_chat_save, chat, saved.data(), saved.size(), &size);
  NULLS(sotto_chat_restore, chat, saved.data(), size, &error);
  NULLS(sotto_chat_reset, chat);
#undef NULLS

  std::set<std::string> names;
  std::ifstream file(SOTTO_SYMBOLS);
  for (std::string name; file >> name;) names.insert(name);
  EXPECT_EQ(nulls.called(), names);
}

// ---- Integers and floats ---------------------------------------------------------

// Extreme integers, and the bits of extreme floats: NaNs, infinities, the largest and the smallest numbers.
constexpr uint32_t kHostile[] = {0,          1,          2,          16,         65536,      0x7FFFFFFF, 0x80000000,
                                 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0x7FC00000, 0x7F800001, 0x7F800000, 0xFF800000,
                                 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F000000, 0x4B000000};

// Calls use() with parameters in which one field of 4 bytes, or a few, have hostile values. Where pointers have 8
// bytes, these fields are all numbers but those of 64 bits.
template <typename T, typename Use>
void attack_fields(void (*init)(T*, size_t), Use use) {
  std::vector<size_t> fields;
  size_t end = 0;
  for (const size_t next : capi::FieldEnds<T>::kEnds) {
    if (next - end == sizeof(uint32_t)) fields.push_back(end);
    end = next;
  }
  ASSERT_FALSE(fields.empty());
  T params;
  const auto change = [&](size_t field, uint32_t value) {
    std::memcpy(reinterpret_cast<char*>(&params) + field, &value, sizeof value);
  };
  for (const size_t field : fields) {
    for (const uint32_t value : kHostile) {
      SCOPED_TRACE(testing::Message() << "offset " << field << ", value " << value);
      init(&params, sizeof params);
      change(field, value);
      use(params);
    }
  }
  std::mt19937 random(20251127);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    init(&params, sizeof params);
    for (int i = 0; i < 3; ++i) change(fields[random() % fields.size()], kHostile[random() % std::size(kHostile)]);
    use(params);
  }
}

// Memory of objects with hostile capacities is reserved only up to this size.
constexpr size_t kMostMemory = size_t{16} << 20;

class Numbers : public Attack {
 protected:
  void SetUp() override {
    if (sizeof(void*) != 8) GTEST_SKIP() << "fields of 4 bytes may be pointers";
  }
};

TEST_F(Numbers, OfModelsAreCheckedOrHarmless) {
  attack_fields(sotto_model_params_init, [&](const sotto_model_params& params) {
    Error error;
    size_t size = 0;
    const sotto_status status = sotto_model_memory_size(file_.data(), file_.size(), &params, &size, &error);
    check(status, &error);
    if (status != SOTTO_OK) return;
    AlignedBytes memory(size);
    sotto_model* model = nullptr;
    check(sotto_model_init(file_.data(), file_.size(), &params, memory.data(), size, &model, &error), &error);
    sotto_model_deinit(model);
  });
}

TEST_F(Numbers, OfSessionsAreCheckedOrHarmless) {
  attack_fields(sotto_session_params_init, [&](const sotto_session_params& params) {
    Error error;
    size_t size = 0;
    const sotto_status status = sotto_session_memory_size(model_.get(), &params, &size, &error);
    check(status, &error);
    if (status != SOTTO_OK || size > kMostMemory) return;
    AlignedBytes memory(size);
    sotto_session* session = nullptr;
    ASSERT_EQ(sotto_session_init(model_.get(), &params, memory.data(), size, &session, &error), SOTTO_OK)
        << error.message;
    check(sotto_session_generate(session, kPrompt, 4, 3, nullptr, nullptr));
    sotto_session_deinit(session);
  });
}

TEST_F(Numbers, OfSamplersAreCheckedOrHarmless) {
  OpenSession session(model_.get(), allow_everything);
  OpenSampler sampler(kShape.vocabulary_size, 64);
  const std::vector<float> logits(kShape.vocabulary_size, 1.0f);
  attack_fields(sotto_sampler_params_init, [&](const sotto_sampler_params& params) {
    Error error;
    const sotto_status status = sotto_session_set_sampler(session.get(), &params, &error);
    check(status, &error);
    if (status != SOTTO_OK) return;
    check(sotto_sampler_set(sampler.get(), &params, &error), &error);
    sotto_session_reset(session.get());
    check(sotto_session_generate(session.get(), kPrompt, 4, 4, nullptr, nullptr));
    auto input = sized<sotto_sampler_input>();
    input.logits = logits.data();
    input.history = kPrompt;
    input.history_count = 4;
    sotto_token token = -1;
    check(sotto_sampler_sample(sampler.get(), &input, &token, &error), &error);
  });
  expect_usable(session.get());
}

TEST_F(Numbers, OfStopsAreCheckedOrHarmless) {
  OpenSession session(model_.get(), allow_everything);
  attack_fields(sotto_stop_params_init, [&](const sotto_stop_params& params) {
    Error error;
    const sotto_status status = sotto_session_set_stops(session.get(), &params, &error);
    check(status, &error);
    if (status == SOTTO_OK) check(sotto_session_generate(session.get(), kPrompt, 4, 4, nullptr, nullptr));
  });
  expect_usable(session.get());
}

TEST_F(Numbers, OfGuidesAndDraftsAreCheckedOrHarmless) {
  OpenSession session(model_.get(), allow_everything), guide(model_.get(), allow_everything);
  ASSERT_EQ(sotto_session_prefill(guide.get(), kPrompt, 2), SOTTO_OK);
  attack_fields(sotto_guide_params_init, [&](const sotto_guide_params& params) {
    Error error;
    check(sotto_session_set_guide(session.get(), guide.get(), &params, &error), &error);
    check(sotto_session_generate(session.get(), kPrompt, 4, 2, nullptr, nullptr));
  });
  ASSERT_EQ(sotto_session_set_guide(session.get(), nullptr, nullptr, nullptr), SOTTO_OK);
  attack_fields(sotto_speculation_params_init, [&](const sotto_speculation_params& params) {
    Error error;
    check(sotto_session_set_speculation(session.get(), &params, &error), &error);
    check(sotto_session_generate(session.get(), kPrompt, 4, 4, nullptr, nullptr));
  });
  expect_usable(session.get());
}

TEST_F(Numbers, OfSearchesAreCheckedOrHarmless) {
  OpenSession session(model_.get(), allow_everything);
  attack_fields(sotto_search_params_init, [&](const sotto_search_params& params) {
    Error error;
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    const sotto_sequence* sequences = nullptr;
    size_t count = 0;
    check(sotto_session_search(session.get(), &params, &sequences, &count, &error), &error);
  });
  expect_usable(session.get());
}

TEST_F(Numbers, OfGrammarsAreCheckedOrHarmless) {
  OpenVocabulary vocabulary(model_.get());
  const std::string schema = R"({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}})";
  AlignedBytes memory(sotto_grammar_typical_memory(schema.size()));
  for (const sotto_grammar_language language : {SOTTO_GRAMMAR_GBNF, SOTTO_GRAMMAR_JSON_SCHEMA}) {
    const auto init =
        language == SOTTO_GRAMMAR_GBNF ? sotto_grammar_params_init : [](sotto_grammar_params* params, size_t size) {
          sotto_grammar_params_init(params, size);
          params->language = SOTTO_GRAMMAR_JSON_SCHEMA;
        };
    attack_fields(+init, [&](const sotto_grammar_params& params) {
      Error error;
      sotto_grammar* grammar = nullptr;
      size_t size = 0;
      check(sotto_grammar_compile(schema.data(), schema.size(), &params, memory.data(), memory.size(), &grammar, &size,
                                  &error),
            &error);
    });
  }
  OpenGrammar grammar(schema, SOTTO_GRAMMAR_JSON_SCHEMA);
  attack_fields(sotto_matcher_params_init, [&](const sotto_matcher_params& params) {
    Error error;
    size_t size = 0;
    const sotto_status status = sotto_matcher_memory_size(grammar.get(), vocabulary.get(), &params, &size, &error);
    check(status, &error);
    if (status != SOTTO_OK || size > kMostMemory) return;
    AlignedBytes block(size);
    sotto_matcher* matcher = nullptr;
    const sotto_status opened =
        sotto_matcher_init(grammar.get(), vocabulary.get(), &params, block.data(), size, &matcher, &error);
    check(opened, &error);
    if (opened != SOTTO_OK) return;
    uint64_t mask[(kShape.vocabulary_size + 63) / 64];
    check(sotto_matcher_mask(matcher, 0, mask, std::size(mask)));
    check(sotto_matcher_accept_token(matcher, 0, '{'));
  });
}

TEST_F(Numbers, OfWatermarksAndConversationsAreCheckedOrHarmless) {
  attack_fields(sotto_watermark_params_init, [&](const sotto_watermark_params& params) {
    Error error;
    auto result = sized<sotto_watermark_result>();
    check(sotto_watermark_detect(&params, kShape.vocabulary_size, kPrompt, 4, &result, &error), &error);
  });
  OpenSession session(model_.get());
  const char format[] = "{user}{|}{assistant}";
  attack_fields(sotto_chat_params_init, [&](const sotto_chat_params& params) {
    Error error;
    size_t size = 0;
    const sotto_status status = sotto_chat_memory_size(session.get(), &params, &size, &error);
    check(status, &error);
    if (status != SOTTO_OK || size > kMostMemory) return;
    AlignedBytes memory(size);
    sotto_chat* chat = nullptr;
    const sotto_status opened =
        sotto_chat_init(session.get(), &params, format, sizeof format - 1, memory.data(), size, &chat, &error);
    check(opened, &error);
    if (opened != SOTTO_OK) return;
    check(sotto_chat_add(chat, SOTTO_ROLE_USER, "a", 1, &error), &error);
    check(sotto_chat_reply(chat, 2, nullptr, nullptr, &error), &error);
  });
}

TEST_F(Attack, NumbersThatAreNotParametersAreCheckedOrHarmless) {
  OpenSession session(model_.get(), allow_everything);
  OpenVocabulary vocabulary(model_.get());
  OpenGrammar grammar("root ::= [a-z]*");
  OpenMatcher matcher(grammar, &vocabulary);
  Error error;
  size_t size = 0;
  for (const size_t huge : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, SIZE_MAX / 4 + 1}) {
    check(sotto_sampler_memory_size(huge, 0, &size, &error), &error);
    check(sotto_watermark_detect(nullptr, huge, kPrompt, 4, nullptr, &error), &error);
    EXPECT_GE(sotto_grammar_typical_memory(huge), sotto_grammar_typical_memory(1000));
    EXPECT_EQ(sotto_session_rewind(session.get(), huge), SOTTO_INVALID_ARGUMENT);
    EXPECT_EQ(sotto_session_set_limit(session.get(), huge), SOTTO_OK);
    check(sotto_matcher_rewind(matcher.get(), huge));
  }
  for (const uint32_t bits : kHostile) {
    const auto number = static_cast<int32_t>(bits);
    EXPECT_NE(sotto_status_text(number), nullptr);
    EXPECT_NE(sotto_isa_text(number), nullptr);
    (void)sotto_chat_format_text(number);
    check(sotto_sampler_memory_size(kShape.vocabulary_size, bits, &size, &error), &error);
    check(sotto_matcher_reset(matcher.get(), bits));
    check(sotto_matcher_fork(matcher.get(), bits, 0));
    check(sotto_matcher_fork(matcher.get(), 0, bits));
    check(sotto_matcher_accept_token(matcher.get(), bits, 'a'));
    check(sotto_matcher_accept_token(matcher.get(), 0, number));
    const char* text = nullptr;
    uint32_t flags = 0;
    check(sotto_token_bytes(model_.get(), number, &text, &size));
    check(sotto_token_flags(model_.get(), number, &flags));
    check(sotto_model_text(model_.get(), number, &text, &size));
    check(sotto_tokenize(model_.get(), "a", 1, bits, nullptr, 0, &size, &error), &error);
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    check(sotto_sampler_params_init_preset(&params, sizeof params, number));
    const float row = std::bit_cast<float>(bits);
    const std::vector<float> rows(2 * kShape.embedding_size, row);
    sotto_session_reset(session.get());
    check(sotto_session_prefill_embeddings(session.get(), rows.data(), 2));
    check(sotto_session_generate(session.get(), nullptr, 0, 2, nullptr, nullptr));
    sotto_session_reset(session.get());
    float embedding[kShape.embedding_size];
    check(sotto_session_embed(session.get(), kPrompt, 4, number, embedding));
    check(sotto_session_prefill(session.get(), &number, 1));
  }
  expect_usable(session.get());
}

// ---- Cancellation and signals ------------------------------------------------------

TEST_F(Attack, EveryCallMayBeCancelledAtAnyTime) {
  OpenSession other(model_.get(), allow_everything);
  ASSERT_EQ(sotto_session_prefill(other.get(), kPrompt, 4), SOTTO_OK);
  for (const Call& call : calls(other.get())) {
    SCOPED_TRACE(call.name);
    if (call.name == std::string_view("deinit")) continue;  // a session must not be cancelled after it
    OpenSession session(model_.get(), [](sotto_session_params& params) {
      allow_everything(params);
      params.thread_count = 2;
    });
    std::atomic<bool> done = false;
    std::thread canceller([&] {
      while (!done) {
        sotto_session_cancel(session.get());
        std::this_thread::yield();
      }
    });
    for (int i = 0; i < 20; ++i) {
      sotto_session_reset(session.get());
      check(sotto_session_prefill(session.get(), kPrompt, 4));
      check(call.run(session.get()));
    }
    done = true;
    canceller.join();
    expect_usable(session.get());
  }
}

// The session that the next signal cancels. A signal sets it to null, so that a slow program also gets ahead.
std::atomic<sotto_session*> cancelled_by_signal = nullptr;
std::atomic<int> signals = 0;

// Sends SIGALRM to this process every 0.3 ms, without SA_RESTART. The handler cancels cancelled_by_signal.
class SignalStorm {
 public:
  SignalStorm() {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      ++signals;
      if (sotto_session* session = cancelled_by_signal.exchange(nullptr)) sotto_session_cancel(session);
    };
    sigaction(SIGALRM, &action, &before_);
    constexpr itimerval kOften = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &kOften, nullptr);
  }
  ~SignalStorm() {
    constexpr itimerval kNever = {};
    setitimer(ITIMER_REAL, &kNever, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
};

TEST_F(Attack, SignalsDoNotChangeTheText) {
  const auto open = [](sotto_session_params& params) {
    allow_everything(params);
    params.thread_count = 3;
  };
  OpenSession calm(model_.get(), open), disturbed(model_.get(), open);
  for (const bool cancel : {false, true}) {
    sotto_session_reset(calm.get());
    ASSERT_EQ(sotto_session_prefill(calm.get(), kPrompt, 4), SOTTO_OK);
    const auto expected = calm.generate(400);
    sotto_session_reset(disturbed.get());
    ASSERT_EQ(sotto_session_prefill(disturbed.get(), kPrompt, 4), SOTTO_OK);
    signals = 0;
    std::vector<sotto_token> tokens;
    {
      SignalStorm storm;
      while (tokens.size() < expected.size()) {
        const sotto_piece* piece = nullptr;
        const sotto_status status = sotto_session_next(disturbed.get(), &piece);
        ASSERT_TRUE(status == SOTTO_OK || (cancel && status == SOTTO_STOP_CANCELLED)) << status;
        if (status != SOTTO_OK) continue;
        tokens.push_back(piece->token);
        cancelled_by_signal = cancel ? disturbed.get() : nullptr;
      }
      while (signals == 0) usleep(100);
    }
    cancelled_by_signal = nullptr;
    EXPECT_EQ(tokens, expected);
  }
}

// ---- Lifetimes and read-only memory --------------------------------------------------

TEST_F(Attack, ASecondDeinitDoesNothing) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  allow_everything(params);
  params.thread_count = 3;
  size_t size = 0;
  ASSERT_EQ(sotto_session_memory_size(model_.get(), &params, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  OpenSession guide(model_.get(), allow_everything);
  sotto_session* session = nullptr;
  ASSERT_EQ(sotto_session_init(model_.get(), &params, memory.data(), size, &session, nullptr), SOTTO_OK);
  ASSERT_EQ(sotto_session_set_guide(session, guide.get(), nullptr, nullptr), SOTTO_OK);
  sotto_session_deinit(session);
  sotto_session_deinit(session);
  expect_usable(guide.get());
  // The memory serves a new session.
  ASSERT_EQ(sotto_session_init(model_.get(), &params, memory.data(), size, &session, nullptr), SOTTO_OK);
  expect_usable(session);
  sotto_session_deinit(session);

  ASSERT_EQ(sotto_model_memory_size(file_.data(), file_.size(), nullptr, &size, nullptr), SOTTO_OK);
  AlignedBytes model_memory(size);
  sotto_model* model = nullptr;
  ASSERT_EQ(sotto_model_init(file_.data(), file_.size(), nullptr, model_memory.data(), size, &model, nullptr),
            SOTTO_OK);
  sotto_model_deinit(model);
  sotto_model_deinit(model);
}

// Pages that can be made read-only. A write then ends the program.
class Pages {
 public:
  explicit Pages(size_t size) : size_(size) {
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    data_ = static_cast<uint8_t*>(pages);
  }
  ~Pages() { munmap(data_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void protect() { EXPECT_EQ(mprotect(data_, size_, PROT_READ), 0); }
  uint8_t* data() { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_;
  size_t size_;
};

TEST_F(Attack, ModelsVocabulariesAndGrammarsAreNotWrittenAfterInit) {
  Pages file(file_.size());
  std::memcpy(file.data(), file_.data(), file_.size());
  file.protect();
  size_t size = 0;
  ASSERT_EQ(sotto_model_memory_size(file.data(), file.size(), nullptr, &size, nullptr), SOTTO_OK);
  Pages model_memory(std::max<size_t>(size, 1));
  sotto_model* model = nullptr;
  ASSERT_EQ(sotto_model_init(file.data(), file.size(), nullptr, model_memory.data(), size, &model, nullptr), SOTTO_OK);
  model_memory.protect();

  sotto_vocabulary_params words;
  sotto_vocabulary_params_init(&words, sizeof words);
  words.model = model;
  ASSERT_EQ(sotto_vocabulary_memory_size(&words, &size, nullptr), SOTTO_OK);
  Pages vocabulary_memory(size);
  sotto_vocabulary* vocabulary = nullptr;
  ASSERT_EQ(sotto_vocabulary_init(&words, vocabulary_memory.data(), size, &vocabulary, nullptr), SOTTO_OK);
  vocabulary_memory.protect();

  const std::string_view source = "root ::= [a-z ]+ | \"{\" root \"}\"";
  Pages grammar_memory(sotto_grammar_typical_memory(source.size()));
  sotto_grammar* grammar = nullptr;
  ASSERT_EQ(sotto_grammar_compile(source.data(), source.size(), nullptr, grammar_memory.data(), grammar_memory.size(),
                                  &grammar, &size, nullptr),
            SOTTO_OK);
  grammar_memory.protect();
  // The loaded image is used in place.
  EXPECT_EQ(sotto_grammar_save(grammar, nullptr, 0, &size), SOTTO_BUFFER_TOO_SMALL);
  Pages image(size);
  ASSERT_EQ(sotto_grammar_save(grammar, image.data(), size, &size), SOTTO_OK);
  image.protect();
  const sotto_grammar* loaded = nullptr;
  ASSERT_EQ(sotto_grammar_load(image.data(), size, &loaded, nullptr), SOTTO_OK);

  for (const sotto_grammar* used : {static_cast<const sotto_grammar*>(grammar), loaded}) {
    OpenSession session(model, allow_everything);
    auto params = defaults(sotto_matcher_params_init);
    params.sequence_count = session.info().matcher_sequence_count;
    ASSERT_EQ(sotto_matcher_memory_size(used, vocabulary, &params, &size, nullptr), SOTTO_OK);
    AlignedBytes matcher_memory(size);
    sotto_matcher* matcher = nullptr;
    ASSERT_EQ(sotto_matcher_init(used, vocabulary, &params, matcher_memory.data(), size, &matcher, nullptr), SOTTO_OK);
    ASSERT_EQ(sotto_session_set_matcher(session.get(), matcher, nullptr), SOTTO_OK);
    ASSERT_EQ(sotto_session_prefill(session.get(), kPrompt, 4), SOTTO_OK);
    EXPECT_EQ(session.generate(20).size(), 20u);
    ASSERT_EQ(sotto_session_set_matcher(session.get(), nullptr, nullptr), SOTTO_OK);
    EXPECT_EQ(text_of(session.get()), [&] {
      OpenSession writable(model_.get(), allow_everything);
      return text_of(writable.get());
    }());
  }
}

}  // namespace
}  // namespace sotto
