// Chat templates: the Jinja subset against the Python package (tests/tools/make_template_goldens.py), and the formats
// of templates as models have them.
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "converters/chat/chat_format.h"
#include "converters/chat/jinja.h"
#include "runtime/chat/chat_format.h"
#include "tests/support/repeated.h"

namespace sotto {
namespace {

using jinja::Template;
using jinja::TemplateError;
using jinja::Value;

TEST(ChatTemplate, RendersAsThePythonPackage) {
  const char* other = std::getenv("SOTTO_TEMPLATE_GOLDENS");
  std::ifstream file(other != nullptr ? other : SOTTO_SOURCE_DIR "/tests/unit/converters/data/template_goldens.jsonl");
  ASSERT_TRUE(file.good());
  std::string line;
  std::getline(file, line);
  const Value variables = Value::parse(line);
  int count = 0;
  while (std::getline(file, line)) {
    const Value golden = Value::parse(line);
    const auto source = golden[0].get<std::string>();
    Value rendered;
    std::string error;
    try {
      rendered = Template(source).render(variables);
    } catch (const TemplateError& failure) {
      error = failure.what();
    }
    EXPECT_EQ(rendered, golden[1]) << source << '\n' << error;
    ++count;
  }
  EXPECT_GE(count, 500);
}

std::string error_of(const std::string& source) {
  try {
    Template(source).render({{"list", {1, 2}}, {"text", "abc"}});
  } catch (const TemplateError& error) {
    return error.what();
  }
  return "";
}

TEST(ChatTemplate, ErrorsNameTheLineAndWhatIsUnsupported) {
  EXPECT_EQ(error_of("a\n{% macro f() %}"), "line 2: the block macro is not supported");
  EXPECT_EQ(error_of("{{ text | tojson }}"), "line 1: the filter tojson is not supported");
  EXPECT_EQ(error_of("\n\n{{ strftime_now('%d') }}"), "line 3: the function strftime_now is not supported");
  EXPECT_EQ(error_of("{{ text.title() }}"), "line 1: the method title is not supported here");
  EXPECT_EQ(error_of("{{ text is callable }}"), "line 1: the test callable is not supported");
  EXPECT_EQ(error_of("{{ raise_exception('No.') }}"), "line 1: No.");
  EXPECT_EQ(error_of("{% if text %}\n"), "line 1: the block has no {% endif %}");
  EXPECT_EQ(error_of("a{% endif %}"), "line 1: unexpected {% endif %}");
  EXPECT_EQ(error_of("{{ 'abc }}"), "line 1: a string has no end");
  EXPECT_EQ(error_of("{{ text"), "line 1: a tag has no end");
  EXPECT_EQ(error_of("{# text"), "line 1: a comment has no end");
  EXPECT_EQ(error_of("{{ list }}"), "line 1: a list or an object is not supported as text");
  EXPECT_EQ(error_of("{{ missing.member }}"), "line 1: an undefined value has no members");
  EXPECT_EQ(error_of("{{ 1 // (1 - 1) }}"), "line 1: division by 0");
}

TEST(ChatTemplate, HostileTemplatesEndWithAnError) {
  EXPECT_NE(error_of(repeated("{% if text %}", 100000)).find("nesting is too deep"), std::string::npos);
  EXPECT_NE(error_of("{{ " + repeated("(", 1000) + "1" + repeated(")", 1000) + "}}").find("nesting is too deep"),
            std::string::npos);
  EXPECT_NE(error_of("{{ " + repeated("not ", 100000) + "}}").find("nesting is too deep"), std::string::npos);
  EXPECT_NE(error_of("{{ 1" + repeated("+1", 100000) + " }}").find("too many operators"), std::string::npos);
  EXPECT_NE(error_of("{{ text" + repeated("|trim", 100000) + " }}").find("too many operators"), std::string::npos);
  EXPECT_NE(error_of("{% set n = namespace(l=list, t='a') %}" + repeated("{% for i in list %}", 40) +
                     "{% set n.t = n.t ~ n.t %}" + repeated("{% endfor %}", 40))
                .find("more than"),
            std::string::npos);
  EXPECT_NE(error_of(repeated("{% for i in list %}", 40) + repeated("{% endfor %}", 40)).find("steps"),
            std::string::npos);
  EXPECT_NE(error_of("{% set a = list %}" + repeated("{% set a = [a, a] %}", 20)).find("values"), std::string::npos);
}

struct Found {
  std::string format;
  std::vector<std::string> notes;
};

Found find(const std::string& chat_template) {
  Found found;
  const nlohmann::json tokens = {{"bos_token", "<s>"}, {"eos_token", "<|endoftext|>"}};
  found.format = find_chat_format(chat_template, tokens, found.notes);
  return found;
}

TEST(ChatTemplate, MessagesThatEndWithATokenHaveAFormat) {
  const Found found = find("{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}");
  EXPECT_EQ(found.format,
            "{system}<|endoftext|>{|}{user}<|endoftext|>{|}{assistant}<|endoftext|>{|}{tool}<|endoftext|>");
  EXPECT_TRUE(found.notes.empty());
}

constexpr char kChatml[] =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

TEST(ChatTemplate, ChatmlIsTheFormatWithThatName) {
  const Found found = find(kChatml);
  EXPECT_EQ(found.format, ChatFormatView::text_of(ChatFormat::kChatml));
  EXPECT_TRUE(found.notes.empty());
}

TEST(ChatTemplate, ASystemMessageOfTheTemplateIsReported) {
  const Found found = find(std::string("{% if messages[0]['role'] != 'system' %}<|im_start|>system\nBe kind.<|im_end|>"
                                       "\n{% endif %}") +
                           kChatml);
  EXPECT_EQ(found.format, ChatFormatView::text_of(ChatFormat::kChatml));
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("\"Be kind.\""), std::string::npos);
}

TEST(ChatTemplate, RolesThatMustAlternateHaveAFormat) {
  const Found found = find(
      "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('Roles must alternate.') }}{% endif %}{% if message['role'] == 'user' %}"
      "{{ '[INST] ' + message['content'].strip() + ' [/INST]' }}{% else %}"
      "{{ ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}");
  EXPECT_EQ(found.format, "<s>{|}[INST] {user} [/INST]{|} {assistant}<|endoftext|>");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("white space"), std::string::npos);
}

TEST(ChatTemplate, TemplatesWithoutAnEqualFormatAreReported) {
  const auto reason = [](const std::string& chat_template) {
    const Found found = find(chat_template);
    EXPECT_EQ(found.format, "");
    return found.notes.size() == 1 ? found.notes[0].substr(found.notes[0].find(": ") + 2) : "";
  };
  EXPECT_EQ(reason("{{ messages[-1].content }}"),
            "the text of a message with the role user does not appear once, in the order of the messages");
  EXPECT_EQ(reason("{% for m in messages %}{{ m.content | upper }}{% endfor %}"),
            "the text of a message with the role user does not appear once, in the order of the messages");
  EXPECT_EQ(reason("{% for m in messages %}{{ loop.index }} {{ m.content }}{{ eos_token }}{% endfor %}"),
            "the text before the first message of the user differs");
  EXPECT_EQ(reason("{% for m in messages %}{{ m.content }}{% if loop.index == 5 %}!{% endif %}\n{% endfor %}"),
            "it treats some messages of a role differently from others");
  EXPECT_EQ(reason("{% for m in messages %}{user}{{ m.content }}\n{% endfor %}").substr(0, 7), "format:");
  EXPECT_EQ(reason("{% macro m() %}{% endmacro %}"), "line 1: the block macro is not supported");
  EXPECT_EQ(reason("{{ bos_token }}\n{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
                   "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}{% for m in messages %}"
                   "{% if loop.first %}{{ 'U: ' + system + m.content }}{% elif m.role == 'user' %}"
                   "{{ 'U: ' + m.content }}{% else %}{{ 'A: ' + m.content }}{% endif %}\n{% endfor %}"),
            "the system's message is a part of the user's");
}

}  // namespace
}  // namespace sotto
