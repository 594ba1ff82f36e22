// Tests that a conversation equals a stream made by hand, stays within the context, and uses constant memory. Tests
// also that it continues with the same bits after undo, save and restore.

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "converters/model_writer.h"
#include "converters/readers/synthetic.h"
#include "converters/tokenizers/builder.h"
#include "tests/capi/named_errors.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 128, 48, 3, 100, 2};
// The text of a random model often contains a stop string of one byte.
constexpr std::string_view kFormat = "<{|}S:{system}\n{|}U:{user}\n{|}A:{assistant}e\n{|}T:{tool}\n";

struct Shape {
  uint32_t context_tokens = 128;
  uint32_t reply_tokens = 8;
  uint32_t history_bytes = 4096;
  uint32_t message_limit = 64;
  std::string_view format = kFormat;
};

class OpenChat {
 public:
  explicit OpenChat(sotto_model* model, const Shape& shape = {})
      : session_(model, [&](auto& params) { params.context_tokens = shape.context_tokens; }) {
    sotto_sampler_params sampler;
    sotto_sampler_params_init(&sampler, sizeof sampler);
    sampler.temperature = 1.5f;
    sampler.seed = 7;
    EXPECT_EQ(sotto_session_set_sampler(session_.get(), &sampler, nullptr), SOTTO_OK);
    sotto_chat_params params;
    sotto_chat_params_init(&params, sizeof params);
    params.reply_tokens = shape.reply_tokens;
    params.history_bytes = shape.history_bytes;
    params.message_limit = shape.message_limit;
    size_t size = 0;
    EXPECT_EQ(sotto_chat_memory_size(session_.get(), &params, &size, nullptr), SOTTO_OK);
    memory_.emplace(size);
    std::memset(memory_->data(), 0xEE, size);  // no code may rely on zeros
    EXPECT_EQ(sotto_chat_init(session_.get(), &params, shape.format.data(), shape.format.size(), memory_->data(),
                              size - 1, &chat_, nullptr),
              SOTTO_MEMORY_TOO_SMALL);
    EXPECT_EQ(sotto_chat_init(session_.get(), &params, shape.format.data(), shape.format.size(), memory_->data(), size,
                              &chat_, nullptr),
              SOTTO_OK);
  }
  ~OpenChat() { EXPECT_TRUE(memory_->guards_intact()); }

  sotto_chat* get() { return chat_; }
  OpenSession& session() { return session_; }

  sotto_status add(sotto_chat_role role, std::string_view text, sotto_error* error = nullptr) {
    return sotto_chat_add(chat_, role, text.data(), text.size(), error);
  }
  std::string reply(size_t max_tokens = 12) {
    std::string text;
    status = sotto_chat_reply(chat_, max_tokens, append, &text, nullptr);
    return text;
  }
  std::string turn(std::string_view text) {
    EXPECT_EQ(add(SOTTO_ROLE_USER, text), SOTTO_OK);
    return reply();
  }
  sotto_chat_info info() {
    sotto_chat_info info = {};
    info.struct_size = sizeof info;
    EXPECT_EQ(sotto_chat_get_info(chat_, &info), SOTTO_OK);
    return info;
  }
  std::vector<uint8_t> save() {
    size_t size = 0;
    EXPECT_EQ(sotto_chat_save(chat_, nullptr, 0, &size), SOTTO_BUFFER_TOO_SMALL);
    std::vector<uint8_t> bytes(size);
    EXPECT_EQ(sotto_chat_save(chat_, bytes.data(), size, &size), SOTTO_OK);
    return bytes;
  }

  static int32_t append(void* text, const sotto_piece* piece) {
    static_cast<std::string*>(text)->append(piece->text, piece->text_size);
    return 0;
  }

  sotto_status status = SOTTO_OK;

 private:
  OpenSession session_;
  std::optional<GuardedBytes> memory_;
  sotto_chat* chat_ = nullptr;
};

class Chats : public testing::Test {
 protected:
  Chats() : model_(make_model_file(kShape, true)) {}

  std::vector<sotto_token> tokens_of(std::string_view text) {
    std::vector<sotto_token> tokens(text.size() + 1);
    size_t count = 0;
    EXPECT_EQ(sotto_tokenize(model_.get(), text.data(), text.size(), SOTTO_TOKENIZE_SPECIAL, tokens.data(),
                             tokens.size(), &count, nullptr),
              SOTTO_OK);
    tokens.resize(count);
    return tokens;
  }

  LoadedModel model_;
};

TEST_F(Chats, EqualStreamsMadeByHand) {
  OpenChat chat(model_.get()), other(model_.get());
  OpenSession& by_hand = other.session();  // with the same sampler and stops
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "be kind"), SOTTO_OK);
  std::string rest = "<S:be kind\n";
  int stopped = 0;
  for (const std::string text : {"hello", "", "what?", "go on", "end"}) {
    ASSERT_EQ(chat.add(SOTTO_ROLE_USER, text), SOTTO_OK);
    const std::string reply = chat.reply();
    std::string expected;
    const auto prompt = tokens_of(rest + "U:" + text + "\nA:");
    ASSERT_EQ(sotto_session_prefill(by_hand.get(), prompt.data(), prompt.size()), SOTTO_OK);
    ASSERT_EQ(sotto_session_generate(by_hand.get(), nullptr, 0, 12, OpenChat::append, &expected), chat.status);
    stopped += chat.status == SOTTO_STOP_STRING;
    EXPECT_EQ(reply, expected);
    EXPECT_EQ(chat.info().evaluated_tokens, prompt.size());
    EXPECT_EQ(chat.session().info().token_count, by_hand.info().token_count);
    EXPECT_EQ(chat.session().logits(), by_hand.logits());
    rest = "e\n";
  }
  EXPECT_GT(stopped, 0);
  EXPECT_EQ(chat.info().turn_count, 5u);
  EXPECT_EQ(chat.info().message_count, 11u);
}

TEST_F(Chats, StayWithinTheContext) {
  Shape shape;
  shape.context_tokens = 64;
  shape.history_bytes = 1024;
  OpenChat chat(model_.get(), shape);
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "short"), SOTTO_OK);
  for (int i = 0; i < 200; ++i) {
    const std::string text = "turn " + std::to_string(i);
    const std::string reply = chat.turn(text);
    ASSERT_GE(chat.status, 0);
    const sotto_chat_info info = chat.info();
    EXPECT_LE(info.prompt_tokens + 8, 64u);
    EXPECT_LE(chat.session().info().token_count, 64u);
    EXPECT_EQ(info.dropped_turn_count + info.turn_count, static_cast<uint64_t>(i + 1));
    EXPECT_LE(info.evaluated_tokens, info.prompt_tokens);
    EXPECT_LE(info.history_bytes, 1024u);
    if (i % 20 != 19) continue;
    // Another conversation continues from the saved messages with the same bits.
    OpenChat restored(model_.get(), shape);
    const auto bytes = chat.save();
    ASSERT_EQ(sotto_chat_restore(restored.get(), bytes.data(), bytes.size(), nullptr), SOTTO_OK);
    EXPECT_EQ(restored.save(), bytes);
    EXPECT_EQ(restored.turn("and?"), chat.turn("and?"));
    EXPECT_EQ(restored.session().logits(), chat.session().logits());
    ASSERT_EQ(sotto_chat_undo(chat.get(), 0, nullptr), SOTTO_OK);
    ASSERT_EQ(sotto_chat_restore(chat.get(), bytes.data(), bytes.size(), nullptr), SOTTO_OK);
  }
  EXPECT_GT(chat.info().dropped_turn_count, 150u);
}

TEST_F(Chats, DropNoTurnThatFits) {
  Shape shape;
  shape.context_tokens = 96;
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    OpenChat chat(model_.get(), shape);
    std::string prompt = "<";
    if (round % 2 == 0) {
      ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "short"), SOTTO_OK);
      prompt += "S:short\n";
    }
    std::vector<std::string> turns;  // as they are in the prompt
    const size_t count = 1 + random() % 30;
    while (turns.size() < count) {
      const std::string text(random() % 20, 'x');
      ASSERT_EQ(chat.add(SOTTO_ROLE_USER, text), SOTTO_OK);
      turns.push_back("U:" + text + "\n");
      if (turns.size() == count || random() % 4 == 0) continue;
      ASSERT_EQ(chat.add(SOTTO_ROLE_ASSISTANT, text), SOTTO_OK);
      turns.back() += "A:" + text + "e\n";
    }
    std::string kept = "A:";
    size_t dropped = count;
    while (dropped > 0 && tokens_of(prompt + turns[dropped - 1] + kept).size() + shape.reply_tokens <= 96) {
      kept = turns[--dropped] + kept;
    }
    chat.reply(1);
    ASSERT_GE(chat.status, 0);
    EXPECT_EQ(chat.info().dropped_turn_count, dropped);
    EXPECT_EQ(chat.info().prompt_tokens, tokens_of(prompt + kept).size());
  }
}

TEST_F(Chats, UndoneTurnsLeaveNoTrace) {
  OpenChat chat(model_.get()), plain(model_.get());
  EXPECT_EQ(chat.turn("one"), plain.turn("one"));
  const auto bytes = chat.save();
  const std::string first = chat.turn("two");
  ASSERT_EQ(sotto_chat_undo(chat.get(), 1, nullptr), SOTTO_OK);
  EXPECT_EQ(sotto_chat_undo(chat.get(), 1, nullptr), SOTTO_INVALID_STATE);
  EXPECT_EQ(chat.reply(), first);
  EXPECT_EQ(chat.info().evaluated_tokens, 1u);
  ASSERT_EQ(sotto_chat_undo(chat.get(), 0, nullptr), SOTTO_OK);
  EXPECT_EQ(chat.save(), bytes);
  EXPECT_EQ(chat.turn("three"), plain.turn("three"));
  EXPECT_EQ(chat.session().logits(), plain.session().logits());
  sotto_chat_reset(chat.get());
  EXPECT_EQ(sotto_chat_undo(chat.get(), 0, nullptr), SOTTO_INVALID_STATE);
  OpenChat fresh(model_.get());
  EXPECT_EQ(chat.turn("one"), fresh.turn("one"));
}

TEST_F(Chats, AMessageOfTheSystemIsReplaced) {
  OpenChat chat(model_.get()), plain(model_.get());
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "first"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_USER, "hello"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_ASSISTANT, "hi"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_TOOL, "42"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "second"), SOTTO_OK);
  (void)chat.reply();
  const auto prompt = tokens_of("<S:second\nU:hello\nA:hie\nT:42\nA:");
  EXPECT_EQ(chat.info().prompt_tokens, prompt.size());
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, ""), SOTTO_OK);
  ASSERT_EQ(sotto_chat_undo(chat.get(), 0, nullptr), SOTTO_OK);
  EXPECT_EQ(chat.info().message_count, 0u);
  EXPECT_EQ(chat.turn("x"), plain.turn("x"));
}

TEST_F(Chats, HoldNoMoreThanTheirLimitOfMessages) {
  Shape shape;
  shape.message_limit = 4;
  OpenChat chat(model_.get(), shape);
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "first"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_USER, "a"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_ASSISTANT, "b"), SOTTO_OK);
  ASSERT_EQ(chat.add(SOTTO_ROLE_USER, "c"), SOTTO_OK);
  // Another message replaces the system's, and needs no place.
  ASSERT_EQ(chat.add(SOTTO_ROLE_SYSTEM, "second"), SOTTO_OK);
  EXPECT_EQ(chat.info().dropped_turn_count, 0u);
  // A reply that fails leaves all messages.
  sotto_session_cancel(chat.session().get());
  EXPECT_EQ(chat.reply(), "");
  EXPECT_EQ(chat.status, SOTTO_STOP_CANCELLED);
  EXPECT_EQ(chat.info().message_count, 4u);

  ASSERT_EQ(chat.add(SOTTO_ROLE_TOOL, "1"), SOTTO_OK);
  EXPECT_EQ(chat.info().dropped_turn_count, 1u);
  ASSERT_EQ(chat.add(SOTTO_ROLE_TOOL, "2"), SOTTO_OK);
  sotto_error error = {};
  error.struct_size = sizeof error;
  EXPECT_EQ(chat.add(SOTTO_ROLE_TOOL, "3", &error), SOTTO_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "message_limit is 4; the system's message and the last turn have 4");
  const auto bytes = chat.save();
  sotto_chat_reset(chat.get());
  EXPECT_EQ(chat.info().prompt_tokens, 0u);
  ASSERT_EQ(sotto_chat_restore(chat.get(), bytes.data(), bytes.size(), nullptr), SOTTO_OK);
  EXPECT_EQ(chat.save(), bytes);
}

// A sampler that keeps a state begins each reply with the state of its own parameters.
TEST_F(Chats, RegenerateWithAnotherSampler) {
  const auto set_tau = [](OpenChat& chat, float tau) {
    sotto_sampler_params sampler;
    sotto_sampler_params_init(&sampler, sizeof sampler);
    sampler.selection = SOTTO_SELECT_MIROSTAT_V2;
    sampler.mirostat_tau = tau;
    EXPECT_EQ(sotto_session_set_sampler(chat.session().get(), &sampler, nullptr), SOTTO_OK);
  };
  OpenChat chat(model_.get()), plain(model_.get());
  set_tau(chat, 8);
  (void)chat.turn("hello");
  ASSERT_EQ(sotto_chat_undo(chat.get(), 1, nullptr), SOTTO_OK);
  set_tau(chat, 0.5f);
  set_tau(plain, 0.5f);
  EXPECT_EQ(chat.reply(), plain.turn("hello"));
}

TEST_F(Chats, ReplyUntilTheirCallbackStops) {
  OpenChat chat(model_.get());
  ASSERT_EQ(chat.add(SOTTO_ROLE_USER, "hello"), SOTTO_OK);
  const auto on_piece = [](void* used, const sotto_piece*) -> int32_t {
    EXPECT_EQ(sotto_chat_undo(static_cast<sotto_chat*>(used), 0, nullptr), SOTTO_INVALID_STATE);
    return 1;
  };
  EXPECT_EQ(sotto_chat_reply(chat.get(), 9, on_piece, chat.get(), nullptr), SOTTO_STOP_CALLBACK);
  EXPECT_EQ(chat.info().message_count, 2u);
  sotto_session_cancel(chat.session().get());
  ASSERT_EQ(chat.add(SOTTO_ROLE_USER, "again"), SOTTO_OK);
  EXPECT_EQ(chat.reply(), "");
  EXPECT_EQ(chat.status, SOTTO_STOP_CANCELLED);
  EXPECT_EQ(chat.info().message_count, 3u);
  (void)chat.reply();
  EXPECT_EQ(chat.info().message_count, 4u);
}

// Nor may a message complete the text of a special token that the format begins or ends.
TEST(ChatMessages, ContainNoSpecialTokens) {
  TokenizerDescription description;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    description.tokens.push_back({std::string(1, static_cast<char>(byte)), TokenKind::kNormal});
    description.byte_tokens[byte] = byte;
  }
  description.tokens.push_back({"[INST]", TokenKind::kSpecial});
  description.tokens.resize(kShape.vocabulary_size);
  const TokenizerData tokenizer = build_tokenizer(description);
  WriteOptions options;
  options.tokenizer = &tokenizer;
  LoadedModel model(convert_to_bytes(SyntheticCheckpoint("special", kShape, 1), options));
  OpenChat chat(model.get(), {.format = "[{user}]{|}{assistant}e[INST]"});
  sotto_error error = {};
  error.struct_size = sizeof error;
  for (const auto& [text, offset] :
       {std::pair("a [INST] b", 2), {"INST", 0}, {"INST]", 0}, {"b [INST", 2}, {"[INST]", 0}}) {
    EXPECT_EQ(chat.add(SOTTO_ROLE_USER, text, &error), SOTTO_INVALID_ARGUMENT) << text;
    EXPECT_EQ(error.offset, static_cast<uint64_t>(offset)) << text;
  }
  for (const char* text : {"INS", "NST]", "[INS", "", "I", "[INST "}) {
    EXPECT_EQ(chat.add(SOTTO_ROLE_USER, text, &error), SOTTO_OK) << text << error.message;
  }
}

TEST_F(Chats, ErrorsSayWhatIsWrong) {
  OpenChat chat(model_.get());
  sotto_error error = {};
  error.struct_size = sizeof error;
  const auto expect = [&](sotto_status status, sotto_status expected, std::string_view words) {
    EXPECT_EQ(status, expected);
    EXPECT_NE(std::string_view(error.message).find(words), std::string_view::npos) << error.message;
  };
  expect(chat.add(SOTTO_ROLE_ASSISTANT, "x", &error), SOTTO_INVALID_STATE, "message of the user");
  expect(sotto_chat_reply(chat.get(), 1, nullptr, nullptr, &error), SOTTO_INVALID_STATE, "no message of the user");
  expect(chat.add(4, "x", &error), SOTTO_INVALID_ARGUMENT, "role is 4");
  expect(chat.add(SOTTO_ROLE_USER, "a\xFF", &error), SOTTO_INVALID_ARGUMENT, "byte 1 is not UTF-8");
  expect(chat.add(SOTTO_ROLE_USER, std::string(5000, 'x'), &error), SOTTO_INVALID_ARGUMENT, "history_bytes is 4096");
  ASSERT_EQ(chat.add(SOTTO_ROLE_USER, std::string(300, 'x')), SOTTO_OK);
  expect(sotto_chat_reply(chat.get(), 1, nullptr, nullptr, &error), SOTTO_PROMPT_TOO_LONG, "context of 128");
  EXPECT_EQ(chat.info().message_count, 1u);
  (void)chat.turn("short");
  EXPECT_EQ(chat.info().dropped_turn_count, 1u);
  expect(sotto_chat_reply(chat.get(), 1, nullptr, nullptr, &error), SOTTO_INVALID_STATE, "the last message is a reply");
  expect(sotto_chat_undo(chat.get(), 2, &error), SOTTO_INVALID_ARGUMENT, "only_reply is 2");

  std::vector<sotto_text> many(64, sotto_text{"x", 1});
  sotto_stop_params stops;
  sotto_stop_params_init(&stops, sizeof stops);
  stops.stop_strings = many.data();
  stops.stop_string_count = many.size();
  expect(sotto_chat_set_stops(chat.get(), &stops, &error), SOTTO_INVALID_ARGUMENT, "stop_string_count is 64");

  const auto bytes = chat.save();
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= 1;
    ASSERT_LT(sotto_chat_restore(chat.get(), damaged.data(), damaged.size(), &error), 0) << i;
  }
  EXPECT_EQ(sotto_chat_restore(chat.get(), bytes.data(), bytes.size() - 1, &error), SOTTO_STATE_CORRUPT);
  EXPECT_EQ(chat.save(), bytes);

  const struct {
    std::string_view format, words;
  } formats[] = {{"", "1 to 4096"},
                 {"{user}", "no part contains {assistant}"},
                 {"{user}{assistant}", "{assistant} at byte 6"},
                 {"{user}{|}{assistant}{|}{user}", "{user} at byte 23"},
                 {"{user}{|}{assistant}{|}x", "the part at byte 23"}};
  AlignedBytes memory(1 << 20);
  for (const auto& [format, words] : formats) {
    sotto_chat* unused = nullptr;
    sotto_chat_params params;
    sotto_chat_params_init(&params, sizeof params);
    params.reply_tokens = 8;
    expect(sotto_chat_init(chat.session().get(), &params, format.data(), format.size(), memory.data(), memory.size(),
                           &unused, &error),
           SOTTO_INVALID_ARGUMENT, words);
  }
}

TEST_F(Chats, FormatsWithNamesEndReplies) {
  const struct {
    sotto_chat_format format;
    std::string_view forced, shown;
  } rows[] = {{SOTTO_CHAT_PLAIN, " yes\nUser: x", " yes"},
              {SOTTO_CHAT_INSTRUCT, "yes\n\n### Instruction:", "yes"},
              {SOTTO_CHAT_CHATML, "yes<|im_end|>", "yes"}};
  for (const auto& [format, forced, shown] : rows) {
    Shape shape;
    shape.format = sotto_chat_format_text(format);
    shape.reply_tokens = 40;
    shape.context_tokens = 128;
    OpenChat chat(model_.get(), shape);
    const auto tokens = tokens_of(forced);
    sotto_sampler_params sampler;
    sotto_sampler_params_init(&sampler, sizeof sampler);
    sampler.forced_prefix = tokens.data();
    sampler.forced_prefix_count = tokens.size();
    ASSERT_EQ(sotto_session_set_sampler(chat.session().get(), &sampler, nullptr), SOTTO_OK);
    ASSERT_EQ(chat.add(SOTTO_ROLE_USER, "?"), SOTTO_OK);
    EXPECT_EQ(chat.reply(40), shown);
    EXPECT_EQ(chat.status, SOTTO_STOP_STRING);
  }
  // The sentence of this format needs more tokens than the model has.
  EXPECT_NE(std::string_view(sotto_chat_format_text(SOTTO_CHAT_ALPACA)).find("### Response:"), std::string_view::npos);
  EXPECT_STREQ(sotto_chat_format_text(9), "");
}

}  // namespace
}  // namespace sotto
