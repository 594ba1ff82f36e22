#include "capi/generated/params.h"

using sotto::SearchParams;
using sotto::SearchSequence;
using sotto::Status;
using sotto::TokenList;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

static_assert(sizeof(SearchSequence) == sizeof(sotto_sequence));
static_assert(offsetof(SearchSequence, score) == offsetof(sotto_sequence, score));
static_assert(offsetof(SearchSequence, stop) == offsetof(sotto_sequence, stop));
static_assert(offsetof(SearchSequence, index) == offsetof(sotto_sequence, index));
static_assert(sizeof(TokenList) == sizeof(sotto_token_list));
static_assert(offsetof(TokenList, count) == offsetof(sotto_token_list, count));

SearchParams read_params(const sotto_search_params& given) {
  SearchParams read;
  read.mode = static_cast<sotto::SearchMode>(given.mode);
  read.sequence_count = given.sequence_count;
  read.return_count = given.return_count;
  read.max_tokens = given.max_tokens;
  read.length_penalty = given.length_penalty;
  read.length_norm = static_cast<sotto::LengthNorm>(given.length_norm);
  read.early_stopping = static_cast<sotto::EarlyStopping>(given.early_stopping);
  read.group_count = given.group_count;
  read.diversity_penalty = given.diversity_penalty;
  read.rerank = static_cast<sotto::Rerank>(given.rerank);
  read.contrastive_k = given.contrastive_k;
  read.contrastive_alpha = given.contrastive_alpha;
  read.phrases = {reinterpret_cast<const TokenList*>(given.phrases), given.phrase_count};
  read.phrase_groups = given.phrase_groups;
  read.similarity = given.similarity;
  read.similarity_user_data = given.similarity_user_data;
  read.on_step = given.on_step;
  read.step_user_data = given.step_user_data;
  return read;
}

}  // namespace

sotto_status sotto_session_search(sotto_session* session, const sotto_search_params* params,
                                  const sotto_sequence** sequences, size_t* count, sotto_error* error) {
  ErrorOut out(error);
  if (session == nullptr) return out.null_argument("session");
  if (sequences == nullptr) return out.null_argument("sequences");
  if (count == nullptr) return out.null_argument("count");
  if (params != nullptr && params->struct_size == 0) return out.bad_struct("params");
  const sotto_search_params given = sotto::capi::read(params, sotto::capi::kSearchDefaults);
  if (given.phrases == nullptr && given.phrase_count != 0) return out.null_argument("phrases");
  if constexpr (!sotto::kHasSearch) {
    return wrap(fail(out.get(), Status::kUnsupported, "searches: this library is built with SOTTO_FEATURE_SEARCH=OFF"));
  } else {
    std::span<const SearchSequence> found;
    const Status status = unwrap(session)->search(read_params(given), &found, out.get());
    if (wrap(status) < 0) return wrap(status);
    *sequences = reinterpret_cast<const sotto_sequence*>(found.data());
    *count = found.size();
    return wrap(status);
  }
}
