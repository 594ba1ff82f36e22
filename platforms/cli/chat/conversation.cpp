#include "platforms/cli/chat/conversation.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/cli/generate/report.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/interrupt.h"
#include "platforms/cli/support/line_editor.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/help.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

// Splits "NAME text" at the first blanks. Returns the name, and leaves the text.
std::string take_name(std::string& line) {
  const size_t end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string name = line.substr(0, end);
  line = trimmed(std::string_view(line).substr(end));
  return name;
}

// Calls the library. Errors become Failures that name the parameter that was typed.
template <typename Call>
void call_plainly(Call&& function) {
  try {
    function();
  } catch (const Error& error) {
    throw Failure(error.what());
  }
}

Chat new_chat(const ChatOptions& options, const LoadedModel& model) {
  Session session = model.new_session(options.session);
  call_with_options("sampler", [&] { session.set_sampler(options.sampler.params); });
  try {
    return Chat::create(std::move(session), options.format, options.conversation);
  } catch (const Error& error) {
    // Only the format has offsets.
    throw error.offset() == Error::no_offset ? option_failure(model.path(), error) : failure_of("--format", error);
  }
}

}  // namespace

struct Conversation::Command {
  const char* name;
  const char* argument;  // placeholder; empty for none, in brackets if optional
  const char* description;
  void (Conversation::*run)(const std::string& text);

  void check(const std::string& text) const {
    const std::string_view placeholder = argument;
    if (placeholder.empty() && !text.empty()) throw Failure(std::string(name) + " takes no argument");
    if (!placeholder.empty() && placeholder[0] != '[' && text.empty()) {
      throw Failure(std::string(name) + " needs an argument: " + name + ' ' + argument);
    }
  }
};

const Conversation::Command Conversation::kCommands[] = {
    {"/help", "", "List the commands", &Conversation::help},
    {"/system", "[TEXT]", "Set the instructions before all messages, or remove them", &Conversation::set_system},
    {"/temperature", "X", "Set the temperature", &Conversation::set_temperature},
    {"/set", "NAME VALUE", "Set a parameter of the sampler or the stops, such as top_p", &Conversation::set_parameter},
    {"/grammar", "[TEXT]", "Constrain replies, as in /grammar regex yes|no, or stop that", &Conversation::set_grammar},
    {"/regenerate", "", "Generate another last reply, with the next seed", &Conversation::regenerate},
    {"/undo", "", "Remove the last message and its reply", &Conversation::undo},
    {"/save", "FILE", "Save the messages", &Conversation::save},
    {"/load", "FILE", "Continue saved messages instead of these", &Conversation::load},
    {"/stats", "", "Show the size and speed of the conversation", &Conversation::show_stats},
    {"/exit", "", "End the program, as the end of the input does", &Conversation::exit}};

std::string commands_text() {
  std::string text;
  for (const Conversation::Command& command : Conversation::kCommands) {
    std::string usage = command.name;
    if (command.argument[0] != '\0') usage += std::string(" ") + command.argument;
    usage.resize(18, ' ');
    text += (text.empty() ? "  " : "\n  ") + usage + command.description;
  }
  return text;
}

Conversation::Conversation(const ChatOptions& options, const LoadedModel& model)
    : options_(options),
      model_(model),
      sampler_(options.sampler.params),
      stops_(options.stops.params),
      chat_(new_chat(options, model)),
      is_interactive_(!options.json && is_terminal(stdin) && is_terminal(stdout)) {
  call_with_options("stops", [&] { chat_.set_stops(stops_); });
  if (options.grammar.is_on()) compile(options.grammar);
  if (!options.saved.empty()) restore(options.saved);
  if (!options.system.empty()) call("--system", [&] { chat_.add(SOTTO_ROLE_SYSTEM, options.system); });
}

int Conversation::run() {
  const Input input("-");
  if (is_interactive_) note("/help lists the commands; Ctrl-C stops a reply");
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const LineEditor editor(std::move(names));
  std::string line;
  for (uint64_t number = 1; !is_over_ && !was_interrupted_; ++number) {
    if (!(is_interactive_ ? editor.read(input, number, line) : read_line(input, number, line))) break;
    try {
      read(line);
    } catch (const Failure& failure) {
      if (std::ferror(stdout) != 0) throw;
      report(failure.what());
    }
  }
  if (is_interactive_ && !is_over_) stream_.write("\n");
  if (was_interrupted_) return kExitInterrupted;
  return has_failed_ && !is_interactive_ ? kExitFailure : kExitOk;
}

void Conversation::read(const std::string& line) {
  const std::string text = trimmed(line);
  if (text.empty()) return;
  const bool has_two_slashes = text.starts_with("//");
  if (text[0] == '/' && !has_two_slashes) return run_command(text);
  call_plainly([&] { chat_.add(SOTTO_ROLE_USER, text.substr(has_two_slashes ? 1 : 0)); });
  answer();
}

void Conversation::run_command(const std::string& line) {
  std::string text = line;
  const std::string name = take_name(text);
  for (const Command& command : kCommands) {
    if (name != command.name) continue;
    command.check(text);
    return (this->*command.run)(text);
  }
  cli::Command names("chat", "");
  for (const Command& command : kCommands) names.add_command(command.name, command.description);
  throw Failure(unknown_command(names, name));
}

// Generates a reply. If there is none, removes the message, because all later replies would fail, too.
void Conversation::answer() {
  const size_t limit = options_.token_limit < 0 ? SIZE_MAX : static_cast<size_t>(options_.token_limit);
  const Clock::time_point start = Clock::now();
  std::string text;
  Status stop = Status::ok;
  reply_tokens_ = 0;
  try {
    if (grammar_) {
      grammar_->matcher.reset();
      chat_.session().set_matcher(grammar_->matcher);
    }
    const CancelOnInterrupt cancel_on_interrupt(chat_.session());
    stop = chat_.reply(limit, [&](const Piece& piece) { show_piece(piece, text); });
  } catch (const Error& error) {
    chat_.undo();
    throw failure_of("message", error);
  }
  reply_seconds_ = seconds_since(start);
  show_reply(stop, text);
  was_interrupted_ = stop == Status::cancelled && !is_interactive_;
  if (stop != Status::cancelled || reply_tokens_ > 0) return;
  chat_.undo();
  note("the message was removed, because its reply had not begun");
}

void Conversation::show_piece(const Piece& piece, std::string& text) {
  if (piece.token() >= 0) ++reply_tokens_;
  std::string_view shown = piece.text();
  const bool is_start = text.find_first_not_of(" \t\r\n") == std::string::npos;
  text += shown;
  if (shown.empty()) return;
  if (options_.json) {
    stream_.write(Json({{"event", "piece"}, {"text", std::string(shown)}}).dump() + '\n');
    return;
  }
  // Blanks that only separate the reply from the text before it are not shown.
  if (is_start) shown.remove_prefix(std::min(shown.find_first_not_of(" \t\r\n"), shown.size()));
  stream_.write(shown);
}

void Conversation::show_reply(Status stop, const std::string& text) {
  if (options_.json) {
    const ChatInfo info = chat_.info();
    const Json event = {{"event", "reply"},
                        {"text", text},
                        {"stop", name_of_stop(stop)},
                        {"tokens", reply_tokens_},
                        {"prompt_tokens", info.prompt_tokens},
                        {"evaluated_tokens", info.evaluated_tokens},
                        {"dropped_turns", info.dropped_turn_count},
                        {"seed", sampler_.seed},
                        {"seconds", reply_seconds_}};
    stream_.write(event.dump() + '\n');
    return;
  }
  stream_.write("\n");
  const bool is_usual = stop == Status::end_of_text || stop == Status::stop_string || stop == Status::stop_token;
  if (is_interactive_ && !is_usual) note(std::string("stopped by ") + name_of_stop(stop));
}

void Conversation::note(const std::string& message) {
  if (options_.json) {
    stream_.write(Json({{"event", "note"}, {"text", message}}).dump() + '\n');
  } else {
    std::fprintf(stderr, "sotto: %s\n", message.c_str());
  }
}

void Conversation::report(const std::string& problem) {
  has_failed_ = true;
  if (options_.json) {
    stream_.write(Json({{"event", "error"}, {"text", problem}}).dump() + '\n');
  } else {
    std::fprintf(stderr, "sotto: %s\n", for_terminal(to_utf8(problem)).c_str());
  }
}

void Conversation::set(const std::string& name, const Json& value) {
  if (const Parameter* parameter = find_parameter(kStopParameters, name)) {
    StopParams changed = stops_;
    sotto_stop_params& c_params = changed;
    read_parameter(*parameter, value, name, &c_params);
    call_plainly([&] { chat_.set_stops(changed); });
    stops_ = std::move(changed);
    return;
  }
  SamplerParams changed = sampler_;
  Json object = Json::object();
  object[name] = value;
  read_sampler_json(object, changed);
  call_plainly([&] { chat_.session().set_sampler(changed); });
  sampler_ = changed;
}

void Conversation::restore(const std::string& path) {
  const std::string bytes = read_all(path);
  call(path, [&] { chat_.restore({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}); });
}

void Conversation::help(const std::string&) {
  note("a line is a message or one of these commands; // at its start is a message that begins with /\n" +
       commands_text());
}

void Conversation::set_system(const std::string& text) {
  call("/system", [&] { chat_.add(SOTTO_ROLE_SYSTEM, text); });
}

void Conversation::set_temperature(const std::string& text) { set_parameter("temperature " + text); }

void Conversation::set_parameter(const std::string& text) {
  std::string value = text;
  const std::string name = take_name(value);
  if (value.empty()) throw Failure("/set needs a value: /set " + name + " VALUE");
  const std::optional<Json> json = try_parse_json(value);
  set(name, json ? *json : Json(value));
}

// With a limit of tokens, each reply is complete under the grammar within it.
void Conversation::compile(GrammarOptions options) {
  if (options.matcher.finish_within == 0 && options_.token_limit > 0) {
    options.matcher.finish_within = static_cast<uint32_t>(std::min<int64_t>(options_.token_limit, UINT32_MAX));
  }
  grammar_.emplace(compile_for_session(options, model_, chat_.session(), stops_));
  for (const std::string& warning : grammar_->compiled.warnings) note("warning: " + to_utf8(warning));
}

void Conversation::set_grammar(const std::string& text) {
  if (text.empty()) {
    grammar_.reset();
    return chat_.session().clear_matcher();
  }
  GrammarOptions options = options_.grammar;
  options.source = text;
  const std::string name = take_name(options.source);
  const std::optional<int32_t> language = find_value(kGrammarLanguageNames, name);
  if (!language) throw Failure("/grammar: " + name + " is not one of " + listed(kGrammarLanguageNames));
  if (needs_source(*language) && options.source.empty()) throw Failure("/grammar " + name + " needs a source");
  options.language = *language;
  compile(options);
}

void Conversation::regenerate(const std::string&) {
  call("/regenerate", [&] { chat_.undo_reply(); });
  set("seed", sampler_.seed + 1);
  answer();
}

void Conversation::undo(const std::string&) {
  call("/undo", [&] { chat_.undo(); });
}

void Conversation::save(const std::string& text) {
  const std::vector<uint8_t> bytes = call("/save", [&] { return chat_.save(); });
  write_all(text, {bytes.begin(), bytes.end()});
}

void Conversation::load(const std::string& text) { restore(text); }

Json Conversation::parameters_json() const {
  const sotto_stop_params& c_params = stops_;
  Json object = sampler_json(sampler_);
  object.update(cli::parameters_json(kStopParameters, &c_params));
  return object;
}

void Conversation::show_stats(const std::string&) {
  const ChatInfo info = chat_.info();
  const SessionInfo session = chat_.session().info();
  if (options_.json) {
    const Json event = {{"event", "stats"},
                        {"messages", info.message_count},
                        {"turns", info.turn_count},
                        {"dropped_turns", info.dropped_turn_count},
                        {"tokens", session.token_count},
                        {"context_tokens", session.context_tokens},
                        {"history_bytes", info.history_bytes},
                        {"session_bytes", session.memory_bytes},
                        {"parameters", parameters_json()}};
    stream_.write(event.dump() + '\n');
    return;
  }
  note("messages " + with_thousands(info.message_count) + ", turns dropped " + with_thousands(info.dropped_turn_count) +
       "; context " + with_thousands(session.token_count) + " of " + with_thousands(session.context_tokens) +
       " tokens; history " + byte_size(info.history_bytes) + " of " + byte_size(options_.conversation.history_bytes) +
       "\nsotto: last reply " + with_thousands(reply_tokens_) + " tokens in " + duration(reply_seconds_) + " (" +
       rate(reply_tokens_, reply_seconds_) + "), after evaluating " + with_thousands(info.evaluated_tokens) + " of " +
       with_thousands(info.prompt_tokens) + " tokens; seed " + std::to_string(sampler_.seed));
}

void Conversation::exit(const std::string&) { is_over_ = true; }

}  // namespace sotto::cli
