// `sotto chat`: a conversation with a model.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "platforms/cli/chat/conversation.h"
#include "platforms/cli/commands.h"
#include "platforms/cli/options/base.h"
#include "platforms/cli/options/common.h"
#include "platforms/command_line/help.h"

namespace sotto::cli {
namespace {

constexpr char kConversationGroup[] = "Conversation";

// Returns the text of a format that is given by name or as a text.
std::string format_text(const std::string& value) {
  if (const std::optional<int32_t> format = find_value(kChatFormatNames, value)) return sotto_chat_format_text(*format);
  const std::string text = unquoted(value, "--format");
  if (text.find("{user}") == std::string::npos) {
    reject("--format", '"' + value + "\" is neither one of " + listed(kChatFormatNames) + " nor a text with {user}");
  }
  return text;
}

void add_conversation_options(Command& command, ChatOptions& options) {
  sotto_chat_params& c_params = options.conversation;
  command
      .add_option(
          "--format", [&options](const std::string& value) { options.format = format_text(value); },
          "How messages become a prompt: " + listed(kChatFormatNames) +
              ", or a text such as '\"{|}User: {user}\\n{|}Bot:{assistant}\\n\"'; use the one of the training data")
      .metavar("NAME|TEXT")
      .completes(printed_names(kChatFormatNames))
      .shown_default("the model's own, or plain")
      .group(kConversationGroup);
  command.add_option("--system", options.system, "Instructions before all messages")
      .metavar("TEXT")
      .group(kConversationGroup);
  command.add_option("--load", options.saved, "Continue a conversation of /save; needs the same model and --format")
      .metavar("FILE")
      .check(check_file_name)
      .group(kConversationGroup);
  add_parameters(command, kChatParameters, &c_params);
}

void add_chat_options(Command& command, ChatOptions& options) {
  add_model_option(command, options.model);
  add_base_options(command, options.sampler, options.stops, options.session, options.token_limit);
  add_token_limit(command, options.token_limit, "Number of tokens of a reply; -1: until a stop");
  command.add_flag("--json", options.json,
                   "Print one JSON object per line: pieces, replies, notes, errors, statistics");
  add_conversation_options(command, options);
  add_sampler_options(command, options.sampler);
  add_stop_options(command, options.stops);
  add_grammar_options(command, options.grammar);
  add_session_options(command, options.session);
  add_weight_options(command, options.model);
  command.set_footer(other_spellings(command) + "\n\nCommands in a conversation:\n" + commands_text() +
                     "\n\nExamples:\n"
                     "  sotto chat -m demo.sotto -n 60\n"
                     "  sotto chat -m demo.sotto --format instruct --system \"Answer briefly.\" --temp 0.5\n"
                     "  sotto chat -m demo.sotto --choices yes,no,perhaps\n"
                     "  printf 'Hello.\\nGo on.\\n/save talk\\n' | sotto chat -m demo.sotto -n 60 --json\n"
                     "  sotto chat -m demo.sotto -n 60 --load talk");
}

int run_chat(ChatOptions options) {
  const LoadedModel model(options.model);
  model.require_text();
  read_sampler_texts(options.sampler, model);
  read_stop_texts(options.stops, model);
  read_trigger_tokens(options.grammar, model);
  if (options.format.empty()) options.format = model.get().text(SOTTO_MODEL_TEXT_CHAT_FORMAT);
  if (options.format.empty()) options.format = sotto_chat_format_text(SOTTO_CHAT_PLAIN);
  options.session.list_bytes = std::max(list_bytes(options.sampler.params), list_bytes(options.stops.params));
  if (options.sampler.params.dola != SOTTO_DOLA_OFF) options.session.features |= SOTTO_FEATURE_DOLA;
  return Conversation(options, model).run();
}

}  // namespace

void declare_chat(Command& command, Run& run) {
  auto options = std::make_shared<ChatOptions>();
  add_chat_options(command, *options);
  command.on_parsed([&run, options, &command] {
    validate_sampler_options(command, options->sampler);
    validate_stop_options(options->stops);
    validate_grammar_options(command, options->grammar);
    run = [options] { return run_chat(*options); };
  });
}

}  // namespace sotto::cli
