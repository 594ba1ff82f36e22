// JSON lines through the tokenizer.
#include "platforms/cli/tools/tokenize_jsonl.h"

#include <cstdint>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/json_lines.h"
#include "platforms/cli/support/text.h"

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
  const auto convert = [&](const std::string& line) { return convert_line(model, special, line); };
  const auto refuse = [](const std::string& message, uint64_t number) {
    return Json{{"error", to_utf8(message)}, {"line", number}};
  };
  return answer_lines("-", convert, refuse);
}

}  // namespace sotto::cli
