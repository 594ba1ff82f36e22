// Declares the commands and options of a program. parser.h reads command lines, and help.h writes the documentation.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::cli {

// An invalid command line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The number of values that an option takes.
enum class Values {
  kNone,      // a flag
  kOne,       // one value; the option may be given once
  kOptional,  // as kOne, but the value may be omitted
  kRepeated,  // one value each time; the option may be given several times
  kList       // all words up to the next option
};

class Command;

// An option ("-n,--max-tokens"), or an argument without a name ("TEXT").
class Option {
 public:
  // Receives each value after parsing ("true" or "false" for a flag). Options are processed in the order in which they
  // were added.
  using Set = std::function<void(const std::string& value)>;
  // Returns the reason why a value is invalid, or an empty string.
  using Check = std::function<std::string(const std::string& value)>;
  // Returns the text that the program prints instead of doing its work.
  using Print = std::function<std::string(const std::string& value)>;

  // `spellings` is a list with commas. A spelling that begins with "!" negates a flag.
  Option(std::string_view spellings, Values values, Set set, std::string description);

  // These set the heading in help texts, the placeholder of the value, and the default that help texts show.
  Option& group(std::string heading) { return set(heading_, std::move(heading)); }
  Option& metavar(std::string name) { return set(metavar_, std::move(name)); }
  Option& shown_default(std::string text) { return set(shown_default_, std::move(text)); }
  // Sets the value of a kOptional option that is given without one.
  Option& implicit_value(std::string value) { return set(implicit_value_, std::move(value)); }
  Option& required() { return set(is_required_, true); }
  Option& check(Check check) { return set(check_, std::move(check)); }
  // Sets what shells complete: these values, and files whose names end with `suffix`. Other values remain valid.
  Option& completes(std::vector<std::string> values, std::string suffix = "");
  // Accepts only these values. Shells complete them.
  Option& choices(std::vector<std::string> values);
  // Ends the command line: nothing after this option is read, and the program prints the text.
  Option& prints(Print print) { return set(print_, std::move(print)); }
  // Requires one of the listed options together with this one.
  Option& needs(std::string_view options);
  // Rejects the listed options together with this one. `why` is added to the message.
  Option& excludes(std::string_view options, std::string why = "");
  // Drops defaults (OptionDefault) of the listed options if this one is on the command line, as excludes() also does.
  Option& replaces(std::string_view options);

  const std::vector<std::string>& names() const { return names_; }
  std::string name() const;  // the first long spelling
  bool is_named(std::string_view name) const;
  bool is_negated_by(std::string_view name) const;  // `name` is the spelling that turns the flag off
  bool is_argument() const { return names_.front()[0] != '-'; }
  bool is_required() const { return is_required_; }
  Values values() const { return values_; }
  const std::string& heading() const { return heading_; }
  const std::string& metavar() const { return metavar_; }
  const std::string& shown_default() const { return shown_default_; }
  const std::string& description() const { return description_; }
  const std::vector<std::string>& completed_values() const { return completed_values_; }
  const std::string& completed_suffix() const { return completed_suffix_; }  // of files, or empty
  const std::vector<std::string>& given() const { return given_; }           // the values as given
  bool is_given() const { return count_ > 0; }
  bool rules_out(const Option& other) const;  // returns whether this option excludes or replaces the other one
  // Throws a UsageError if the option was given without a required option, or with an excluded one.
  void check_combination(const Command& command) const;

 private:
  friend class Parser;

  template <typename T>
  Option& set(T& member, T value) {
    member = std::move(value);
    return *this;
  }

  struct Exclusion {
    std::vector<std::string> options;
    std::string why;
  };

  std::vector<std::string> names_;
  std::string negated_name_;
  Values values_;
  Set set_;
  Check check_;
  std::vector<std::string> completed_values_;
  std::string completed_suffix_;
  Print print_;
  std::vector<std::string> needed_;
  std::vector<Exclusion> excluded_;
  std::vector<std::string> replaced_;
  std::string description_;
  std::string heading_ = "Options";
  std::string metavar_;
  std::string shown_default_;
  std::string implicit_value_;
  bool is_required_ = false;
  int count_ = 0;
  std::vector<std::string> given_;
  std::string place_;  // of a default, or empty
};

// A command with its options. Commands form a tree with the program as its root. A command line names one leaf.
class Command {
 public:
  Command(std::string path, std::string description, const Command* parent = nullptr);

  Command& add_command(const std::string& name, std::string description);
  Option& add_option(std::string_view names, Option::Set set, std::string description, Values values = Values::kOne);
  Option& add_option(std::string_view names, std::string& value, std::string description);
  Option& add_option(std::string_view names, std::vector<std::string>& values, std::string description,
                     Values kind = Values::kList);
  Option& add_flag(std::string_view names, bool& value, std::string description);
  Option& add_flag(std::string_view names, std::function<void()> set, std::string description);
  void set_footer(std::string text) { footer_ = std::move(text); }
  void set_readme(std::string path) { readme_ = std::move(path); }  // the file that explains the command
  void on_parsed(std::function<void()> function) { on_parsed_ = std::move(function); }

  const std::string& path() const { return path_; }  // "sotto grammar check"
  std::string name() const { return path_.substr(path_.rfind(' ') + 1); }
  const std::string& description() const { return description_; }
  const std::string& footer() const { return footer_; }
  const std::string& readme() const { return readme_; }
  const Command& program() const { return parent_ == nullptr ? *this : parent_->program(); }
  const std::vector<std::unique_ptr<Command>>& commands() const { return commands_; }
  const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  const Command* find_command(std::string_view name) const;  // null if there is none
  const Option* find(std::string_view name) const;           // null if there is none

 private:
  friend class Parser;

  std::string path_;
  std::string description_;
  std::string footer_;
  std::string readme_;
  const Command* parent_;  // null for the program
  std::function<void()> on_parsed_;
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
};

// Splits "--a,--b" at the commas.
std::vector<std::string> split_names(std::string_view names);

// Returns a decimal number. Throws a UsageError that names `option`. T is float, double or a standard integer type of
// 32 or 64 bits.
template <typename T>
T parse_number(const std::string& option, const std::string& text);

// Returns a number as help texts show it.
template <typename T>
std::string number_text(T value);

// Adds an option whose value is a number or a text. Help texts show its default.
Option& add_value(Command& command, std::string_view names, std::string& value, const std::string& description,
                  const char* metavar);
template <typename T>
Option& add_value(Command& command, std::string_view names, T& value, const std::string& description,
                  const char* metavar) {
  const std::string option = Option(names, Values::kOne, nullptr, "").name();
  return command
      .add_option(
          names, [&value, option](const std::string& text) { value = parse_number<T>(option, text); }, description)
      .metavar(metavar)
      .shown_default(number_text(value));
}

// Adds an option that may be given several times, with one value each.
Option& add_texts(Command& command, std::string_view names, std::vector<std::string>& texts,
                  const std::string& description, const char* metavar = "TEXT");

// Returns the reason if a file name is invalid because it is empty, or else an empty string.
std::string check_file_name(const std::string& name);

bool is_given(const Command& command, const std::string& option);

// Returns the first of `options` that was given, or an empty string.
std::string first_given(const Command& command, const std::vector<std::string>& options);

// Throws a UsageError that names the option.
[[noreturn]] void reject(const std::string& option, const std::string& why);

// Throws a UsageError if `option` was given together with one of `others`. Use it only if the conflict depends on the
// value of a third option, because otherwise Option::excludes() suffices.
void reject_with(const Command& command, const std::string& option, const std::vector<std::string>& others,
                 const std::string& why = "");

}  // namespace sotto::cli
