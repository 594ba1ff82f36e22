// SOTTO_FEATURE_GRAMMAR=OFF: the functions of sotto_grammar.h without their implementation. No
// grammar, vocabulary or matcher can exist.
#include "capi/sotto_handles.h"

using sotto::Status;
using sotto::capi::ErrorOut;
using sotto::capi::wrap;

namespace {

sotto_status refuse(sotto_error* error) {
  ErrorOut out(error);
  return wrap(fail(out.get(), Status::kUnsupported, "grammars: this library is built with SOTTO_FEATURE_GRAMMAR=OFF"));
}

}  // namespace

sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params*, size_t*, sotto_error* error) {
  return refuse(error);
}
sotto_status sotto_vocabulary_init(const sotto_vocabulary_params*, void*, size_t, sotto_vocabulary**,
                                   sotto_error* error) {
  return refuse(error);
}

size_t sotto_grammar_typical_memory(size_t) { return 0; }
sotto_status sotto_grammar_compile(const char*, size_t, const sotto_grammar_params*, void*, size_t, sotto_grammar**,
                                   size_t*, sotto_error* error) {
  return refuse(error);
}
sotto_status sotto_grammar_save(const sotto_grammar*, void*, size_t, size_t*) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_grammar_load(const void*, size_t, const sotto_grammar**, sotto_error* error) {
  return refuse(error);
}

sotto_status sotto_matcher_memory_size(const sotto_grammar*, const sotto_vocabulary*, const sotto_matcher_params*,
                                       size_t*, sotto_error* error) {
  return refuse(error);
}
sotto_status sotto_matcher_init(const sotto_grammar*, const sotto_vocabulary*, const sotto_matcher_params*, void*,
                                size_t, sotto_matcher**, sotto_error* error) {
  return refuse(error);
}
sotto_status sotto_matcher_reset(sotto_matcher*, uint32_t) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_mask(sotto_matcher*, uint32_t, uint64_t*, size_t) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_borrow_mask(sotto_matcher*, uint32_t, const uint64_t**) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_accept_token(sotto_matcher*, uint32_t, sotto_token) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_accept_text(sotto_matcher*, uint32_t, const char*, size_t) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_test(sotto_matcher*, uint32_t, const char*, size_t, uint32_t*, uint32_t*) {
  return SOTTO_UNSUPPORTED;
}
sotto_status sotto_matcher_rewind(sotto_matcher*, uint64_t) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_fork(sotto_matcher*, uint32_t, uint32_t) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_forced_text(sotto_matcher*, uint32_t, char*, size_t, size_t*) { return SOTTO_UNSUPPORTED; }
sotto_status sotto_matcher_get_info(const sotto_matcher*, uint32_t, sotto_matcher_info*) { return SOTTO_UNSUPPORTED; }

// Taking a matcher away is not refused: there is none.
sotto_status sotto_session_set_matcher(sotto_session* session, sotto_matcher* matcher, sotto_error* error) {
  if (session != nullptr && matcher == nullptr) return SOTTO_OK;
  return refuse(error);
}
