// `sotto eval`: metrics of models and texts over data sets.
#include "platforms/cli/commands.h"

namespace sotto::cli {

void declare_eval(Command& command, Run&) {
  command.set_footer(
      "Examples:\n"
      "  sotto eval perplexity -m demo.sotto texts.jsonl\n"
      "  sotto eval bleu translations.jsonl");
}

}  // namespace sotto::cli
