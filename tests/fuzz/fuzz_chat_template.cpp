// Fuzzes chat templates: the input is a template in Jinja. It is rendered or rejected with a message, and a format that
// is found for it is valid.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/chat/chat_format.h"
#include "converters/chat/jinja.h"
#include "runtime/chat/chat_format.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace {

using namespace sotto;

void render(std::string_view source) {
  static const auto variables = jinja::Value::parse(R"({"messages": [{"role": "user", "content": " a\n"},
      {"role": "assistant", "content": ""}], "list": [1, "b"], "eos_token": "</s>", "add_generation_prompt": true})");
  try {
    (void)jinja::Template(source).render(variables);
  } catch (const jinja::TemplateError& error) {
    REQUIRE(std::string_view(error.what()).substr(0, 5) == "line ");
  }
}

void find_format(std::string_view source) {
  std::vector<std::string> notes;
  const std::string format = find_chat_format(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, notes);
  if (format.empty()) return;
  ChatFormatView view;
  REQUIRE(view.parse({format.data(), format.size()}, nullptr) == Status::kOk);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  render(source);
  find_format(source);
  return 0;
}
