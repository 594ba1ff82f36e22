#include "runtime/search/search.h"

#include <cmath>

#include "runtime/base/range_check.h"
#include "runtime/sampling/watermark/watermark.h"
#include "runtime/search/beam_search.h"
#include "runtime/search/contrastive_search.h"
#include "runtime/search/sample_search.h"

namespace sotto {
namespace {

// Rejects a parameter that is given although the mode does not have it. `what` names what the parameter needs.
Status check_only(bool given, bool has, const char* name, const char* what, Error* error) {
  if (!given || has) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " needs ", what);
}

Status resolve_counts(const SearchSizes& sizes, SearchParams* params, Error* error) {
  if (params->sequence_count == 0) params->sequence_count = sizes.sequence_count;
  SOTTO_TRY(check_range("sequence_count", params->sequence_count, 1, sizes.sequence_count, error));
  const bool one_result = params->mode == SearchMode::kContrastive;
  const uint32_t max_results = one_result ? 1 : params->sequence_count;
  if (params->return_count == 0) params->return_count = max_results;
  SOTTO_TRY(check_range("return_count", params->return_count, 1, max_results, error));
  if (params->max_tokens == 0) params->max_tokens = sizes.sequence_tokens;
  return check_range("max_tokens", params->max_tokens, 1, sizes.sequence_tokens, error);
}

Status check_groups(const SearchParams& params, Error* error) {
  SOTTO_TRY(
      check_only(params.group_count > 1, params.mode == SearchMode::kBeam, "group_count", "SOTTO_SEARCH_BEAM", error));
  if (params.sequence_count % params.group_count != 0) {
    return fail(error, Status::kInvalidArgument, "group_count is ", params.group_count,
                "; it must divide sequence_count, ", params.sequence_count);
  }
  return check_only(params.diversity_penalty > 0, params.group_count > 1, "diversity_penalty", "a group_count above 1",
                    error);
}

Status check_phrases(const SearchParams& params, const SearchInput& input, uint32_t vocabulary_size, Error* error) {
  if (params.phrases.empty()) return Status::kOk;
  SOTTO_TRY(check_only(true, params.mode == SearchMode::kBeam && params.group_count == 1, "phrases",
                       "SOTTO_SEARCH_BEAM and one group", error));
  SOTTO_TRY(
      check_range("phrase_count", static_cast<double>(params.phrases.size()), 0, SearchParams::kMaxPhraseCount, error));
  for (size_t i = 0; i < params.phrases.size(); ++i) {
    const TokenList& phrase = params.phrases[i];
    if (phrase.tokens == nullptr || phrase.count == 0) {
      return fail(error, Status::kInvalidArgument, "phrases[", i, "] is empty");
    }
    if (phrase.count > params.max_tokens) {
      return fail(error, Status::kInvalidArgument, "phrases[", i, "] has ", phrase.count,
                  " tokens; it must have at most max_tokens, ", params.max_tokens);
    }
    for (size_t k = 0; k < phrase.count; ++k) {
      const int32_t token = phrase.tokens[k];
      if (!is_token(token, vocabulary_size)) {
        return reject_token(error, token, vocabulary_size, "phrases[", i, "].tokens[", k, "]");
      }
      if (input.stops->stop_of(token, input.end_tokens) != Status::kOk) {
        return fail(error, Status::kInvalidArgument, "phrases[", i, "].tokens[", k, "] is ", token,
                    ", which ends the text");
      }
    }
  }
  return Status::kOk;
}

Status check_rerank(const SearchParams& params, Error* error) {
  SOTTO_TRY(check_only(params.rerank != Rerank::kOrder, params.mode == SearchMode::kSample, "rerank",
                       "SOTTO_SEARCH_SAMPLE", error));
  return check_only(params.rerank == Rerank::kCallback, params.similarity != nullptr, "SOTTO_RERANK_CALLBACK",
                    "similarity", error);
}

Status check_contrastive(const SearchParams& params, const SearchSizes& sizes, const SearchInput& input, Error* error) {
  if (params.mode != SearchMode::kContrastive) return Status::kOk;
  SOTTO_TRY(check_only(true, input.model.has_similarity(), "SOTTO_SEARCH_CONTRASTIVE",
                       "a session with SOTTO_FEATURE_HIDDEN_HISTORY", error));
  if (params.contrastive_k <= sizes.sequence_count) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "contrastive_k is ", params.contrastive_k,
              "; it must be at most the session's sequence_count, ", sizes.sequence_count);
}

Status check_sampler_in_search(const SearchParams& params, const SamplerParams& sampler, Error* error) {
  if (sampler.dola != DolaLayers::kOff) {
    return fail(error, Status::kInvalidArgument, "dola is not supported in a search");
  }
  return check_only(replaces_selection(sampler.watermark.scheme), params.mode == SearchMode::kSample,
                    "a watermark that replaces the selection", "SOTTO_SEARCH_SAMPLE", error);
}

// Returns the stop that already ends the text before the search, or kOk.
Status initial_stop(const SearchInput& input) {
  if (input.constraint.is_set() && input.constraint.must_end(0)) return Status::kStopGrammar;
  const uint64_t max_tokens = input.stops->max_tokens();
  return max_tokens != 0 && input.generated_count >= max_tokens ? Status::kStopMaxTokens : Status::kOk;
}

}  // namespace

Status Search::resolve(const SearchInput& input, uint32_t vocabulary_size, const SearchParams& given,
                       SearchParams* params, Error* error) const {
  const SearchSizes& sizes = memory_.sizes;
  if (sizes.sequence_count == 0) {
    return fail(error, Status::kInvalidState, "the session has no sequences: it was created with sequence_count 0");
  }
  if (input.token_count == 0) {
    return fail(error, Status::kInvalidState, "the session has no tokens: prefill it first");
  }
  SOTTO_TRY(check_ranges(given, error));
  *params = given;
  SOTTO_TRY(resolve_counts(sizes, params, error));
  SOTTO_TRY(check_groups(*params, error));
  SOTTO_TRY(check_rerank(*params, error));
  SOTTO_TRY(check_contrastive(*params, sizes, input, error));
  SOTTO_TRY(check_phrases(*params, input, vocabulary_size, error));
  return check_sampler_in_search(*params, input.sampler->params(), error);
}

Status Search::run(const SearchInput& input, const SearchParams& params, std::span<const SearchSequence>* sequences,
                   Error* error) {
  uint32_t count = 0;
  Error cause;
  const Status status = run_mode(input, params, &count, &cause);
  *sequences = {memory_.results, count};
  if (!is_failure(status)) return status;
  return fail(error, status, cause.status == status ? cause.message : status_text(status));
}

Status Search::run_mode(const SearchInput& input, const SearchParams& params, uint32_t* count, Error* error) {
  if (const Status stop = initial_stop(input); stop != Status::kOk) {
    *count = params.mode == SearchMode::kSample ? params.return_count : 1;
    for (uint32_t i = 0; i < *count; ++i) {
      memory_.results[i] = {memory_.tokens_of(0, i), 0, 0, 0, stop, i};
    }
    return Status::kOk;
  }
  switch (params.mode) {
    case SearchMode::kSample:
      return search_samples(input, params, &memory_, count, error);
    case SearchMode::kContrastive:
      return search_contrastively(input, params, &memory_, count);
    default:
      return search_beams(input, params, &memory_, count);
  }
}

}  // namespace sotto
