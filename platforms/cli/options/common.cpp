#include "platforms/cli/options/common.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "platforms/cli/options/parameters.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Returns the names of the instruction sets from the library itself.
std::vector<std::string> isa_names() {
  std::vector<std::string> names;
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    names.emplace_back(sotto_isa_text(isa));
  }
  return names;
}

// Returns the bytes of "64MiB", "64M", "64MB" (of a million bytes) or "65536".
uint64_t parse_size(const std::string& option, const std::string& text) {
  static constexpr struct {
    const char* suffix;
    double bytes;
  } kUnits[] = {{"", 1.0},        {"B", 1.0},         {"K", 1024.0},       {"KiB", 1024.0},
                {"M", 1048576.0}, {"MiB", 1048576.0}, {"G", 1073741824.0}, {"GiB", 1073741824.0},
                {"kB", 1e3},      {"MB", 1e6},        {"GB", 1e9}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string_view suffix = end + (*end == ' ' ? 1 : 0);
  for (const auto& unit : kUnits) {
    const double bytes = number * unit.bytes;
    if (end != text.c_str() && suffix == unit.suffix && bytes >= 0.0 && bytes < 1e18) {
      return static_cast<uint64_t>(bytes);
    }
  }
  reject(option, '"' + text + "\" is not a size such as 64MiB, 64M, 64MB or 65536");
}

// Adds the parameter context_tokens, or all other parameters of a session.
void add_session_parameters(Command& command, SessionParams& params, bool is_context) {
  sotto_session_params& c_params = params;
  for (const Parameter& parameter : kSessionParameters) {
    if (parameter.is_named("context_tokens") == is_context) add_parameter(command, parameter, &c_params);
  }
}

}  // namespace

Option& add_model_option(Command& command, ModelOptions& options) {
  return add_optional_model(command, options, "The model, a .sotto file").required();
}

Option& add_optional_model(Command& command, ModelOptions& options, const std::string& help) {
  return command.add_option("-m,--model", options.path, help)
      .metavar("FILE")
      .check(check_file_name)
      .completes({}, kModelSuffix);
}

Option& add_isa_option(Command& command, ModelOptions& options) {
  const std::vector<std::string> names = isa_names();
  const auto set = [&options, names](const std::string& name) {
    options.isa =
        static_cast<sotto_isa>(SOTTO_ISA_AUTO + (std::find(names.begin(), names.end(), name) - names.begin()));
  };
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return command.add_option("--isa", set, "Instruction set: " + list + "; all give the same text")
      .metavar("NAME")
      .choices(names);
}

Option& add_size(Command& command, const char* names, uint64_t& bytes, const std::string& help) {
  return command
      .add_option(
          names, [&bytes, option = std::string(names)](const std::string& text) { bytes = parse_size(option, text); },
          help)
      .metavar("SIZE");
}

void add_weight_options(Command& command, ModelOptions& options) {
  add_isa_option(command, options).group(kSessionGroup);
  command
      .add_flag("--no-mmap", options.copy_weights,
                "Copy packed weights to huge pages instead of using the mapped file; starts more slowly, may generate "
                "faster")
      .group(kSessionGroup);
}

void add_thread_and_context_options(Command& command, SessionParams& params) {
  const auto set = [&params](const std::string& text) {
    const auto count = parse_number<uint32_t>("--threads", text);
    params.thread_count = count != 0 ? count : std::max(1u, std::thread::hardware_concurrency());
  };
  command.add_option("-t,--threads", set, "Number of threads; 0: one per CPU; the text stays the same")
      .metavar("N")
      .shown_default(std::to_string(params.thread_count))
      .group(kSessionGroup);
  add_session_parameters(command, params, true);
}

void add_session_options(Command& command, SessionParams& params) {
  add_thread_and_context_options(command, params);
  add_session_parameters(command, params, false);
}

std::string TextInput::name() const {
  if (has_text) return "text";
  return file.empty() || file == "-" ? "standard input" : file;
}

std::string TextInput::read() const {
  if (has_text) return text;
  std::string content = read_all(file.empty() ? "-" : file);
  if (is_prompt && content.ends_with('\n')) content.pop_back();
  return content;
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

void add_text_input(Command& command, TextInput& input) {
  command.add_option("TEXT", input.text, "The text; standard input if absent");
  command.add_option("-p,--prompt", input.text, "The same as TEXT; -: standard input").metavar("TEXT").excludes("TEXT");
  command.add_option("-f,--file", input.file, "Read the text from a file")
      .metavar("FILE")
      .check(check_file_name)
      .excludes("TEXT,--prompt");
  command
      .add_option("--ids", input.ids, "Token ids instead of text; without values, read them from -f or standard input")
      .metavar("IDS...")
      .excludes("TEXT,--prompt,--parse-special");
}

void validate_text_input(const Command& command, TextInput& input) {
  const bool has_prompt = is_given(command, "--prompt");
  input.has_text = is_given(command, "TEXT") || (has_prompt && input.text != "-");
  input.has_ids = is_given(command, "--ids");
  if (!input.ids.empty()) reject_with(command, "--ids", {"--file"}, "they are given already");
}

void add_text_lines(Command& command, bool& is_on) {
  command
      .add_flag(
          "--jsonl", is_on,
          "Answer each line {\"text\":TEXT} or {\"ids\":[...]} of standard input with the object of --json, and an "
          "invalid line with {\"error\":...,\"line\":N}; \"id\" is repeated")
      .excludes("--json", "all answers are JSON")
      .excludes("TEXT,--prompt,--file,--ids", "lines have texts of their own");
}

TokenList tokens_of_request(const Json& request, const LoadedModel& model, bool special, std::string_view other) {
  reject_other_members(request, {"text", "ids", "id", other});
  const Json* text = request.find("text");
  const Json* ids = request.find("ids");
  if ((text == nullptr) == (ids == nullptr)) throw Failure("give either \"text\" or \"ids\"");
  if (ids != nullptr) return model.check_ids(to_tokens(*ids, "ids"), "ids");
  return model.tokenize(to_text(*text, "text"), special, "text");
}

}  // namespace sotto::cli
