// A conversation on the command line: lines of standard input are messages or commands, replies go to standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platforms/cli/options/grammar.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/options/stops.h"
#include "platforms/cli/support/output.h"

namespace sotto::cli {

struct ChatOptions {
  ModelOptions model;
  SamplerOptions sampler;
  StopOptions stops;
  GrammarOptions grammar;  // of each reply
  SessionParams session;
  ChatParams conversation;
  std::string format;        // its text; empty for the model's, or plain
  std::string system;        // empty for none
  std::string saved;         // path of a saved conversation; empty for none
  int64_t token_limit = -1;  // per reply; -1 for no limit
  bool json = false;
};

// Returns a table of the commands that a conversation has, such as /undo, one per line.
std::string commands_text();

class Conversation {
 public:
  Conversation(const ChatOptions& options, const LoadedModel& model);

  // Answers the lines of standard input until its end or /exit. Returns the exit code.
  int run();

 private:
  struct Command;
  static const Command kCommands[];
  friend std::string commands_text();

  void read(const std::string& line);
  void run_command(const std::string& line);
  void answer();
  void show_piece(const Piece& piece, std::string& text);
  void show_reply(Status stop, const std::string& text);
  void note(const std::string& message);
  void report(const std::string& problem);
  void set(const std::string& name, const Json& value);
  Json parameters_json() const;
  void restore(const std::string& path);
  void compile(GrammarOptions options);

  // The commands. `text` is what follows the name.
  void help(const std::string& text);
  void set_system(const std::string& text);
  void set_temperature(const std::string& text);
  void set_parameter(const std::string& text);
  void set_grammar(const std::string& text);
  void regenerate(const std::string& text);
  void undo(const std::string& text);
  void save(const std::string& text);
  void load(const std::string& text);
  void show_stats(const std::string& text);
  void exit(const std::string& text);

  const ChatOptions& options_;
  const LoadedModel& model_;
  SamplerParams sampler_;
  StopParams stops_;
  Chat chat_;
  std::optional<SessionGrammar> grammar_;
  OutputWriter stream_;
  bool is_interactive_;           // a person types and reads
  bool is_over_ = false;          // after /exit
  bool was_interrupted_ = false;  // Ctrl-C ended a reply that no person reads
  bool has_failed_ = false;       // a message or a command was rejected
  uint64_t reply_tokens_ = 0;     // of the last reply
  double reply_seconds_ = 0.0;
};

}  // namespace sotto::cli
