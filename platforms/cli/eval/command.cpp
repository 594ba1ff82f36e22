// `sotto eval`: metrics over data sets.
#include "platforms/cli/commands.h"
#include "platforms/cli/eval/data.h"

namespace sotto::cli {

void add_eval(Command& app, Run& run) {
  Command& command = app.add_command("eval", "Evaluate texts and models on data sets");
  add_eval_perplexity(command, run);
  add_eval_answers(command, run);
  add_eval_choices(command, run);
  add_eval_preferences(command, run);
  add_eval_kl(command, run);
  add_eval_bleu(command, run);
  add_eval_rouge(command, run);
}

}  // namespace sotto::cli
