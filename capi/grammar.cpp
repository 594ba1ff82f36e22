// The functions of sotto_grammar.h: vocabularies, grammars and matchers, and the matcher of a session.
#include "capi/generated/params.h"
#include "runtime/base/features.h"
#include "runtime/base/range_check.h"
#include "runtime/grammar/compiler/grammar_image.h"
#include "runtime/grammar/compiler/grammar_source.h"
#include "runtime/grammar/matcher/matcher.h"
#include "runtime/grammar/vocabulary/model_vocabulary.h"

using sotto::CompiledGrammar;
using sotto::Error;
using sotto::GrammarParams;
using sotto::kHasGrammar;
using sotto::Matcher;
using sotto::MatcherParams;
using sotto::Status;
using sotto::TokenConstraint;
using sotto::TokenMask;
using sotto::Vocabulary;
using sotto::VocabularySource;
using sotto::capi::ErrorOut;
using sotto::capi::read_params;
using sotto::capi::to_handle;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

// In a build without grammars, no vocabulary, grammar or matcher can exist.
[[maybe_unused]] sotto_status unsupported(ErrorOut* out) { return out->not_built("grammars", "SOTTO_WITH_GRAMMAR"); }

sotto_status read_vocabulary(const sotto_vocabulary_params* params, sotto_vocabulary_params* given, ErrorOut* out) {
  if (params != nullptr && params->struct_size == 0) return out->bad_struct("params");
  *given = sotto::capi::read(params, sotto::capi::kVocabularyDefaults);
  if (given->model != nullptr) {
    if (given->token_count == 0) return SOTTO_OK;
    return wrap(fail(out->get(), Status::kInvalidArgument, "token_count is ", given->token_count,
                     "; it must be 0 with a model, which has its own vocabulary"));
  }
  if (given->token_count == 0) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "token_count is 0; it must be at least 1 without a model"));
  }
  if (given->offsets == nullptr) return out->null_argument("offsets");
  if (given->bytes == nullptr && given->offsets[given->token_count] != 0) return out->null_argument("bytes");
  if (given->end_tokens == nullptr && given->end_token_count != 0) return out->null_argument("end_tokens");
  return SOTTO_OK;
}

VocabularySource source_of(const sotto_vocabulary_params& given) {
  VocabularySource source;
  const size_t count = given.token_count;
  source.bytes = {given.bytes, given.offsets[count]};
  source.offsets = {given.offsets, count + 1};
  source.special = {given.special, given.special == nullptr ? 0 : count};
  source.end_tokens = {given.end_tokens, given.end_token_count};
  return source;
}

bool has_sequence(const sotto_matcher* matcher, uint32_t sequence) {
  return matcher != nullptr && sequence < unwrap(matcher)->sequence_count();
}

}  // namespace

sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params* params, size_t* memory_size,
                                          sotto_error* error) {
  ErrorOut out(error);
  if constexpr (!kHasGrammar) return unsupported(&out);
  if (memory_size == nullptr) return out.null_argument("memory_size");
  sotto_vocabulary_params given;
  SOTTO_TRY_C(read_vocabulary(params, &given, &out));
  return wrap(given.model != nullptr
                  ? sotto::measure_model_vocabulary(unwrap(given.model)->view(), memory_size, out.get())
                  : sotto::measure_vocabulary(source_of(given), memory_size, out.get()));
}

sotto_status sotto_vocabulary_init(const sotto_vocabulary_params* params, void* memory, size_t memory_size,
                                   sotto_vocabulary** c_vocabulary, sotto_error* error) {
  ErrorOut out(error);
  if constexpr (!kHasGrammar) return unsupported(&out);
  if (memory == nullptr) return out.null_argument("memory");
  if (c_vocabulary == nullptr) return out.null_argument("vocabulary");
  sotto_vocabulary_params given;
  SOTTO_TRY_C(read_vocabulary(params, &given, &out));
  SOTTO_TRY_C(wrap(sotto::check_aligned(memory, out.get())));
  Vocabulary* vocabulary = nullptr;
  const Status status =
      given.model != nullptr
          ? sotto::create_model_vocabulary(unwrap(given.model)->view(), memory, memory_size, &vocabulary, out.get())
          : sotto::create_vocabulary(source_of(given), memory, memory_size, &vocabulary, out.get());
  if (status == Status::kOk) *c_vocabulary = to_handle<sotto_vocabulary>(vocabulary);
  return wrap(status);
}

size_t sotto_grammar_typical_memory(size_t source_size) {
  if constexpr (!kHasGrammar) return 0;
  return sotto::typical_compile_memory(source_size);
}

sotto_status sotto_grammar_compile(const char* source, size_t source_size, const sotto_grammar_params* c_params,
                                   void* memory, size_t memory_size, sotto_grammar** grammar, size_t* grammar_size,
                                   sotto_error* error) {
  ErrorOut out(error);
  if constexpr (!kHasGrammar) return unsupported(&out);
  if (source == nullptr && source_size != 0) return out.null_argument("source");
  if (memory == nullptr) return out.null_argument("memory");
  if (grammar == nullptr) return out.null_argument("grammar");
  if (grammar_size == nullptr) return out.null_argument("grammar_size");
  GrammarParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  SOTTO_TRY_C(wrap(sotto::check_aligned(memory, out.get())));
  const std::span<const char> text = {source == nullptr ? "" : source, source_size};
  CompiledGrammar* compiled = nullptr;
  const Status status =
      compile_source(text, params, {static_cast<uint8_t*>(memory), memory_size}, &compiled, out.get());
  if (status != Status::kOk) return wrap(status);
  *grammar = to_handle<sotto_grammar>(compiled);
  *grammar_size = static_cast<size_t>(compiled->size());
  return SOTTO_OK;
}

sotto_status sotto_grammar_save(const sotto_grammar* grammar, void* image, size_t capacity, size_t* size) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (grammar == nullptr || size == nullptr || (image == nullptr && capacity != 0)) return SOTTO_INVALID_ARGUMENT;
  *size = grammar_image_size(*unwrap(grammar));
  if (capacity < *size) return SOTTO_BUFFER_TOO_SMALL;
  write_grammar_image(*unwrap(grammar), static_cast<uint8_t*>(image));
  return SOTTO_OK;
}

sotto_status sotto_grammar_load(const void* image, size_t image_size, const sotto_grammar** grammar,
                                sotto_error* error) {
  ErrorOut out(error);
  if constexpr (!kHasGrammar) return unsupported(&out);
  if (image == nullptr) return out.null_argument("image");
  if (grammar == nullptr) return out.null_argument("grammar");
  const CompiledGrammar* opened = nullptr;
  const Status status = sotto::open_grammar_image({static_cast<const uint8_t*>(image), image_size}, &opened, out.get());
  if (status == Status::kOk) *grammar = to_handle<sotto_grammar>(opened);
  return wrap(status);
}

sotto_status sotto_matcher_memory_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                       const sotto_matcher_params* c_params, size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if constexpr (!kHasGrammar) return unsupported(&out);
  if (grammar == nullptr) return out.null_argument("grammar");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  MatcherParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(Matcher::memory_size(*unwrap(grammar), unwrap(vocabulary), params, memory_size, out.get()));
}

sotto_status sotto_matcher_init(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                const sotto_matcher_params* c_params, void* memory, size_t memory_size,
                                sotto_matcher** c_matcher, sotto_error* error) {
  ErrorOut out(error);
  if constexpr (!kHasGrammar) return unsupported(&out);
  if (grammar == nullptr) return out.null_argument("grammar");
  if (memory == nullptr) return out.null_argument("memory");
  if (c_matcher == nullptr) return out.null_argument("matcher");
  MatcherParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  Matcher* matcher = nullptr;
  const Status status =
      Matcher::init(*unwrap(grammar), unwrap(vocabulary), params, memory, memory_size, &matcher, out.get());
  if (status == Status::kOk) *c_matcher = to_handle<sotto_matcher>(matcher);
  return wrap(status);
}

sotto_status sotto_matcher_reset(sotto_matcher* matcher, uint32_t sequence) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  unwrap(matcher)->reset(sequence);
  return SOTTO_OK;
}

sotto_status sotto_matcher_mask(sotto_matcher* c_matcher, uint32_t sequence, uint64_t* words, size_t word_count) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(c_matcher, sequence) || words == nullptr) return SOTTO_INVALID_ARGUMENT;
  Matcher& matcher = *unwrap(c_matcher);
  if (matcher.vocabulary() == nullptr) return SOTTO_INVALID_ARGUMENT;
  const size_t needed = matcher.vocabulary()->word_count();
  if (word_count < needed) return SOTTO_BUFFER_TOO_SMALL;
  TokenMask mask;
  const Status status = matcher.mask(sequence, &mask);
  if (status == Status::kOk) std::memcpy(words, mask.words, needed * sizeof *words);
  return wrap(status);
}

sotto_status sotto_matcher_borrow_mask(sotto_matcher* c_matcher, uint32_t sequence, const uint64_t** words) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(c_matcher, sequence) || words == nullptr) return SOTTO_INVALID_ARGUMENT;
  Matcher& matcher = *unwrap(c_matcher);
  if (matcher.vocabulary() == nullptr) return SOTTO_INVALID_ARGUMENT;
  TokenMask mask;
  const Status status = matcher.mask(sequence, &mask);
  if (status == Status::kOk) *words = mask.words;
  return wrap(status);
}

sotto_status sotto_matcher_accept_token(sotto_matcher* matcher, uint32_t sequence, sotto_token token) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  if (unwrap(matcher)->vocabulary() == nullptr) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(matcher)->accept_token(sequence, token));
}

sotto_status sotto_matcher_accept_text(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  if (text == nullptr && text_size != 0) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(matcher)->accept_text(sequence, {text, text_size}));
}

sotto_status sotto_matcher_test(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size,
                                uint32_t* begins, uint32_t* matches) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(matcher, sequence)) return SOTTO_INVALID_ARGUMENT;
  if (text == nullptr && text_size != 0) return SOTTO_INVALID_ARGUMENT;
  if (begins == nullptr || matches == nullptr) return SOTTO_INVALID_ARGUMENT;
  bool begun = false;
  bool matched = false;
  const Status status = unwrap(matcher)->test_text(sequence, {text, text_size}, &begun, &matched);
  if (status != Status::kOk) return wrap(status);
  *begins = begun ? 1 : 0;
  *matches = matched ? 1 : 0;
  return SOTTO_OK;
}

sotto_status sotto_matcher_rewind(sotto_matcher* matcher, uint64_t count) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (matcher == nullptr) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(matcher)->rewind(count));
}

sotto_status sotto_matcher_fork(sotto_matcher* matcher, uint32_t from, uint32_t to) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(matcher, from) || !has_sequence(matcher, to)) return SOTTO_INVALID_ARGUMENT;
  unwrap(matcher)->fork(from, to);
  return SOTTO_OK;
}

sotto_status sotto_matcher_forced_text(sotto_matcher* matcher, uint32_t sequence, char* text, size_t capacity,
                                       size_t* size) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(matcher, sequence) || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  if (text == nullptr && capacity != 0) return SOTTO_INVALID_ARGUMENT;
  size_t written = 0;
  const Status status = unwrap(matcher)->forced_text(sequence, {text, capacity}, &written);
  if (status == Status::kOk) *size = written;
  return wrap(status);
}

sotto_status sotto_matcher_get_info(const sotto_matcher* c_matcher, uint32_t sequence, sotto_matcher_info* info) {
  if constexpr (!kHasGrammar) return SOTTO_UNSUPPORTED;
  if (!has_sequence(c_matcher, sequence) || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  const Matcher& matcher = *unwrap(c_matcher);
  sotto_matcher_info filled = {};
  filled.may_end = matcher.may_end(sequence) ? 1 : 0;
  filled.must_end = matcher.must_end(sequence) ? 1 : 0;
  filled.token_count = matcher.accepted_count();
  sotto::capi::fill(info, filled);
  return SOTTO_OK;
}

sotto_status sotto_session_set_matcher(sotto_session* c_session, sotto_matcher* c_matcher, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(c_session), "session"));
  sotto::Session& session = *unwrap(c_session);
  if (c_matcher == nullptr) return wrap(session.set_constraint({}, out.get()));
  if constexpr (!kHasGrammar) return unsupported(&out);
  Matcher& matcher = *unwrap(c_matcher);
  const uint32_t own = session.token_stream().model().config().vocabulary_size;
  const uint32_t other = matcher.vocabulary() == nullptr ? 0 : matcher.vocabulary()->token_count;
  if (own != other) {
    return wrap(fail(out.get(), Status::kInvalidArgument, "matcher: its vocabulary_size is ", other,
                     "; it must be the session's, ", own));
  }
  const uint32_t needed = session.info().matcher_sequence_count;
  if (matcher.sequence_count() < needed) {
    return wrap(fail(out.get(), Status::kInvalidArgument, "matcher: its sequence_count is ", matcher.sequence_count(),
                     "; it must be at least ", needed, " for the session's searches"));
  }
  return wrap(session.set_constraint(TokenConstraint(&matcher), out.get()));
}
