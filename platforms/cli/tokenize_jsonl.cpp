// JSON lines through the tokenizer.
#include "platforms/cli/tokenize_jsonl.h"

#include <cstdint>
#include <cstdio>
#include <iostream>

#include "platforms/cli/failure.h"
#include "platforms/cli/json_values.h"
#include "platforms/cli/text.h"

namespace sotto::cli {
namespace {

Json convert_line(const Model& model, bool special, const std::string& line) {
  const Json request = parse_json(line);
  const bool has_text = request.is_object() && request.contains("text");
  const bool has_ids = request.is_object() && request.contains("ids");
  if (has_text == has_ids) throw Failure("needs to be an object with \"text\" or with \"ids\"");
  if (has_ids) return text_json(model.detokenize(to_tokens(request["ids"], "ids")));
  if (!request["text"].is_string()) throw Failure("\"text\" is not a string");
  const auto& text = request["text"].get_ref<const std::string&>();
  return {{"ids", model.tokenize(text, special, "text")}};
}

}  // namespace

Json text_json(const std::string& bytes) {
  if (is_utf8(bytes)) return {{"text", bytes}};
  return {{"text", to_utf8(bytes)}, {"bytes_hex", hexadecimal(bytes)}};
}

bool convert_lines(const Model& model, bool special) {
  std::ios::sync_with_stdio(false);  // std::cin buffers by itself; output goes through stdio
  bool good = true;
  std::string line;
  for (uint64_t number = 1; std::getline(std::cin, line); ++number) {
    Json answer;
    try {
      answer = convert_line(model, special, line);
    } catch (const Failure& failure) {
      answer = {{"error", to_utf8(failure.what())}, {"line", number}};
      good = false;
    }
    std::printf("%s\n", answer.dump().c_str());
    std::fflush(stdout);  // the other end of a pipe may wait for each answer
  }
  return good;
}

}  // namespace sotto::cli
