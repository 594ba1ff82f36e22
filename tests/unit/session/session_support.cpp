#include "tests/unit/session/session_support.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "converters/model_writer.h"
#include "converters/readers/synthetic.h"
#include "converters/tokenizers/builder.h"

namespace sotto {
namespace {

// Merges name tokens by their bytes.
const std::vector<std::pair<std::string, std::string>> kMerges = {
    {"a", "b"},  {"ab", "c"}, {"b", "c"}, {"c", "a"},       {"a", "a"},
    {"aa", "a"}, {"bc", "a"}, {"c", "b"}, {"\xC3", "\xA9"}, {"a", "\xC3\xA9"}};

struct Vocabulary {
  std::vector<std::string> bytes;
  TokenizerDescription description;

  Vocabulary() {
    const auto add = [&](const std::string& token, TokenKind kind) {
      bytes.push_back(token);
      description.tokens.push_back({token, kind});
      return static_cast<uint32_t>(bytes.size() - 1);
    };
    add("", TokenKind::kUnused);  // the end of text
    for (const char* byte : {"a", "b", "c", "\xC3", "\xA9", "\xE2", "\x82", "\xAC"}) {
      description.byte_tokens[static_cast<uint8_t>(byte[0])] = add(byte, TokenKind::kNormal);
    }
    for (const auto& [left, right] : kMerges) {
      const auto id = [&](const std::string& token) {
        return static_cast<uint32_t>(std::find(bytes.begin(), bytes.end(), token) - bytes.begin());
      };
      const uint32_t left_id = id(left), right_id = id(right);
      description.merges.push_back({left_id, right_id, add(left + right, TokenKind::kNormal)});
    }
  }
};

const Vocabulary& shared_vocabulary() {
  static const Vocabulary vocabulary;
  return vocabulary;
}

// A vocabulary with its own end-of-text token.
class EndingCheckpoint final : public Checkpoint {
 public:
  EndingCheckpoint(const ModelShape& shape, uint64_t seed, float norm_gain)
      : Checkpoint(SyntheticCheckpoint("session test", shape, seed).info()),
        plain_("session test", shape, seed),
        norm_gain_(norm_gain) {
    info_.end_of_text_token = kEndToken;
  }
  std::vector<float> positions() const override { return loud(plain_.positions()); }
  std::vector<float> token_embedding() const override { return loud(plain_.token_embedding()); }
  FloatLayer layer(uint32_t index) const override {
    FloatLayer layer = plain_.layer(index);
    layer.attention_qkv.weights = loud(layer.attention_qkv.weights);
    layer.feed_forward_up.weights = loud(layer.feed_forward_up.weights);
    return layer;
  }
  FloatNorm final_norm() const override {
    FloatNorm norm = plain_.final_norm();
    for (float& gain : norm.gain) gain *= norm_gain_;
    return norm;
  }
  FloatLinear head() const override { return plain_.head(); }

 private:
  static std::vector<float> loud(std::vector<float> x) {
    for (float& value : x) value *= 8;
    return x;
  }
  SyntheticCheckpoint plain_;
  float norm_gain_;
};

std::vector<uint8_t> write_file(const Checkpoint& checkpoint, const TokenizerData* tokenizer) {
  const auto path =
      std::filesystem::temp_directory_path() / ("sotto-session-test-" + std::to_string(getpid()) + ".sotto");
  WriteOptions options;
  options.tokenizer = tokenizer;
  write_model(checkpoint, path, options);
  std::ifstream stream(path, std::ios::binary);
  std::vector<uint8_t> bytes(std::filesystem::file_size(path));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace

const std::vector<std::string>& vocabulary() { return shared_vocabulary().bytes; }

int32_t token_of(std::string_view bytes) {
  const auto found = std::find(vocabulary().begin(), vocabulary().end(), bytes);
  if (found == vocabulary().end()) throw std::runtime_error("no such token");
  return static_cast<int32_t>(found - vocabulary().begin());
}

std::string bytes_of(const std::vector<int32_t>& tokens) {
  std::string bytes;
  for (const int32_t token : tokens) bytes += vocabulary()[static_cast<size_t>(token)];
  return bytes;
}

const Model& text_model(uint32_t layer_count, uint64_t seed, float norm_gain) {
  static std::map<std::tuple<uint32_t, uint64_t, float>, std::unique_ptr<TestModel>> models;
  std::unique_ptr<TestModel>& model = models[{layer_count, seed, norm_gain}];
  if (model == nullptr) {
    const auto size = static_cast<uint32_t>(vocabulary().size());
    const ModelShape shape = {size, 64, 32, 2, 64, layer_count};
    const TokenizerData tokenizer = build_tokenizer(shared_vocabulary().description);
    model = std::make_unique<TestModel>(write_file(EndingCheckpoint(shape, seed, norm_gain), &tokenizer),
                                        isa_of_environment());
  }
  return model->get();
}

const Model& model_without_text() {
  static const TestModel model(write_file(SyntheticCheckpoint("session test", {30, 64, 32, 2, 64, 2}, 1), nullptr));
  return model.get();
}

OpenedSession::OpenedSession(const Model& model, const std::function<void(SessionParams&)>& adjust) {
  SessionParams params;
  if (adjust) adjust(params);
  Error error;
  size_t size = 0;
  if (Session::memory_size(model, params, &size, &error) != Status::kOk) {
    throw std::runtime_error(error.message);
  }
  memory_ = std::make_unique<TestMemory>(size);
  std::fill_n(static_cast<uint8_t*>(memory_->data()), size, uint8_t{0xEE});  // no code may rely on zeros
  if (Session::init(model, params, memory_->data(), size, &session_, &error) != Status::kOk) {
    throw std::runtime_error(error.message);
  }
}

void OpenedSession::sample(uint64_t seed, const std::function<void(SamplerParams&)>& adjust) {
  SamplerParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  params.seed = seed;
  if (adjust) adjust(params);
  Error error;
  ASSERT_EQ(session_->set_sampler(params, &error), Status::kOk) << error.message;
}

std::vector<TextView> views(const std::vector<std::string>& strings) {
  std::vector<TextView> found;
  for (const std::string& string : strings) found.push_back({string.data(), string.size()});
  return found;
}

void OpenedSession::stop_at(const std::vector<std::string>& strings, bool include) {
  const auto list = views(strings);
  StopParams params;
  params.include_stop_text = include;
  params.stop_strings = list;
  Error error;
  ASSERT_EQ(session_->set_stops(params, &error), Status::kOk) << error.message;
}

void OpenedSession::ban(const std::vector<std::string>& strings) {
  const auto list = views(strings);
  StopParams params;
  params.banned_strings = list;
  Error error;
  ASSERT_EQ(session_->set_stops(params, &error), Status::kOk) << error.message;
}

void OpenedSession::prefill(const std::vector<int32_t>& tokens) {
  ASSERT_EQ(session_->prefill(tokens, nullptr), Status::kOk);
}

Generated OpenedSession::generate(size_t count) {
  Generated generated;
  while (generated.tokens.size() < count && generated.end == Status::kOk) {
    generated.end = session_->next(nullptr);
    const Piece& piece = session_->piece();
    generated.text.append(piece.text, piece.text_size);
    if (generated.end != Status::kOk) break;
    generated.tokens.push_back(piece.token);
  }
  return generated;
}

std::vector<float> OpenedSession::logits() {
  std::span<const float> logits;
  EXPECT_EQ(session_->logits(&logits, nullptr), Status::kOk);
  return {logits.begin(), logits.end()};
}

Automaton::Automaton(std::vector<std::map<int32_t, int>> moves, std::vector<int> ends)
    : moves_(std::move(moves)), ends_(std::move(ends)), words_(1) {}

Status Automaton::mask(uint32_t, TokenMask* mask) {
  words_[0] = ends_in(state()) ? uint64_t{1} << kEndToken : 0;
  for (const auto& [token, next] : moves_[static_cast<size_t>(state())]) words_[0] |= uint64_t{1} << token;
  *mask = {words_.data(), vocabulary().size()};
  return words_[0] == 0 ? Status::kGrammarDeadEnd : Status::kOk;
}

bool Automaton::must_end(uint32_t) { return ends_in(state()) && moves_[static_cast<size_t>(state())].empty(); }

Status Automaton::accept_token(uint32_t, int32_t token) {
  const auto& from_here = moves_[static_cast<size_t>(state())];
  const auto move = from_here.find(token);
  if (move == from_here.end()) return Status::kGrammarDeadEnd;
  trail_.push_back(move->second);
  return Status::kOk;
}

Status Automaton::accept_text(uint32_t, std::span<const char> text) {
  const int next = step(text);
  if (next < 0) return Status::kInvalidArgument;
  trail_.push_back(next);
  return Status::kOk;
}

Status Automaton::test_text(uint32_t, std::span<const char> text, bool* begins, bool*) {
  *begins = step(text) >= 0;
  return Status::kOk;
}

Status Automaton::rewind(uint64_t count) {
  if (!can_rewind(count)) return Status::kInvalidState;
  trail_.resize(trail_.size() - count);
  return Status::kOk;
}

int Automaton::step(std::span<const char> text) const {
  for (const auto& [token, next] : moves_[static_cast<size_t>(state())]) {
    if (vocabulary()[static_cast<size_t>(token)] == std::string_view(text.data(), text.size())) {
      return next;
    }
  }
  return -1;
}

bool Automaton::ends_in(int state) const { return std::find(ends_.begin(), ends_.end(), state) != ends_.end(); }

std::string random_text(std::mt19937& random, size_t min_size, size_t max_size) {
  static const std::vector<std::string> characters = {"a", "b", "c", "a", "b", "\xC3\xA9", "\xE2\x82\xAC"};
  const size_t size = min_size + random() % (max_size - min_size + 1);
  std::string text;
  while (text.size() < size) text += characters[random() % characters.size()];
  return text;
}

std::vector<std::string> random_strings(std::mt19937& random, size_t count, size_t max_size) {
  std::vector<std::string> strings(count);
  for (std::string& string : strings) string = random_text(random, 1, max_size);
  return strings;
}

}  // namespace sotto
