#include "runtime/search/search.h"

#include "runtime/search/beam_search.h"
#include "runtime/search/contrastive_search.h"
#include "runtime/search/sample_search.h"
#include "runtime/search/search_checks.h"

namespace sotto {
namespace {

// Why nothing may follow the text; or kOk.
Status stop_at_once(const SearchInput& input) {
  const uint64_t most = input.stops.max_tokens;
  if (most != 0 && input.generated_count >= most) return Status::kStopMaxTokens;
  const TokenConstraint* constraint = input.constraint;
  const bool complete = constraint != nullptr && constraint->complete(constraint->self, 0);
  return complete ? Status::kStopGrammar : Status::kOk;
}

}  // namespace

Status Search::check(const SearchInput& input, uint32_t vocabulary_size, const SearchParams& params,
                     Error* error) const {
  SearchParams resolved;
  return resolve_search(params, memory_.shape, input, vocabulary_size, &resolved, error);
}

Status Search::run(const SearchInput& input, uint32_t vocabulary_size, const SearchParams& given,
                   std::span<const SearchSequence>* sequences, Error* error) {
  *sequences = {};
  SearchParams params;
  SOTTO_TRY(resolve_search(given, memory_.shape, input, vocabulary_size, &params, error));
  uint32_t count = 0;
  const Status status = run_mode(input, params, &count);
  *sequences = {memory_.results, count};
  if (status == Status::kInvalidArgument) {
    return fail(error, status, "similarity gave a value that is not finite");
  }
  if (status < Status::kOk) return fail(error, status, status_text(status));
  return status;
}

Status Search::run_mode(const SearchInput& input, const SearchParams& params, uint32_t* count) {
  if (const Status stop = stop_at_once(input); stop != Status::kOk) {
    *count = params.mode == SearchMode::kSample ? params.return_count : 1;
    for (uint32_t i = 0; i < *count; ++i) {
      memory_.results[i] = {memory_.tokens_of(0, i), 0, 0, 0, stop, i};
    }
    return Status::kOk;
  }
  switch (params.mode) {
    case SearchMode::kSample:
      return search_samples(input, params, &memory_, count);
    case SearchMode::kContrastive:
      return search_contrastively(input, params, &memory_, count);
    default:
      return BeamSearch(input, params, &memory_).run(count);
  }
}

}  // namespace sotto
