#include "platforms/cli/options/common.h"

#include <limits>
#include <string_view>
#include <thread>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Returns the names of the instruction sets from the library itself.
std::string isa_names() {
  std::string names;
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    names += (names.empty() ? "" : ", ") + std::string(sotto_isa_text(isa));
  }
  return names;
}

void parse_isa(const std::string& name, ModelOptions& options) {
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    if (name == sotto_isa_text(isa)) {
      options.isa = isa;
      return;
    }
  }
  reject("--isa", '"' + name + "\" is not one of " + isa_names());
}

// Adds the parameters of a session that are, or are not, the size of its context.
void add_session_parameters(CLI::App& command, SessionParams& params, bool is_context) {
  sotto_session_params& c_params = params;
  for (const Parameter& parameter : kSessionParameters) {
    if (parameter.is_named("context_tokens") == is_context) add_parameter(command, parameter, &c_params);
  }
}

}  // namespace

CLI::Option* add_model_option(CLI::App& command, ModelOptions& options) {
  return add_optional_model(command, options, "The model, a .sotto file")->required();
}

CLI::Option* add_optional_model(CLI::App& command, ModelOptions& options, const std::string& help) {
  return command.add_option("-m,--model", options.path, help)->type_name("FILE")->check(file_name());
}

CLI::Option* add_isa_option(CLI::App& command, ModelOptions& options) {
  return command
      .add_option_function<std::string>(
          "--isa", [&options](const std::string& name) { parse_isa(name, options); },
          "Instruction set: " + isa_names() + "; all give the same text")
      ->type_name("NAME");
}

void add_weight_options(CLI::App& command, ModelOptions& options) {
  add_isa_option(command, options)->group(kSessionGroup);
  command
      .add_flag(with_underscores("--no-mmap"), options.copy_weights,
                "Copy packed weights to huge pages instead of using them in the mapped file: starts later, may "
                "generate faster on old systems")
      ->group(kSessionGroup);
}

void add_thread_and_context_options(CLI::App& command, SessionParams& params) {
  add_translated<uint32_t>(
      command, "-t,--threads",
      [&params](uint32_t count) {
        const unsigned cpus = std::thread::hardware_concurrency();
        params.thread_count = count != 0 ? count : cpus != 0 ? cpus : 1;
      },
      "Number of threads; 0: one per CPU; the text stays the same", "N", std::to_string(params.thread_count))
      ->group(kSessionGroup);
  add_session_parameters(command, params, true);
}

void add_session_options(CLI::App& command, SessionParams& params) {
  add_thread_and_context_options(command, params);
  add_session_parameters(command, params, false);
}

std::string TextInput::name() const {
  if (has_text) return "text";
  return file.empty() || file == "-" ? "standard input" : file;
}

std::string TextInput::read() const {
  if (has_text) return text;
  return read_all(file.empty() ? "-" : file);
}

TokenList TextInput::read_ids() const {
  std::string list;
  for (const std::string& word : ids) list += word + ' ';
  const TokenList tokens = require_ids(list);
  return tokens.empty() ? require_ids(read()) : tokens;
}

TokenList TextInput::tokens(const LoadedModel& model, bool special) const {
  return has_ids ? model.check_ids(read_ids(), "--ids") : model.tokenize(read(), special, name());
}

void add_text_input(CLI::App& command, TextInput& input) {
  command.add_option("TEXT", input.text, "The text; standard input if absent")->type_name("");
  command.add_option("-f,--file", input.file, "Read the text from a file")->type_name("FILE")->check(file_name());
  command
      .add_option("--ids", input.ids,
                  "Token ids instead of text; reads them from -f or standard input if there are none here")
      ->expected(0, std::numeric_limits<int>::max())
      ->type_name("IDS...");
}

void validate_text_input(const CLI::App& command, TextInput& input) {
  reject_with(command, "--file", {"TEXT"});
  reject_with(command, "--ids", {"TEXT", "--parse-special"});
  input.has_text = is_given(command, "TEXT");
  input.has_ids = is_given(command, "--ids");
  const bool are_listed = input.has_ids && !input.ids.front().empty();
  if (are_listed) reject_with(command, "--ids", {"--file"}, "they are given already");
}

}  // namespace sotto::cli
