// Answers requests of JSON lines in several threads.
#pragma once

#include <vector>

#include "platforms/cli/support/json.h"

namespace sotto::cli {

// Like answer_requests(), but runs a thread for each of `workers`. The answers have the order of the requests.
bool answer_requests_in_parallel(const std::vector<AnswerRequest>& workers);

}  // namespace sotto::cli
