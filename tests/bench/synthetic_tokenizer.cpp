#include "tests/bench/synthetic_tokenizer.h"

#include <random>
#include <string>
#include <unordered_set>
#include <vector>

namespace sotto::bench {
namespace {

constexpr uint32_t kBytes = 256;
constexpr size_t kLongestToken = 12;

// Draws tokens to join: those made first more often, as in a trained vocabulary.
class Parts {
 public:
  Parts() {
    for (uint32_t letter = 'a'; letter <= 'z'; ++letter) parts_.push_back(letter);
  }
  void add(uint32_t token) { parts_.push_back(token); }
  uint32_t draw(std::mt19937& random) const {
    const double u = static_cast<double>(random()) / 4294967296.0;
    return parts_[static_cast<size_t>(u * u * static_cast<double>(parts_.size()))];
  }

 private:
  std::vector<uint32_t> parts_;
};

}  // namespace

TokenizerData make_synthetic_tokenizer(uint32_t vocabulary_size) {
  TokenizerDescription description;
  auto& tokens = description.tokens;
  std::unordered_set<std::string> known;
  for (uint32_t byte = 0; byte < kBytes; ++byte) {
    tokens.push_back({std::string(1, static_cast<char>(byte)), TokenKind::kNormal});
    description.byte_tokens[byte] = byte;
  }
  std::mt19937 random(1);
  Parts parts;
  while (tokens.size() + 1 < vocabulary_size) {
    // A third of the tokens begin a word.
    const uint32_t left = random() % 3 == 0 ? uint32_t{' '} : parts.draw(random);
    const uint32_t right = parts.draw(random);
    const std::string bytes = tokens[left].bytes + tokens[right].bytes;
    if (bytes.size() > kLongestToken || !known.insert(bytes).second) continue;
    const auto result = static_cast<uint32_t>(tokens.size());
    tokens.push_back({bytes, TokenKind::kNormal});
    description.merges.push_back({left, right, result});
    if (bytes[0] != ' ') parts.add(result);
  }
  tokens.push_back({"<|endoftext|>", TokenKind::kSpecial});
  return build_tokenizer(description);
}

}  // namespace sotto::bench
