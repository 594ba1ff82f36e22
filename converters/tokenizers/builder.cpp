#include "converters/tokenizers/builder.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "runtime/grammar/vocabulary/model_vocabulary.h"
#include "runtime/text/bpe.h"

namespace sotto {
namespace {

constexpr size_t kLongestIndexRun = 64;

uint64_t pair_key(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }

std::unordered_map<uint64_t, uint32_t> ranks_of_pairs(const TokenizerDescription& description) {
  std::unordered_map<uint64_t, uint32_t> ranks;
  for (size_t rank = 0; rank < description.merges.size(); ++rank) {
    const TokenMerge& merge = description.merges[rank];
    const size_t count = description.tokens.size();
    if (merge.left >= count || merge.right >= count || merge.result >= count ||
        description.tokens[merge.result].bytes !=
            description.tokens[merge.left].bytes + description.tokens[merge.right].bytes) {
      throw std::runtime_error("tokenizer: merge " + std::to_string(rank) + " does not join the text of its parts");
    }
    ranks[pair_key(merge.left, merge.right)] = static_cast<uint32_t>(rank);
  }
  return ranks;
}

class Builder {
 public:
  explicit Builder(const TokenizerDescription& description)
      : description_(description), ranks_(ranks_of_pairs(description)) {}

  TokenizerData build();

 private:
  bool is_produced(uint32_t token, uint32_t* last_rank) const;
  bool is_text(uint32_t token) const;
  void find_units();
  void find_produced_tokens();
  void keep_live_merges();
  void put_tokens();
  void put_merge_index();
  void sort_by_bytes(std::vector<uint32_t>* tokens) const;

  const TokenizerDescription& description_;
  const std::unordered_map<uint64_t, uint32_t> ranks_;
  std::unordered_map<std::string, uint32_t> units_;
  std::vector<uint32_t>
      original_merges_;  // for each token, the rank that the merge producing it has in the description
  TokenizerData data_;
};

// Returns whether BPE encodes the bytes of `token` as that token, and stores the rank of the last merge. Other tokens
// and merges never occur in the encoding of a text, because a piece of text is encoded as if it stood alone unless a
// merge crosses its ends.
bool Builder::is_produced(uint32_t token, uint32_t* last_rank) const {
  std::vector<uint32_t> tokens;
  const std::string& bytes = description_.tokens[token].bytes;
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = unit_size(description_.model, description_.word_space, {bytes}, at);
    const auto unit = units_.find(bytes.substr(at, size));
    if (unit == units_.end()) return false;
    tokens.push_back(unit->second);
    at += size;
  }
  const auto rank_at = [&](size_t i) {
    const auto found = ranks_.find(pair_key(tokens[i], tokens[i + 1]));
    return found == ranks_.end() ? kNoMerge : found->second;
  };
  std::vector<uint32_t> ranks;  // of the pairs
  for (size_t i = 0; i + 1 < tokens.size(); ++i) ranks.push_back(rank_at(i));
  *last_rank = kNoMerge;
  while (!ranks.empty()) {
    const auto best = std::min_element(ranks.begin(), ranks.end());
    if (*best == kNoMerge) return false;
    *last_rank = *best;
    const auto at = static_cast<size_t>(best - ranks.begin());
    tokens[at] = description_.merges[*best].result;
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
    ranks.erase(best);
    if (at > 0) ranks[at - 1] = rank_at(at - 1);
    if (at < ranks.size()) ranks[at] = rank_at(at);
  }
  return tokens.size() == 1 && tokens[0] == token;
}

// Finds the tokens of single bytes or characters, with which BPE starts.
void Builder::find_units() {
  if (description_.model == TokenizerModel::kByteBpe) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t token = description_.byte_tokens[byte];
      if (token != kNoToken) units_.emplace(std::string(1, static_cast<char>(byte)), token);
    }
  } else if (description_.model == TokenizerModel::kCharacterBpe) {
    for (uint32_t token = 0; token < description_.tokens.size(); ++token) {
      const std::string& bytes = description_.tokens[token].bytes;
      if (!is_text(token) || bytes.empty()) continue;
      if (unit_size(description_.model, description_.word_space, {bytes}, 0) == bytes.size()) {
        units_.emplace(bytes, token);
      }
    }
  }
}

bool Builder::is_text(uint32_t token) const {
  const auto& bytes = description_.byte_tokens;
  return description_.tokens[token].kind == TokenKind::kNormal && description_.tokens[token].is_found &&
         std::find(bytes.begin(), bytes.end(), token) == bytes.end();
}

void Builder::find_produced_tokens() {
  find_units();
  original_merges_.assign(description_.tokens.size(), kNoMerge);
  const bool merges = description_.model <= TokenizerModel::kCharacterBpe;
  std::vector<bool> candidates(description_.tokens.size());
  for (const auto& [bytes, token] : units_) candidates.at(token) = true;
  for (const TokenMerge& merge : description_.merges) candidates[merge.result] = true;
  for (uint32_t token = 0; token < description_.tokens.size(); ++token) {
    uint32_t rank = kNoMerge;
    if (merges ? !candidates[token] || !is_produced(token, &rank)
               : !is_text(token) || description_.tokens[token].bytes.empty()) {
      continue;
    }
    original_merges_[token] = rank;
    data_.sorted_tokens.push_back(token);
  }
  sort_by_bytes(&data_.sorted_tokens);
}

void Builder::keep_live_merges() {
  data_.token_merges.assign(description_.tokens.size(), kNoMerge);
  for (uint32_t rank = 0; rank < description_.merges.size(); ++rank) {
    const TokenMerge& merge = description_.merges[rank];
    if (original_merges_[merge.result] != rank) continue;
    data_.token_merges[merge.result] = static_cast<uint32_t>(data_.merges.size());
    data_.merges.push_back(merge);
  }
}

void Builder::put_tokens() {
  data_.token_offsets.push_back(0);
  for (uint32_t id = 0; id < description_.tokens.size(); ++id) {
    const TokenizerDescription::Token& token = description_.tokens[id];
    data_.token_bytes.insert(data_.token_bytes.end(), token.bytes.begin(), token.bytes.end());
    data_.token_offsets.push_back(static_cast<uint32_t>(data_.token_bytes.size()));
    data_.token_kinds.push_back(token.kind);
    if (token.kind == TokenKind::kAdded || token.kind == TokenKind::kSpecial) {
      data_.added_tokens.push_back(id);
    }
  }
  data_.byte_tokens.assign(description_.byte_tokens.begin(), description_.byte_tokens.end());
  data_.split_steps = description_.split_steps;
  data_.normalizer = description_.normalizer;
  data_.token_scores = description_.token_scores;
  static_cast<TokenizerSettings&>(data_) = description_;
  sort_by_bytes(&data_.added_tokens);
}

// Builds a hash index with linear probing, and doubles it until every run is shorter than kLongestIndexRun, which
// bounds the time of a lookup.
void Builder::put_merge_index() {
  const size_t min_slots = std::bit_ceil(2 * data_.merges.size() + 1);
  size_t slot_count = min_slots;
  for (bool done = false; !done; slot_count *= 2) {
    if (slot_count > 64 * min_slots) throw std::runtime_error("tokenizer: merges collide");
    data_.merge_index.assign(slot_count, 0);
    done = true;
    for (size_t rank = 0; rank < data_.merges.size() && done; ++rank) {
      const size_t start = merge_hash(data_.merges[rank].left, data_.merges[rank].right);
      size_t probes = 0;
      while (data_.merge_index[(start + probes) % slot_count] != 0) ++probes;
      data_.merge_index[(start + probes) % slot_count] = static_cast<uint32_t>(rank + 1);
      done = probes < kLongestIndexRun;
    }
  }
}

void Builder::sort_by_bytes(std::vector<uint32_t>* tokens) const {
  const auto bytes_of = [this](uint32_t token) -> std::string_view { return description_.tokens[token].bytes; };
  std::sort(tokens->begin(), tokens->end(), [&](uint32_t a, uint32_t b) { return bytes_of(a) < bytes_of(b); });
  const auto same = std::adjacent_find(tokens->begin(), tokens->end(),
                                       [&](uint32_t a, uint32_t b) { return bytes_of(a) == bytes_of(b); });
  if (same == tokens->end()) return;
  throw std::runtime_error("tokenizer: tokens " + std::to_string(*same) + " and " + std::to_string(*(same + 1)) +
                           " have the same text");
}

TokenizerData Builder::build() {
  find_produced_tokens();
  keep_live_merges();
  put_tokens();
  put_merge_index();
  (void)data_.view();
  return std::move(data_);
}

}  // namespace

void NormalizerData::Characters::replace(uint32_t code_point, std::string_view text) {
  if (replaced.empty()) offsets.push_back(0);
  replaced.push_back(code_point);
  bytes.insert(bytes.end(), text.begin(), text.end());
  offsets.push_back(static_cast<uint32_t>(bytes.size()));
}

NormalizerView NormalizerData::view() const {
  return {characters.view(), rule_trie,    rule_texts,  graphemes,
          combining_classes, compositions, space_rules, last_characters.view()};
}

TokenizerView TokenizerData::unverified_view() const {
  TokenizerView view;
  view.token_count = static_cast<uint32_t>(token_kinds.size());
  view.token_offsets = token_offsets;
  view.token_bytes = token_bytes;
  view.token_kinds = token_kinds;
  view.byte_tokens = byte_tokens;
  view.merges = merges;
  view.merge_index = merge_index;
  view.token_merges = token_merges;
  view.sorted_tokens = sorted_tokens;
  view.added_tokens = added_tokens;
  view.split_steps = split_steps;
  view.normalizer = normalizer.view();
  view.token_scores = token_scores;
  view.unknown_score = unknown_score;
  view.unknown_token = unknown_token;
  view.max_word_characters = max_word_characters;
  view.fuse_unknown = fuse_unknown;
  view.float_sums = float_sums;
  view.model = model;
  view.prefix_space = prefix_space;
  view.word_space = word_space;
  return view;
}

TokenizerView TokenizerData::view() const {
  TokenizerView view = unverified_view();
  Error error;
  if (verify_tokenizer(&view, view.token_count, &error) != Status::kOk) {
    throw std::runtime_error(error.message);
  }
  return view;
}

TokenizerData build_tokenizer(const TokenizerDescription& description) { return Builder(description).build(); }

namespace {

struct AlignedDelete {
  void operator()(uint8_t* bytes) const { operator delete[](bytes, std::align_val_t{kMemoryAlignment}); }
};

}  // namespace

std::optional<VocabularyData> build_vocabulary_data(const TokenizerData& tokenizer,
                                                    std::span<const int32_t> end_tokens) {
  TokenizerView tokens;
  tokens.token_offsets = tokenizer.token_offsets;
  tokens.token_bytes = tokenizer.token_bytes;
  tokens.token_kinds = tokenizer.token_kinds;
  const VocabularySource source = vocabulary_source(tokens, end_tokens);
  std::vector<uint32_t> order(source.token_count());
  uint32_t text_count = 0;
  if (sort_tokens(source, order.data(), &text_count, nullptr) != Status::kOk) return std::nullopt;
  order.resize(text_count);
  // The () zeroes the padding between the arrays, so that equal tokenizers produce equal bytes.
  const std::unique_ptr<uint8_t[], AlignedDelete> memory(new (std::align_val_t{kMemoryAlignment})
                                                             uint8_t[vocabulary_memory_size(source, order)]());
  Vocabulary vocabulary;
  build_vocabulary(source, order, memory.get(), &vocabulary);

  VocabularyData data;
  data.text_count = text_count;
  data.node_count = static_cast<uint32_t>(vocabulary.node_summaries.size());
  data.longest = vocabulary.longest;
  const size_t size = prepared_vocabulary_size(source.token_count(), text_count, data.node_count);
  data.arrays.assign(memory.get(), memory.get() + size);
  return data;
}

}  // namespace sotto
