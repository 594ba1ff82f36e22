// Parses and validates a command line. It follows the GNU conventions: "--name VALUE", "--name=VALUE", "-n VALUE",
// "-nVALUE", several flags in one word, and "--" before arguments that begin with "-". Names may be written with "_"
// instead of "-".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

// A value of an option from a file or a variable instead of the command line.
struct OptionDefault {
  std::string option;               // for example "--temp"
  std::vector<std::string> values;  // "true" or "false" for a flag, or for an optional value that is absent
  std::string place;                // for use in messages: "config.json:3"
};

// Returns the defaults of a command that was named on the command line. Throws a UsageError.
using ReadDefaults = std::function<std::vector<OptionDefault>(const Command& command)>;

// Parses a command line. Returns the exit code if the program must end: 0 after help or the version, 1 if standard
// output cannot be written, 2 after the message of an error.
std::optional<int> parse_command_line(Command& program, int argc, char** argv,
                                      const ReadDefaults& read_defaults = nullptr);

// Parses a command line, passes the values to the options of the named command, and calls its on_parsed() function.
class Parser {
 public:
  Parser(Command& program, int argc, char** argv);

  // Throws a UsageError. Options that are not on the command line get their defaults from `read_defaults`. A default is
  // not used if an option of the command line excludes it, or an option that it needs is missing. `read_defaults` may
  // be null.
  void run(const ReadDefaults& read_defaults = nullptr);

  const Command& command() const { return *command_; }   // the command that was named last
  bool lacks_command() const { return lacks_command_; }  // true if the error is a missing command
  // The text of --help, or of an option that prints() instead of running the program.
  const std::optional<std::string>& output() const { return output_; }

 private:
  bool is_option(const std::string& word) const;
  void read_option(const std::string& word);
  void read_argument(const std::string& word);
  void add_values(Option& option, const std::string& name, const std::string* value);
  void add_default(const OptionDefault& given);
  void drop_overridden_defaults();
  void apply();
  void apply(Option& option);
  void check_combinations() const;
  std::string defaults_in_use() const;

  std::vector<std::string> words_;
  size_t next_ = 0;
  bool has_only_arguments_ = false;
  bool lacks_command_ = false;
  std::optional<std::string> output_;
  Command* command_;
};

}  // namespace sotto::cli
