#include "platforms/cli/generate/json_lines.h"

#include <atomic>
#include <deque>
#include <vector>

#include "platforms/cli/generate/prompt.h"
#include "platforms/cli/generate/report.h"
#include "platforms/cli/generate/worker.h"
#include "platforms/cli/support/parallel_requests.h"

namespace sotto::cli {
namespace {

// Answers {"prompt": ...} or {"ids": [...]} with the object of --json. `options` are as parsed, because "params" change
// them before they are validated. Sets `is_complete` to false if the text is not complete under the grammar.
Json answer_request(const Command& command, GenerateOptions options, const Json& request, Worker& worker,
                    std::atomic<bool>& is_complete) {
  const Clock::time_point start = Clock::now();
  reject_other_members(request, {"prompt", "ids", "params", "id"});
  const Json* prompt = request.find("prompt");
  const Json* ids = request.find("ids");
  if ((prompt == nullptr) == (ids == nullptr)) throw Failure("give either \"prompt\" or \"ids\"");
  if (const Json* params = request.find("params")) read_request_params(command, *params, options);
  validate_generate_options(command, options);
  Generation generation;
  if (const Json* id = request.find("id")) generation.id = *id;
  const LoadedModel& model = worker.engine().model();
  if (ids != nullptr) {
    generation.prompt_tokens = model.check_ids(to_tokens(*ids, "ids"), "ids");
    generation.prompt = model.text_of(generation.prompt_tokens);
  } else {
    generation.prompt = to_text(*prompt, "prompt");
    generation.prompt_tokens = prompt_tokens(options, model, generation.prompt);
  }
  if (generation.prompt_tokens.empty()) throw Failure("ids is empty");
  worker.run(options, start, generation);
  if (!generation.failure.empty()) throw Failure(generation.failure);
  if (!generation.is_complete) is_complete = false;
  return result_json(generation, options, model, worker.session());
}

}  // namespace

int run_generate_lines(const Command& command, const GenerateOptions& options, const GenerateOptions& validated) {
  Engine engine(validated);
  std::atomic<bool> is_complete = true;
  std::deque<Worker> workers;
  std::vector<AnswerRequest> answers;
  for (uint32_t i = 0; i < options.parallel_count; ++i) {
    answers.emplace_back([&, &worker = workers.emplace_back(engine)](const Json& request) {
      try {
        return answer_request(command, options, request, worker, is_complete);
      } catch (const UsageError& error) {  // options and the request's parameters contradict each other
        throw Failure(error.what());
      }
    });
  }
  const bool all_valid = answers.size() == 1 ? answer_requests(answers[0]) : answer_requests_in_parallel(answers);
  return !all_valid ? kExitFailure : is_complete ? kExitOk : kExitIncomplete;
}

}  // namespace sotto::cli
