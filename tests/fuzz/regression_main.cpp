// Replaces libFuzzer: replays a corpus and simple mutations of it, the same ones in every run.
//   PROGRAM CORPUS_DIRECTORY MUTATIONS_OF_EACH [DICTIONARY]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> read_corpus(const char* directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Reads libFuzzer's format: a word in quotes per line, with the escapes \", \\ and \xHH.
std::vector<Bytes> read_dictionary(const char* path) {
  std::vector<Bytes> words;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    Bytes word;
    for (size_t i = 1; i + 1 < line.size(); ++i) {
      if (line[i] != '\\') {
        word.push_back(static_cast<uint8_t>(line[i]));
      } else if (line[++i] != 'x') {
        word.push_back(static_cast<uint8_t>(line[i]));
      } else {
        word.push_back(static_cast<uint8_t>(std::stoi(line.substr(i + 1, 2), nullptr, 16)));
        i += 2;
      }
    }
    words.push_back(word);
  }
  return words;
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& corpus, const std::vector<Bytes>& words) : corpus_(corpus), words_(words) {}

  Bytes mutate(Bytes bytes) {
    for (size_t i = 0, count = 1 + below(4); i < count; ++i) change(bytes);
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(Bytes& bytes) {
    const size_t at = below(bytes.size());
    const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
    switch (below(words_.empty() ? 6 : 8)) {
      case 0:
        if (!bytes.empty()) bytes[at] ^= static_cast<uint8_t>(1 << below(8));
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = kTelling[below(std::size(kTelling))];
        break;
      case 2:
        bytes.insert(place, kTelling[below(std::size(kTelling))]);
        break;
      case 3:
        bytes.erase(place, place + static_cast<ptrdiff_t>(below(std::min<size_t>(bytes.size() - at + 1, 9))));
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5: {
        const Bytes& other = corpus_[below(corpus_.size())];
        const size_t from = below(other.size());
        const size_t size = std::min<size_t>(other.size() - from, below(17));
        const auto start = other.begin() + static_cast<ptrdiff_t>(from);
        const Bytes piece(start, start + static_cast<ptrdiff_t>(size));
        bytes.insert(place, piece.begin(), piece.end());
        break;
      }
      case 6: {
        const Bytes& word = words_[below(words_.size())];
        bytes.insert(place, word.begin(), word.end());
        break;
      }
      case 7: {  // keeps the size, which the file may state
        const Bytes& word = words_[below(words_.size())];
        std::copy_n(word.begin(), std::min(word.size(), bytes.size() - at), place);
        break;
      }
    }
  }

  static constexpr uint8_t kTelling[] = {0,   1,   0x7F, 0x80, 0xFF, '0', '9',  '-', '.', '"',
                                         '[', ']', '{',  '}',  ',',  ':', '\\', 'e', ' ', '\n'};
  const std::vector<Bytes>& corpus_;
  const std::vector<Bytes>& words_;
  std::mt19937 random_{20240601};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY MUTATIONS_OF_EACH [DICTIONARY]\n", argv[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  const long mutation_count = std::strtol(argv[2], nullptr, 10);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 2;
  }
  std::vector<Bytes> words;
  if (argc == 4) words = read_dictionary(argv[3]);
  if (argc == 4 && words.empty()) {
    std::fprintf(stderr, "%s: no words\n", argv[3]);
    return 2;
  }
  Mutator mutator(corpus, words);
  for (const Bytes& bytes : corpus) {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    for (long i = 0; i < mutation_count; ++i) {
      const Bytes mutated = mutator.mutate(bytes);
      LLVMFuzzerTestOneInput(mutated.data(), mutated.size());
    }
  }
  std::printf("%zu inputs, %ld mutations of each\n", corpus.size(), mutation_count);
  return 0;
}
