#include "converters/chat/chat_format.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "converters/chat/jinja.h"
#include "runtime/base/utf8.h"
#include "runtime/chat/chat_format.h"

namespace sotto {
namespace {

struct Message {
  const char* role;
  std::string text;
};
using Messages = std::vector<Message>;

// The text around the messages of one role.
struct Part {
  std::string before;
  std::string after;
};

struct Format {
  std::string start;
  Part user;
  Part assistant;
  std::optional<Part> system;
  std::optional<Part> tool;
  std::optional<std::string> own_system_text;  // the system's message that the template writes if there is none
  bool has_reply_start = true;                 // the template writes assistant.before if a reply is to begin

  const Part& part(std::string_view role) const {
    if (role == "system") return *system;
    if (role == "tool") return *tool;
    return role == "user" ? user : assistant;
  }

  // Returns the prompt for a reply to `messages`.
  std::string render(const Messages& messages) const {
    std::string text = start;
    for (const Message& message : messages) text += part(message.role).before + message.text + part(message.role).after;
    return text + assistant.before;
  }

  std::string notation() const {
    std::string text = start;
    const auto add = [&text](const char* place, const Part& part) {
      text += (text.empty() ? "" : "{|}") + part.before + place + part.after;
    };
    if (system) add("{system}", *system);
    add("{user}", user);
    add("{assistant}", assistant);
    if (tool) add("{tool}", *tool);
    return text;
  }
};

// Thrown if no format is equal to the template.
class NoFormat : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The texts of messages. None is part of another.
constexpr char kSystem[] = "qsystemq";
constexpr char kUser[] = "quser1q";
constexpr char kReply[] = "qreply1q";
constexpr char kNextUser[] = "quser2q";
constexpr char kNextReply[] = "qreply2q";
constexpr char kTool[] = "qtoolq";

class Prober {
 public:
  Prober(std::string_view chat_template, const nlohmann::json& special_tokens)
      : template_(chat_template), variables_(special_tokens) {
    variables_["tools"] = nullptr;
    variables_["documents"] = nullptr;
  }

  std::string render(const Messages& messages, bool begins_reply) const {
    jinja::Value variables = variables_;
    variables["add_generation_prompt"] = begins_reply;
    variables["messages"] = jinja::Value::array();
    for (const Message& message : messages) {
      variables["messages"].push_back({{"role", message.role}, {"content", message.text}});
    }
    return template_.render(variables);
  }

 private:
  jinja::Template template_;
  jinja::Value variables_;
};

// Returns the texts before, between and after the texts of `messages`, one more than messages. Each text must occur
// once, in order.
std::vector<std::string> texts_around(const std::string& prompt, const Messages& messages) {
  std::vector<std::string> texts;
  size_t at = 0;
  for (const Message& message : messages) {
    const size_t found = prompt.find(message.text, at);
    if (found == std::string::npos || prompt.find(message.text) != found ||
        prompt.find(message.text, found + 1) != std::string::npos) {
      throw NoFormat(std::string("the text of a message with the role ") + message.role +
                     " does not appear once, in the order of the messages");
    }
    texts.push_back(prompt.substr(at, found - at));
    at = found + message.text.size();
  }
  texts.push_back(prompt.substr(at));
  return texts;
}

// Returns `text` without the suffix.
std::string before_suffix(const std::string& text, const std::string& suffix, const char* what) {
  if (!text.ends_with(suffix)) throw NoFormat(what);
  return text.substr(0, text.size() - suffix.size());
}

std::string after_prefix(const std::string& text, const std::string& prefix, const char* what) {
  if (!text.starts_with(prefix)) throw NoFormat(what);
  return text.substr(prefix.size());
}

// Finds the parts of the user and the assistant from conversations of one, two and three messages. The text after the
// last message of a prompt is the one that its role adds after a message. If another message follows, the rest of the
// text between them is the one that the role of the next message adds before it.
void find_user_and_assistant(const Prober& prober, Format& format) {
  const Messages question = {{"user", kUser}};
  const Messages answer = {{"user", kUser}, {"assistant", kReply}};
  const Messages next = {{"user", kUser}, {"assistant", kReply}, {"user", kNextUser}};
  const std::vector<std::string> asked = texts_around(prober.render(question, false), question);
  const std::vector<std::string> begun = texts_around(prober.render(question, true), question);
  const std::vector<std::string> answered = texts_around(prober.render(answer, false), answer);
  const std::vector<std::string> continued = texts_around(prober.render(next, false), next);
  format.user.after = asked[1];
  format.has_reply_start = begun != asked;
  format.assistant.before = after_prefix(format.has_reply_start ? begun[1] : answered[1], format.user.after,
                                         "the text after a message of the user depends on what follows");
  format.assistant.after = answered[2];
  format.user.before =
      after_prefix(continued[2], format.assistant.after, "the text after a reply depends on what follows");
  format.start = before_suffix(begun[0], format.user.before, "the text before the first message of the user differs");
}

// Finds the part of the system. If the conversation has no system message, a template may begin the prompt with one of
// its own.
void find_system(const Prober& prober, Format& format, std::vector<std::string>& notes) {
  const Messages messages = {{"system", kSystem}, {"user", kUser}};
  std::vector<std::string> texts;
  try {
    const std::string prompt = prober.render(messages, false);
    if (prompt.find(kSystem) == std::string::npos) return;
    texts = texts_around(prompt, messages);
  } catch (const jinja::RaisedException&) {
    return;  // the template rejects messages of the system
  }
  Part system;
  system.after = before_suffix(texts[1], format.user.before, "the system's message is a part of the user's");
  if (texts[0].starts_with(format.start)) {
    system.before = texts[0].substr(format.start.size());
  } else if (format.start.starts_with(texts[0]) && format.start.ends_with(system.after)) {
    const size_t size = format.start.size() - texts[0].size() - system.after.size();
    format.own_system_text = format.start.substr(texts[0].size(), size);
    format.start.clear();
    system.before = texts[0];
    notes.push_back("chat_template begins with the system's message \"" + *format.own_system_text +
                    "\" if there is none; the chat format does not");
  } else {
    throw NoFormat("the start of the prompt depends on the system's message");
  }
  format.system = system;
}

void find_tool(const Prober& prober, Format& format) {
  const Messages messages = {{"user", kUser}, {"assistant", kReply}, {"tool", kTool}};
  try {
    const std::string prompt = prober.render(messages, false);
    if (prompt.find(kTool) == std::string::npos) return;
    const std::vector<std::string> texts = texts_around(prompt, messages);
    if (!texts[2].starts_with(format.assistant.after)) return;
    format.tool = Part{texts[2].substr(format.assistant.after.size()), texts[3]};
  } catch (const jinja::TemplateError&) {
    // The template rejects messages of tools, or formats them by constructs outside the subset.
  } catch (const NoFormat&) {
  }
}

// Returns whether the format and the template make the same prompt of `messages`.
bool is_equal(const Prober& prober, const Format& format, Messages messages) {
  std::string expected = prober.render(messages, true);
  if (!format.has_reply_start) expected += format.assistant.before;
  const bool has_system = std::string_view(messages[0].role) == "system";
  if (format.own_system_text && !has_system) messages.insert(messages.begin(), {"system", *format.own_system_text});
  return format.render(messages) == expected;
}

// Throws if the format and the template make different prompts.
void check(const Prober& prober, const Format& format, std::vector<std::string>& notes) {
  const Messages turns = {{"user", kUser}, {"assistant", kReply}, {"user", kNextUser}, {"assistant", kNextReply}};
  Messages messages;
  if (format.system) messages.push_back({"system", kSystem});
  for (int round = 0; round < 2; ++round) {
    for (const Message& message : turns) {
      messages.push_back(message);
      if (std::string_view(message.role) != "user") continue;
      const Messages without_system(messages.begin() + (format.system ? 1 : 0), messages.end());
      if (!is_equal(prober, format, messages) || !is_equal(prober, format, without_system)) {
        throw NoFormat("it treats some messages of a role differently from others");
      }
    }
  }
  if (!is_equal(prober, format, {{"user", " a\n"}})) {
    notes.push_back("chat_template changes white space at the ends of messages; the chat format does not");
  }
}

// Throws if the runtime would not read the notation as the same parts.
void check_notation(const std::string& notation, const Format& format) {
  if (find_invalid_utf8(notation) != notation.size() || notation.find('\0') != std::string::npos) {
    throw NoFormat("the prompt contains bytes that are not UTF-8, or zeros");
  }
  ChatFormatView view;
  Error error;
  if (view.parse(notation, &error) != Status::kOk) throw NoFormat(error.message);
  const auto is_same = [&](ChatRole role, const Part& part) {
    return std::ranges::equal(view.part(role).before, part.before) &&
           std::ranges::equal(view.part(role).after, part.after);
  };
  if (!std::ranges::equal(view.start(), format.start) || !is_same(ChatRole::kUser, format.user) ||
      !is_same(ChatRole::kAssistant, format.assistant)) {
    throw NoFormat("it contains the notation of a chat format as text");
  }
}

}  // namespace

std::string find_chat_format(std::string_view chat_template, const nlohmann::json& special_tokens,
                             std::vector<std::string>& notes) {
  if (chat_template.empty()) return "";
  try {
    const Prober prober(chat_template, special_tokens);
    Format format;
    find_user_and_assistant(prober, format);
    find_system(prober, format, notes);
    find_tool(prober, format);
    check(prober, format, notes);
    std::string notation = format.notation();
    check_notation(notation, format);
    return notation;
  } catch (const std::runtime_error& error) {
    notes.push_back(std::string("chat_template is stored, but the model gets no chat format: ") + error.what());
    return "";
  }
}

}  // namespace sotto
