#include "platforms/server/answer.h"

#include <chrono>
#include <random>

namespace sotto::cli {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string new_id() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (int i = 0; i < 24; ++i) id += kDigits[random() % 16];
  return id;
}

// Returns null while the text goes on.
Json finish_reason(Status stop) {
  switch (stop) {
    case Status::ok:
      return nullptr;
    case Status::max_tokens:
    case Status::context_full:
    case Status::time:
      return "length";
    default:
      return "stop";
  }
}

Json bytes_json(const std::string& bytes) {
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

// The log probabilities of a chat completion.
Json chat_scores(const std::vector<ScoredToken>& tokens) {
  Json content = Json::array();
  for (const ScoredToken& token : tokens) {
    Json others = Json::array();
    for (const auto& [text, log_probability] : token.alternatives) {
      others.push_back({{"token", text}, {"logprob", number_json(log_probability)}, {"bytes", bytes_json(text)}});
    }
    content.push_back({{"token", token.bytes},
                       {"logprob", number_json(token.log_probability)},
                       {"bytes", bytes_json(token.bytes)},
                       {"top_logprobs", std::move(others)}});
  }
  return {{"content", std::move(content)}};
}

// The log probabilities of a completion, or of a part of it. `offset` is the size of the text before the part, and
// then of the text with it.
Json completion_scores(const std::vector<ScoredToken>& tokens, size_t& offset) {
  Json texts = Json::array(), log_probabilities = Json::array(), alternatives = Json::array();
  Json offsets = Json::array();
  for (const ScoredToken& token : tokens) {
    texts.push_back(token.bytes);
    log_probabilities.push_back(number_json(token.log_probability));
    Json others = Json::object();
    for (const auto& [text, log_probability] : token.alternatives) others[text] = number_json(log_probability);
    alternatives.push_back(std::move(others));
    offsets.push_back(offset);
    offset += token.bytes.size();
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(log_probabilities)},
          {"top_logprobs", std::move(alternatives)},
          {"text_offset", std::move(offsets)}};
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

std::string bytes_of(const std::vector<float>& vector) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)};
}

}  // namespace

Answer::Answer(bool is_chat, std::string model)
    : is_chat_(is_chat), model_(std::move(model)), id_((is_chat ? "chatcmpl-" : "cmpl-") + new_id()), created_(now()) {}

void Answer::add(Choice&& part) {
  if (choices_.size() <= part.index) choices_.resize(part.index + 1);
  Choice& choice = choices_[part.index];
  choice.index = part.index;
  choice.text += part.text;
  choice.stop = part.stop;
  for (ScoredToken& token : part.tokens) choice.tokens.push_back(std::move(token));
}

Json Answer::object(const char* kind, Json choices) const {
  return {{"id", id_}, {"object", kind}, {"created", created_}, {"model", model_}, {"choices", std::move(choices)}};
}

Json Answer::whole(const Usage& usage) const {
  Json choices = Json::array();
  for (const Choice& choice : choices_) {
    size_t offset = 0;
    Json object = {{"index", choice.index}};
    if (is_chat_) {
      object["message"] = {{"role", "assistant"}, {"content", choice.text}};
    } else {
      object["text"] = choice.text;
    }
    if (choice.tokens.empty()) {
      object["logprobs"] = nullptr;
    } else {
      object["logprobs"] = is_chat_ ? chat_scores(choice.tokens) : completion_scores(choice.tokens, offset);
    }
    object["finish_reason"] = finish_reason(choice.stop);
    choices.push_back(std::move(object));
  }
  Json answer = object(is_chat_ ? "chat.completion" : "text_completion", std::move(choices));
  answer["usage"] = usage_json(usage);
  return answer;
}

Json Answer::first_chunk(uint32_t index) const {
  const Json choice = {{"index", index},
                       {"delta", {{"role", "assistant"}, {"content", ""}}},
                       {"logprobs", nullptr},
                       {"finish_reason", nullptr}};
  return object("chat.completion.chunk", Json::array({choice}));
}

Json Answer::chunk(const Choice& part) {
  Json choice = {{"index", part.index}};
  if (!is_chat_) {
    choice["text"] = part.text;
  } else if (part.stop == Status::ok) {
    choice["delta"] = {{"content", part.text}};
  } else {
    choice["delta"] = Json::object();
  }
  if (part.tokens.empty()) {
    choice["logprobs"] = nullptr;
  } else {
    choice["logprobs"] = is_chat_ ? chat_scores(part.tokens) : completion_scores(part.tokens, offsets_[part.index]);
  }
  choice["finish_reason"] = finish_reason(part.stop);
  return object(is_chat_ ? "chat.completion.chunk" : "text_completion", Json::array({choice}));
}

Json Answer::usage_chunk(const Usage& usage) const {
  Json answer = object(is_chat_ ? "chat.completion.chunk" : "text_completion", Json::array());
  answer["usage"] = usage_json(usage);
  return answer;
}

Json embedding_answer(const std::string& model, const std::vector<std::vector<float>>& vectors, bool is_base64,
                      const Usage& usage) {
  Json data = Json::array();
  for (size_t i = 0; i < vectors.size(); ++i) {
    Json values = Json::array();
    if (!is_base64) {
      for (const float value : vectors[i]) values.push_back(shortest(value));
    }
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", is_base64 ? Json(to_base64(bytes_of(vectors[i]))) : std::move(values)}});
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", usage.prompt_tokens}, {"total_tokens", usage.prompt_tokens}}}};
}

Json error_answer(const std::string& message, const char* type) {
  return {{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}};
}

Json models_answer(const std::string& model, int64_t created) {
  return {{"object", "list"},
          {"data", Json::array({{{"id", model}, {"object", "model"}, {"created", created}, {"owned_by", "sotto"}}})}};
}

}  // namespace sotto::cli
