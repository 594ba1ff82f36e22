// Fuzzes checkpoints of a single file (GGUF, llm.c, nanoGPT, Megatron-LM) and models of SentencePiece: opens the input
// as a checkpoint and reads its tensors and its tokenizer. Only std::runtime_error may be thrown.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/tensors/gguf.h"
#include "converters/tokenizers/gguf.h"
#include "converters/tokenizers/sentencepiece.h"
#include "runtime/text/tokenizer.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace sotto;

void check(bool holds) {
  if (!holds) std::abort();
}

template <typename Action>
void allow_errors(Action action) {
  try {
    action();
  } catch (const std::runtime_error&) {
    // The file was rejected with a message.
  }
}

void read_gguf(const std::filesystem::path& path, size_t size) {
  const GgufFile file(path);
  for (const auto& [name, entry] : file.tensors()) {
    check(entry.offset <= size && entry.size <= size - entry.offset);
    allow_errors([&, &name = name, &entry = entry] {
      const auto values = file.read(name, 0, entry.element_count);
      check(values.size() == entry.element_count);
      for (const float value : values) check(std::isfinite(value));
    });
  }
  read_gguf_tokenizer(path, 5);
}

void read_spiece(const std::filesystem::path& path) {
  const TokenizerData tokenizer = read_sentencepiece(path, 150);
  std::vector<int32_t> tokens(200);
  size_t count = 0;
  (void)encode(tokenizer.view(), std::string_view("e\u0301 \uFB01\u0301  the <s> \u2581Q\u3000"), {true}, tokens,
               &count, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFile scratch(".checkpoint");
  scratch.write({reinterpret_cast<const char*>(data), size});
  if (is_gguf(scratch.path())) allow_errors([&] { read_gguf(scratch.path(), size); });
  allow_errors([&] { read_spiece(scratch.path()); });
  allow_errors([&] { load_float_model(*open_checkpoint(scratch.path())); });
  return 0;
}
