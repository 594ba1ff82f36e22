// The answers of the OpenAI API, as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platforms/cli/support/json.h"
#include "platforms/server/slots.h"

namespace sotto::cli {

// The answers to one request for texts: one object, or chunks of a stream.
class Answer {
 public:
  // `is_chat` selects between the forms of chat completions and of completions.
  Answer(bool is_chat, std::string model);

  // Adds a part of a choice to the whole answer.
  void add(Choice&& part);
  Json whole(const Usage& usage) const;

  // Returns the chunk that begins a message.
  Json first_chunk(uint32_t index) const;
  // Returns the next part of a choice as a chunk.
  Json chunk(const Choice& part);
  // Returns the last chunk, if the client asked for the usage.
  Json usage_chunk(const Usage& usage) const;

 private:
  Json object(const char* kind, Json choices) const;

  bool is_chat_;
  std::string model_;
  std::string id_;
  int64_t created_;
  std::vector<Choice> choices_;
  std::map<uint32_t, size_t> offsets_;  // of the next token of each choice in its text, for chunks
};

Json embedding_answer(const std::string& model, const std::vector<std::vector<float>>& vectors, bool is_base64,
                      const Usage& usage);
Json error_answer(const std::string& message, const char* type);
Json models_answer(const std::string& model, int64_t created);

}  // namespace sotto::cli
