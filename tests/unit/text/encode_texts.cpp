// Encodes texts with the tokenizer of a checkpoint directory, for tests/tools/compare_tokenizers.py.
//
//   encode_texts DIRECTORY VOCABULARY_SIZE
//
// A record of standard input is a 32-bit size and that many bytes of text. The answer is a count and that many token
// ids, then a size and the bytes of these tokens. For a text that cannot be encoded, the count is 0xFFFFFFFF.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "converters/tokenizers/reader.h"
#include "runtime/text/tokenizer.h"

namespace {

template <typename T>
void write(const std::vector<T>& values) {
  const auto size = static_cast<uint32_t>(values.size());
  std::fwrite(&size, sizeof size, 1, stdout);
  std::fwrite(values.data(), sizeof(T), size, stdout);
}

bool encode_next(const sotto::TokenizerView& tokenizer) {
  uint32_t size = 0;
  if (std::fread(&size, sizeof size, 1, stdin) != 1) return false;
  std::string text(size, '\0');
  if (std::fread(text.data(), 1, size, stdin) != size) return false;
  std::vector<int32_t> tokens;
  size_t count = 0;
  auto status = sotto::encode(tokenizer, text, {true}, tokens, &count, nullptr);
  if (status == sotto::Status::kBufferTooSmall) {
    tokens.resize(count);
    status = sotto::encode(tokenizer, text, {true}, tokens, &count, nullptr);
  }
  if (status != sotto::Status::kOk) {
    const uint32_t failed = 0xFFFFFFFF;
    std::fwrite(&failed, sizeof failed, 1, stdout);
    return true;
  }
  tokens.resize(count);
  write(tokens);
  std::vector<char> bytes;
  for (const int32_t token : tokens) {
    const auto piece = tokenizer.bytes_of(static_cast<uint32_t>(token));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  write(bytes);
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const auto data = sotto::read_tokenizer_directory(argv[1], static_cast<uint32_t>(std::atoi(argv[2])));
  if (!data) return 1;
  const sotto::TokenizerView tokenizer = data->view();
  while (encode_next(tokenizer)) continue;
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
