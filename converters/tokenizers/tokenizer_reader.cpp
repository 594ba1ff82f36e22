#include "converters/tokenizers/tokenizer_reader.h"

#include <stdexcept>
#include <string>

#include "converters/tokenizers/tokenizer_reader_files.h"

namespace sotto {
namespace {

struct FilePair {
  const char* vocabulary;
  const char* merges;
};
constexpr FilePair kFilePairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

}  // namespace

std::optional<TokenizerData> read_tokenizer_directory(const std::filesystem::path& directory,
                                                      uint32_t vocabulary_size) {
  const std::filesystem::path whole = directory / "tokenizer.json";
  if (std::filesystem::exists(whole)) return read_tokenizer_json(whole, vocabulary_size);
  for (const FilePair& pair : kFilePairs) {
    const std::filesystem::path vocabulary = directory / pair.vocabulary;
    const std::filesystem::path merges = directory / pair.merges;
    const bool has_vocabulary = std::filesystem::exists(vocabulary);
    const bool has_merges = std::filesystem::exists(merges);
    if (!has_vocabulary && !has_merges) continue;
    if (!has_vocabulary || !has_merges) {
      throw std::runtime_error((has_merges ? vocabulary : merges).string() + ": not there, though " +
                               (has_merges ? pair.merges : pair.vocabulary) + " is");
    }
    return read_vocabulary_and_merges(vocabulary, merges, vocabulary_size);
  }
  return std::nullopt;
}

}  // namespace sotto
