#include "runtime/grammar/matcher/matcher.h"

#include <new>

#include "capi/generated/params.h"
#include "runtime/base/arena.h"

using sotto::kMatcherBytes;
using sotto::Matcher;
using sotto::MatcherLimits;
using sotto::Status;
using sotto::TokenConstraint;
using sotto::TokenMask;
using sotto::Vocabulary;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

Matcher* unwrap_matcher(sotto_matcher* matcher) { return reinterpret_cast<Matcher*>(matcher); }
const Matcher* unwrap_matcher(const sotto_matcher* matcher) { return reinterpret_cast<const Matcher*>(matcher); }

bool has_sequence(const sotto_matcher* matcher, uint32_t sequence) {
  return matcher != nullptr && sequence < unwrap_matcher(matcher)->sequence_count();
}

sotto_status read_limits(const sotto_matcher_params* params, MatcherLimits* limits, ErrorOut* out) {
  if (params != nullptr && params->struct_size == 0) return out->bad_struct("params");
  const sotto_matcher_params given = sotto::capi::read(params, sotto::capi::kMatcherDefaults);
  limits->node_count = given.node_count;
  limits->frame_count = given.frame_count;
  limits->config_count = given.config_count;
  limits->item_count = given.item_count;
  limits->work_count = given.work_count;
  limits->mask_bytes = given.mask_bytes;
  limits->rollback_count = given.rollback_count;
  limits->sequence_count = given.sequence_count;
  limits->step_budget = given.step_budget;
  return SOTTO_OK;
}

sotto_status find_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary, const MatcherLimits& limits,
                       size_t* size, ErrorOut* out) {
  const Status status = Matcher::check(*unwrap(grammar), unwrap(vocabulary), limits, out->get());
  if (status != Status::kOk) return wrap(status);
  *size = Matcher::memory_size(*unwrap(grammar), unwrap(vocabulary), limits);
  if (*size == 0 || *size > SIZE_MAX - kMatcherBytes) {
    return wrap(
        fail(out->get(), Status::kInvalidArgument, "config_count: the matcher is larger than the address space"));
  }
  *size += kMatcherBytes;
  return SOTTO_OK;
}

}  // namespace

sotto_status sotto_matcher_memory_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                       const sotto_matcher_params* params, size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if (grammar == nullptr) return out.null_argument("grammar");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  MatcherLimits limits;
  if (const sotto_status bad = read_limits(params, &limits, &out); bad != SOTTO_OK) return bad;
  size_t size = 0;
  const sotto_status status = find_size(grammar, vocabulary, limits, &size, &out);
  if (status == SOTTO_OK) *memory_size = size;
  return status;
}

sotto_status sotto_matcher_init(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                const sotto_matcher_params* params, void* memory, size_t memory_size,
                                sotto_matcher** matcher, sotto_error* error) {
  ErrorOut out(error);
  if (grammar == nullptr) return out.null_argument("grammar");
  if (memory == nullptr) return out.null_argument("memory");
  if (matcher == nullptr) return out.null_argument("matcher");
  MatcherLimits limits;
  if (const sotto_status bad = read_limits(params, &limits, &out); bad != SOTTO_OK) return bad;
  size_t needed = 0;
  const sotto_status status = find_size(grammar, vocabulary, limits, &needed, &out);
  if (status != SOTTO_OK) return status;
  if (!sotto::capi::is_aligned(memory)) return out.misaligned("memory");
  if (memory_size < needed) {
    return wrap(fail(out.get(), Status::kMemoryTooSmall, "the matcher needs ", needed, " bytes, got ", memory_size));
  }
  auto* made = new (memory) Matcher;
  const Status started =
      made->init(*unwrap(grammar), unwrap(vocabulary), limits, static_cast<uint8_t*>(memory) + kMatcherBytes);
  if (started != Status::kOk) {
    return wrap(fail(out.get(), started, "the grammar's beginning is beyond the limits"));
  }
  *matcher = reinterpret_cast<sotto_matcher*>(made);
  return SOTTO_OK;
}

sotto_status sotto_matcher_reset(sotto_matcher* matcher, uint32_t sequence) {
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  unwrap_matcher(matcher)->reset(sequence);
  return SOTTO_OK;
}

sotto_status sotto_matcher_mask(sotto_matcher* handle, uint32_t sequence, uint64_t* words, size_t word_count) {
  if (!has_sequence(handle, sequence) || words == nullptr) return SOTTO_INVALID_ARGUMENT;
  Matcher& matcher = *unwrap_matcher(handle);
  if (matcher.vocabulary() == nullptr) return SOTTO_INVALID_ARGUMENT;
  const size_t needed = matcher.vocabulary()->word_count();
  if (word_count < needed) return SOTTO_BUFFER_TOO_SMALL;
  TokenMask mask;
  const Status status = matcher.mask(sequence, &mask);
  if (status == Status::kOk) std::memcpy(words, mask.words, needed * sizeof *words);
  return wrap(status);
}

sotto_status sotto_matcher_borrow_mask(sotto_matcher* handle, uint32_t sequence, const uint64_t** words) {
  if (!has_sequence(handle, sequence) || words == nullptr) return SOTTO_INVALID_ARGUMENT;
  Matcher& matcher = *unwrap_matcher(handle);
  if (matcher.vocabulary() == nullptr) return SOTTO_INVALID_ARGUMENT;
  TokenMask mask;
  const Status status = matcher.mask(sequence, &mask);
  if (status == Status::kOk) *words = mask.words;
  return wrap(status);
}

sotto_status sotto_matcher_accept_token(sotto_matcher* matcher, uint32_t sequence, sotto_token token) {
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  if (unwrap_matcher(matcher)->vocabulary() == nullptr) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap_matcher(matcher)->accept_token(sequence, token));
}

sotto_status sotto_matcher_accept_text(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size) {
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  if (text == nullptr && text_size != 0) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap_matcher(matcher)->accept_bytes(sequence, {text, text_size}));
}

sotto_status sotto_matcher_test(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size,
                                uint32_t* begins, uint32_t* matches) {
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  if (text == nullptr && text_size != 0) return SOTTO_INVALID_ARGUMENT;
  if (begins == nullptr || matches == nullptr) return SOTTO_INVALID_ARGUMENT;
  bool begun = false;
  bool matched = false;
  const Status status = unwrap_matcher(matcher)->test_bytes(sequence, {text, text_size}, &begun, &matched);
  if (status != Status::kOk) return wrap(status);
  *begins = begun ? 1 : 0;
  *matches = matched ? 1 : 0;
  return SOTTO_OK;
}

sotto_status sotto_matcher_rewind(sotto_matcher* matcher, uint64_t count) {
  if (matcher == nullptr) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap_matcher(matcher)->rewind(count));
}

sotto_status sotto_matcher_fork(sotto_matcher* matcher, uint32_t from, uint32_t to) {
  if (!has_sequence(matcher, from) || !has_sequence(matcher, to)) return SOTTO_INVALID_ARGUMENT;
  unwrap_matcher(matcher)->fork(from, to);
  return SOTTO_OK;
}

sotto_status sotto_matcher_forced_text(sotto_matcher* matcher, uint32_t sequence, char* text, size_t capacity,
                                       size_t* size) {
  if (!has_sequence(matcher, sequence) || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  if (text == nullptr && capacity != 0) return SOTTO_INVALID_ARGUMENT;
  size_t written = 0;
  const Status status = unwrap_matcher(matcher)->forced_bytes(sequence, {text, capacity}, &written);
  if (status == Status::kOk) *size = written;
  return wrap(status);
}

sotto_status sotto_matcher_get_info(const sotto_matcher* handle, uint32_t sequence, sotto_matcher_info* info) {
  if (!has_sequence(handle, sequence) || info == nullptr || info->struct_size == 0) {
    return SOTTO_INVALID_ARGUMENT;
  }
  const Matcher& matcher = *unwrap_matcher(handle);
  sotto_matcher_info filled = {};
  filled.may_end = matcher.accepts(sequence) ? 1 : 0;
  filled.must_end = matcher.complete(sequence) ? 1 : 0;
  filled.token_count = matcher.accepted_count();
  sotto::capi::fill(info, filled);
  return SOTTO_OK;
}

sotto_status sotto_session_set_matcher(sotto_session* handle, sotto_matcher* matcher, sotto_error* error) {
  ErrorOut out(error);
  if (handle == nullptr) return out.null_argument("session");
  sotto::Session& session = *unwrap(handle);
  if (matcher == nullptr) return wrap(session.set_constraint(nullptr));
  Matcher& used = *unwrap_matcher(matcher);
  const uint32_t own = session.stream().model().config().vocabulary_size;
  const uint32_t other = used.vocabulary() == nullptr ? 0 : used.vocabulary()->token_count;
  if (own != other) {
    return wrap(fail(out.get(), Status::kInvalidArgument, "matcher: its vocabulary has ", other,
                     " tokens, the session's ", own));
  }
  const uint32_t searched = session.stream().params().sequence_count;
  const uint32_t needed = searched == 0 ? 1 : 2 * searched + 1;
  if (used.sequence_count() < needed) {
    return wrap(fail(out.get(), Status::kInvalidArgument, "matcher: sequence_count is ", used.sequence_count(),
                     ", the session's searches need ", needed));
  }
  const TokenConstraint constraint = Matcher::constraint(&used);
  const Status status = session.set_constraint(&constraint);
  if (status == Status::kOk) return SOTTO_OK;
  return wrap(fail(out.get(), status, "buffered tokens cannot be rolled back"));
}
