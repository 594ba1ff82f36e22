// Replaces libFuzzer: replays a corpus and simple mutations of it, the same ones in every run.
//   PROGRAM CORPUS_DIRECTORY MUTATIONS_OF_EACH
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

class Mutator {
 public:
  explicit Mutator(const std::vector<Bytes>& corpus) : corpus_(corpus) {}

  Bytes mutate(Bytes bytes) {
    for (size_t i = 0, count = 1 + below(4); i < count; ++i) change(bytes);
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(Bytes& bytes) {
    const size_t at = below(bytes.size());
    const auto place = bytes.begin() + static_cast<ptrdiff_t>(at);
    switch (below(6)) {
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
    }
  }

  static constexpr uint8_t kTelling[] = {0,   1,   0x7F, 0x80, 0xFF, '0', '9',  '-', '.', '"',
                                         '[', ']', '{',  '}',  ',',  ':', '\\', 'e', ' ', '\n'};
  const std::vector<Bytes>& corpus_;
  std::mt19937 random_{20240601};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY MUTATIONS_OF_EACH\n", argv[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  const long mutation_count = std::strtol(argv[2], nullptr, 10);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus\n", argv[1]);
    return 2;
  }
  Mutator mutator(corpus);
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
