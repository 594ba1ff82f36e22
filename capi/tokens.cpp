#include "capi/sotto_handles.h"
#include "runtime/text/tokenizer.h"

using sotto::TokenizerView;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                            sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error) {
  ErrorOut out(error);
  if (model == nullptr) return out.null_argument("model");
  if (text == nullptr && text_size != 0) return out.null_argument("text");
  if (tokens == nullptr && capacity != 0) return out.null_argument("tokens");
  if (count == nullptr) return out.null_argument("count");
  if ((flags & ~uint32_t{SOTTO_TOKENIZE_SPECIAL}) != 0) {
    return wrap(fail(out.get(), sotto::Status::kInvalidArgument, "flags has unknown bits"));
  }
  const TokenizerView* tokenizer = unwrap(model)->tokenizer();
  if (tokenizer == nullptr) {
    return wrap(fail(out.get(), sotto::Status::kTokenizerMissing, "the model file holds no tokenizer"));
  }
  return wrap(sotto::encode(*tokenizer, {text, text_size}, {(flags & SOTTO_TOKENIZE_SPECIAL) != 0}, {tokens, capacity},
                            count, out.get()));
}

sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size) {
  if (model == nullptr || bytes == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  const TokenizerView* tokenizer = unwrap(model)->tokenizer();
  if (tokenizer == nullptr) return SOTTO_TOKENIZER_MISSING;
  if (static_cast<uint32_t>(token) >= tokenizer->token_count) return SOTTO_INVALID_ARGUMENT;
  const auto found = tokenizer->bytes_of(static_cast<uint32_t>(token));
  *bytes = found.data();
  *size = found.size();
  return SOTTO_OK;
}

sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                              size_t capacity, size_t* size) {
  if (model == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  if ((tokens == nullptr && count != 0) || (bytes == nullptr && capacity != 0)) {
    return SOTTO_INVALID_ARGUMENT;
  }
  const TokenizerView* tokenizer = unwrap(model)->tokenizer();
  if (tokenizer == nullptr) return SOTTO_TOKENIZER_MISSING;
  size_t needed = 0;
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<uint32_t>(tokens[i]) >= tokenizer->token_count) return SOTTO_INVALID_ARGUMENT;
    needed += tokenizer->bytes_of(static_cast<uint32_t>(tokens[i])).size();
  }
  *size = needed;
  if (needed > capacity) return SOTTO_BUFFER_TOO_SMALL;
  for (size_t i = 0; i < count; ++i) {
    const auto piece = tokenizer->bytes_of(static_cast<uint32_t>(tokens[i]));
    if (!piece.empty()) std::memcpy(bytes, piece.data(), piece.size());
    bytes += piece.size();
  }
  return SOTTO_OK;
}
