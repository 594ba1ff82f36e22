// Options that several commands share: the model, the session, and the text to read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/support/json.h"
#include "platforms/cli/support/model.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {

constexpr char kSessionGroup[] = "Session";
constexpr char kModelSuffix[] = ".sotto";  // of the names of model files
constexpr char kSpecialHelp[] = "<|endoftext|> and similar texts become special tokens";

// The functions below keep references to `options`, `params` and `input`; these must outlive `command`.

// Adds -m, required or not.
Option& add_model_option(Command& command, ModelOptions& options);
Option& add_optional_model(Command& command, ModelOptions& options, const std::string& help);
Option& add_isa_option(Command& command, ModelOptions& options);

// Adds an option whose value is a size, such as 64MiB, 1.5G or 65536 bytes.
Option& add_size(Command& command, const char* names, uint64_t& bytes, const std::string& help);

// Adds --isa and --no-mmap to a command that runs the model. --no-mmap copies the weights.
void add_weight_options(Command& command, ModelOptions& options);

// The next functions add the options for threads and context, and all other options of a session.
void add_thread_and_context_options(Command& command, SessionParams& params);
void add_session_options(Command& command, SessionParams& params);

// The text that a command reads: from the command line, a file or standard input, or as token ids.
struct TextInput {
  std::string text;
  std::string file;
  std::vector<std::string> ids;
  bool has_text = false;
  bool has_ids = false;
  bool is_prompt = false;  // the last line end of a file or of standard input is dropped, as sotto generate does

  std::string name() const;    // for use in messages
  std::string read() const;    // throws a Failure
  TokenList read_ids() const;  // the ids of --ids, or the ids that the text lists
  // Returns the tokens of the text, or the ids.
  TokenList tokens(const LoadedModel& model, bool special) const;
};

// Adds TEXT, -p, -f and --ids.
void add_text_input(Command& command, TextInput& input);
void validate_text_input(const Command& command, TextInput& input);

// Adds --jsonl, which reads requests instead of the text.
void add_text_lines(Command& command, bool& is_on);
// Returns the tokens of a request {"text": ...} or {"ids": [...]}. It may also have an "id" and the member `other`.
TokenList tokens_of_request(const Json& request, const LoadedModel& model, bool special, std::string_view other = "id");

}  // namespace sotto::cli
