// Helpers of the tests of tokenizers: data, random numbers, an oracle, and wrappers of calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/tokenizers/builder.h"
#include "runtime/text/tokenizer.h"
#include "tests/support/files.h"

namespace sotto::test {

inline constexpr char kGpt2Vocabulary[] = "tokenizer/vocab";  // a directory of the shared data

void write_file(const std::filesystem::path& path, std::string_view text);

// SplitMix64, as in make_tokenizer_goldens.py.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(next() % bound); }

 private:
  uint64_t state_;
};

// FNV-1a over values of 32 bits.
class Hash {
 public:
  void add(uint32_t value) { hash_ = (hash_ ^ value) * 0x100000001b3u; }
  void add(std::string_view bytes);
  void add(const std::vector<int32_t>& tokens);
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

// Encodes with a sufficient capacity. Any status other than kOk fails the test.
std::vector<int32_t> encode_all(const TokenizerView& tokenizer, std::string_view text, bool parse_special = false);
std::string decode_all(const TokenizerView& tokenizer, const std::vector<int32_t>& tokens);

// Encodes a word with BPE by its definition, over the merges of the description.
std::vector<int32_t> naive_bpe(const TokenizerDescription& description, std::string_view word);

// Describes byte tokens for `alphabet` and the merges of `pairs`, with the tokens that they need.
using Pairs = std::vector<std::pair<std::string, std::string>>;
TokenizerDescription describe(std::string_view alphabet, const Pairs& pairs);
uint32_t add_token(TokenizerDescription* description, std::string bytes, TokenKind kind);

}  // namespace sotto::test
