// The program sotto-serve: a local HTTP server with the OpenAI API.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "platforms/cli/options/base.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/config.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/support/failure.h"
#include "platforms/command_line/help.h"
#include "platforms/command_line/parser.h"
#include "platforms/server/server.h"

namespace sotto::cli {
namespace {

constexpr char kServerGroup[] = "Server";

struct ServeOptions {
  ModelOptions model;
  SamplerOptions sampler;
  ServerOptions server;
};

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

void add_serve_options(Command& command, ServeOptions& options) {
  ServerOptions& server = options.server;
  add_model_option(command, options.model);
  add_value(command, "--host", server.host, "The address to listen on; other than this machine's own needs --api-key",
            "ADDRESS")
      .group(kServerGroup);
  add_value(command, "--port", server.port, "The port; 0: any free one", "N").group(kServerGroup);
  command.add_option("--api-key", server.api_key, "A key that clients must send; also the variable SOTTO_API_KEY")
      .metavar("KEY")
      .group(kServerGroup);
  command.add_option("--alias", server.model_name, "The name of the model in requests and answers")
      .metavar("NAME")
      .shown_default("the file's name")
      .group(kServerGroup);
  add_value(command, "--parallel", server.slot_count,
            "Number of requests that are answered at the same time, in one batch; others wait", "N")
      .group(kServerGroup);
  add_value(command, "--connections", server.connections, "Number of connections that are served at the same time", "N")
      .group(kServerGroup);
  add_value(command, "--max-body", server.body_mebibytes, "Size of the largest request", "MIB").group(kServerGroup);
  add_sampler_options(command, options.sampler);
  add_session_options(command, server.slots.session);
  add_weight_options(command, options.model);
  command.set_footer(
      "The options of the sampler are the defaults of requests.\n"
      "\n"
      "Examples:\n"
      "  sotto serve -m demo.sotto\n"
      "  curl http://127.0.0.1:8080/v1/completions -H 'Content-Type: application/json' \\\n"
      "       -d '{\"model\": \"demo\", \"prompt\": \"Once upon a time\", \"max_tokens\": 20}'");
}

void validate(const Command& command, ServeOptions& options) {
  ServerOptions& server = options.server;
  validate_sampler_options(command, options.sampler);
  if (const char* key = std::getenv("SOTTO_API_KEY"); key != nullptr && server.api_key.empty()) server.api_key = key;
  if (server.port > 65535) reject("--port", "is " + std::to_string(server.port) + "; it must be at most 65535");
  if (!is_loopback(server.host) && server.api_key.empty()) {
    reject("--host", server.host + " is reachable from other machines and needs --api-key");
  }
  const auto check_count = [](const char* option, uint32_t count, uint32_t most) {
    if (count > 0 && count <= most) return;
    reject(option, "is " + std::to_string(count) + "; it must be from 1 to " + std::to_string(most));
  };
  check_count("--parallel", server.slot_count, 64);
  check_count("--connections", server.connections, 1024);
  check_count("--max-body", server.body_mebibytes, 256);
}

int serve(ServeOptions options) {
  const LoadedModel model(options.model);
  model.require_text();
  read_sampler_texts(options.sampler, model);
  ServerOptions& server = options.server;
  server.sampler = options.sampler.params;
  if (server.model_name.empty()) server.model_name = std::filesystem::path(model.path()).stem().string();
  server.slots.format = model.get().text(SOTTO_MODEL_TEXT_CHAT_FORMAT);
  if (server.slots.format.empty()) server.slots.format = sotto_chat_format_text(SOTTO_CHAT_PLAIN);
  // Space for the lists of any request, such as logit_bias.
  constexpr uint32_t kListBytes = 1 << 18;
  server.slots.session.list_bytes = std::max(kListBytes, list_bytes(server.sampler));
  return run_server(model, std::move(server));
}

int run_program(int argc, char** argv) {
  ServeOptions options;
  Command command("sotto-serve", "Answers HTTP requests of the OpenAI API with a model on this machine.");
  add_serve_options(command, options);
  command.on_parsed([&] { validate(command, options); });
  add_config_option(command);
  add_documentation(command);
  const auto defaults = [&](const Command&) { return read_defaults(command, command, "serve"); };
  if (const std::optional<int> exit_code = parse_command_line(command, argc, argv, defaults)) return *exit_code;
  return serve(std::move(options));
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) { return sotto::cli::run_main("sotto-serve", sotto::cli::run_program, argc, argv); }
