#include "capi/generated/params.h"
#include "runtime/grammar/vocabulary/model_vocabulary.h"

using sotto::Status;
using sotto::Vocabulary;
using sotto::VocabularySource;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

sotto_status read_params(const sotto_vocabulary_params* params, sotto_vocabulary_params* given, ErrorOut* out) {
  if (params == nullptr) return out->null_argument("params");
  if (params->struct_size == 0) return out->bad_struct("params");
  *given = sotto::capi::read(params, sotto::capi::kVocabularyDefaults);
  if (given->model != nullptr) {
    if (given->token_count == 0) return SOTTO_OK;
    return wrap(fail(out->get(), Status::kInvalidArgument, "token_count: the model has a vocabulary of its own"));
  }
  if (given->token_count == 0) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "token_count is 0 and model is NULL"));
  }
  if (given->offsets == nullptr) return out->null_argument("offsets");
  if (given->bytes == nullptr && given->offsets[given->token_count] != 0) {
    return out->null_argument("bytes");
  }
  if (given->end_tokens == nullptr && given->end_token_count != 0) {
    return out->null_argument("end_tokens");
  }
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

}  // namespace

sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params* params, size_t* memory_size,
                                          sotto_error* error) {
  ErrorOut out(error);
  if (memory_size == nullptr) return out.null_argument("memory_size");
  sotto_vocabulary_params given;
  if (const sotto_status bad = read_params(params, &given, &out); bad != SOTTO_OK) return bad;
  size_t size = 0;
  const Status status = given.model != nullptr
                            ? sotto::measure_model_vocabulary(unwrap(given.model)->view(), &size, out.get())
                            : sotto::measure_vocabulary(source_of(given), &size, out.get());
  if (status == Status::kOk) *memory_size = size;
  return wrap(status);
}

sotto_status sotto_vocabulary_init(const sotto_vocabulary_params* params, void* memory, size_t memory_size,
                                   sotto_vocabulary** vocabulary, sotto_error* error) {
  ErrorOut out(error);
  if (memory == nullptr) return out.null_argument("memory");
  if (vocabulary == nullptr) return out.null_argument("vocabulary");
  sotto_vocabulary_params given;
  if (const sotto_status bad = read_params(params, &given, &out); bad != SOTTO_OK) return bad;
  if (!sotto::capi::is_aligned(memory)) return out.misaligned("memory");
  Vocabulary* made = nullptr;
  const Status status =
      given.model != nullptr
          ? sotto::place_model_vocabulary(unwrap(given.model)->view(), memory, memory_size, &made, out.get())
          : sotto::place_vocabulary(source_of(given), memory, memory_size, &made, out.get());
  if (status == Status::kOk) *vocabulary = reinterpret_cast<sotto_vocabulary*>(made);
  return wrap(status);
}
