// Fuzzes GBNF. A text is compiled, or rejected with a message and a position, and the invariants of a matcher hold for
// every compiled grammar.

#include "tests/fuzz/fuzz_grammar.h"

namespace {

constexpr size_t kWorkspaceSize = size_t{256} << 10;
constexpr uint32_t kSteps = 24;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sotto::FuzzMemory memory(kWorkspaceSize);
  sotto::FuzzInput input(data, size);
  sotto::GbnfOptions options;
  options.tokens = sotto::FuzzVocabulary::get().names();
  options.tuning.unrolled_states = 64 >> input.rest.below(8);
  options.tuning.determinized_states = 512 >> (2 * input.rest.below(6));
  const auto workspace = memory.last(kWorkspaceSize >> input.rest.below(5));
  const sotto::CompiledGrammar* grammar = nullptr;
  sotto::Error error;
  const sotto::Status status =
      sotto::compile_gbnf(sotto::as_span(input.text), options, {}, workspace, &grammar, &error);
  if (status != sotto::Status::kOk) {
    sotto::check_refusal(status, error, input.text);
    return 0;
  }
  sotto::GrammarWalk walk(*grammar, input.rest);
  for (uint32_t i = 0; i < kSteps && walk.step(); ++i) {
  }
  return 0;
}
