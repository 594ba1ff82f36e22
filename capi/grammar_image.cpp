#include "runtime/grammar/compiler/compiled_grammar.h"

#include "capi/sotto_handles.h"

using sotto::CompiledGrammar;
using sotto::Status;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

sotto_status sotto_grammar_save(const sotto_grammar* grammar, void* image, size_t capacity, size_t* size) {
  if (grammar == nullptr || size == nullptr || (image == nullptr && capacity != 0)) {
    return SOTTO_INVALID_ARGUMENT;
  }
  *size = grammar_image_size(*unwrap(grammar));
  if (capacity < *size) return SOTTO_BUFFER_TOO_SMALL;
  write_grammar_image(*unwrap(grammar), static_cast<uint8_t*>(image));
  return SOTTO_OK;
}

sotto_status sotto_grammar_load(const void* image, size_t image_size, const sotto_grammar** grammar,
                                sotto_error* error) {
  ErrorOut out(error);
  if (image == nullptr) return out.null_argument("image");
  if (grammar == nullptr) return out.null_argument("grammar");
  const CompiledGrammar* opened = nullptr;
  const Status status = sotto::open_grammar_image({static_cast<const uint8_t*>(image), image_size}, &opened, out.get());
  if (status == Status::kOk) *grammar = reinterpret_cast<const sotto_grammar*>(opened);
  return wrap(status);
}
