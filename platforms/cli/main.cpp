// The program sotto: text generation on the command line, on top of the C++ binding.
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/config.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/help.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {
namespace {

std::string version_text() {
  const uint32_t version = sotto_version();
  return "sotto " + std::to_string(version >> 16) + '.' + std::to_string(version >> 8 & 0xff) + '.' +
         std::to_string(version & 0xff);
}

// Adds `sotto help`, `sotto help COMMAND...` and `sotto help COMMAND GROUP`.
void add_help(Command& app, Run& run) {
  auto words = std::make_shared<std::vector<std::string>>();
  Command& command = app.add_command("help", "Explain a command, or one group of its options");
  command.add_option("WORDS", *words, "A command, or a command and the heading of a group");
  command.set_footer("Examples:\n  sotto help generate\n  sotto help generate repetition\n  sotto help grammar check");
  auto is_manual = std::make_shared<bool>(false);
  command.add_flag("--man", *is_manual, "Print the manual page");
  command.on_parsed([&app, &run, words, is_manual] {
    run = [&app, words, is_manual] {
      if (*is_manual) {
        OutputWriter().write(man_page(app, version_text()));
        return static_cast<int>(kExitOk);
      }
      const Command* explained = &app;
      std::string group;
      for (const std::string& word : *words) {
        const Command* found = explained->find_command(word);
        if (!group.empty() || found == nullptr) {
          group += (group.empty() ? "" : " ") + word;
        } else {
          explained = found;
        }
      }
      const std::string text = group.empty() ? help_text(*explained) : group_help(*explained, group);
      if (text.empty() && explained == &app) throw Failure(unknown_command(app, words->front()), kExitUsage);
      if (text.empty()) {
        throw Failure('"' + group + "\" is not a group of options of " + explained->name() + "; the groups are " +
                          group_names(*explained),
                      kExitUsage);
      }
      OutputWriter().write(text);
      return static_cast<int>(kExitOk);
    };
  });
}

void add_completion(Command& app, Run& run) {
  auto shell = std::make_shared<std::string>();
  Command& command = app.add_command("completion", "Print a script that completes commands and options");
  command.add_option("SHELL", *shell, "bash, zsh or fish").required().check(one_of({"bash", "zsh", "fish"}));
  command.set_footer("Examples:\n  source <(sotto completion bash)\n  sotto completion fish | source");
  command.on_parsed([&app, &run, shell] {
    run = [&app, shell] {
      OutputWriter().write(completion_script(app, *shell));
      return static_cast<int>(kExitOk);
    };
  });
}

int run_program(int argc, char** argv) {
  // A program of its own, because the HTTP library would slow the start of all commands.
  if (argc > 1 && std::string_view(argv[1]) == "serve") throw Failure(replace_program("sotto-serve", argv + 1));
  Command app("sotto", "Generates text with GPT-2 models in int8 or int4.");
  add_version(app, version_text() + "\nBuilt with " + sotto_build_text());
  app.set_footer(
      "Examples:\n"
      "  sotto generate -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto chat -m demo.sotto\n"
      "  sotto tokenize -m demo.sotto \"Once upon a time\"\n"
      "  sotto inspect demo.sotto\n"
      "  sotto plan --shape gpt2 --budget 96MiB\n"
      "  sotto next -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto score -m demo.sotto -f chapter.txt\n"
      "  sotto eval perplexity -m demo.sotto texts.jsonl\n"
      "  sotto grammar check answer.gbnf --test yes\n"
      "  sotto serve -m demo.sotto\n"
      "\n"
      "Defaults: SOTTO_MODEL is the model of all commands. The configuration file, $SOTTO_CONFIG or\n"
      "~/.config/sotto/config.json, has options by command: {\"threads\": 2, \"generate\": {\"temp\": 0.7}}\n"
      "\n"
      "Exit codes: 0 success, 1 bad input or failure, 2 wrong usage, 3 a text that is not complete\n"
      "under its grammar, 130 ended by Ctrl-C.");
  Run run;
  add_generate(app, run);
  add_chat(app, run);
  add_tokenize(app, run);
  add_inspect(app, run);
  add_plan(app, run);
  add_list(app, run);
  add_sample(app, run);
  add_next(app, run);
  add_explore(app, run);
  add_compare(app, run);
  add_score(app, run);
  add_eval(app, run);
  add_embed(app, run);
  add_detect(app, run);
  add_grammar(app, run);
  add_config_options(app);
  app.add_command("serve", "Answer HTTP requests of the OpenAI API; see sotto serve --help");
  add_help(app, run);
  add_completion(app, run);
  const auto defaults = [&app](const Command& command) {
    return read_defaults(app, command, command.path().substr(app.path().size() + 1));
  };
  const std::optional<int> exit_code = parse_command_line(app, argc, argv, defaults);
  return exit_code ? *exit_code : run();
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) {
  sotto::cli::prepare_streams();
  try {
    return sotto::cli::run_program(argc, argv);
  } catch (const sotto::cli::Failure& failure) {
    std::fprintf(stderr, "sotto: %s\n", sotto::cli::for_terminal(failure.what()).c_str());
    return failure.exit_code();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "sotto: not enough memory\n");
    return sotto::cli::kExitFailure;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "sotto: %s\n", exception.what());
    return sotto::cli::kExitFailure;
  }
}
