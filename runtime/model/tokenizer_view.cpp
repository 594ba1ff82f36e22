#include "runtime/model/tokenizer_view.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "runtime/base/bits.h"
#include "runtime/base/utf8.h"
#include "runtime/model/model_generated.h"
#include "runtime/model/split_step.h"

namespace sotto {
namespace {

static_assert(sizeof(format::Merge) == sizeof(TokenMerge));
static_assert(sizeof(format::Composition) == sizeof(Composition));
static_assert(sizeof(format::TokenKind) == sizeof(TokenKind));
static_assert(static_cast<int>(format::TokenizerModel::MAX) == static_cast<int>(TokenizerModel::kWordLevel));
static_assert(static_cast<int>(format::PrefixSpace::MAX) == static_cast<int>(PrefixSpace::kAlways));
static_assert(static_cast<int>(format::WordSpace::MAX) == static_cast<int>(WordSpace::kAfter));

std::span<const uint32_t> view_of(const flatbuffers::Vector<uint32_t>* vector) {
  return {reinterpret_cast<const uint32_t*>(vector->Data()), vector->size()};
}

std::span<const uint32_t> optional_view(const flatbuffers::Vector<uint32_t>* vector) {
  return vector == nullptr ? std::span<const uint32_t>() : view_of(vector);
}
std::span<const char> optional_view(const flatbuffers::Vector<uint8_t>* vector) {
  if (vector == nullptr) return {};
  return {reinterpret_cast<const char*>(vector->Data()), vector->size()};
}

Status corrupt(const char* what, Error* error) { return fail(error, Status::kModelCorrupt, "tokenizer: ", what); }

Status corrupt(const char* what, size_t index, Error* error) {
  return fail(error, Status::kModelCorrupt, "tokenizer: ", what, " ", index);
}

int compare(std::span<const char> a, std::span<const char> b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size();
}

Status verify_tokens(const TokenizerView& view, Error* error) {
  const auto offsets = view.token_offsets;
  if (offsets[0] != 0 || offsets[view.token_count] != view.token_bytes.size()) {
    return corrupt("token_offsets do not span token_bytes", error);
  }
  for (size_t i = 0; i < view.token_count; ++i) {
    if (offsets[i] > offsets[i + 1]) return corrupt("token_offsets decrease at", i, error);
    if (offsets[i + 1] - offsets[i] > kMaxTokenBytes) return corrupt("more than 1024 bytes in token", i, error);
  }
  for (size_t i = 0; i < view.token_count; ++i) {
    if (view.token_kinds[i] > TokenKind::kUnused) return corrupt("invalid kind of token", i, error);
    const bool unused = view.token_kinds[i] == TokenKind::kUnused;
    if (unused && offsets[i] != offsets[i + 1]) return corrupt("text of unused token", i, error);
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const uint32_t token = view.byte_tokens[byte];
    if (token == kNoToken) continue;
    if (token >= view.token_count) return corrupt("invalid token of byte", byte, error);
    const auto bytes = view.bytes_of(token);
    if (bytes.size() != 1 || static_cast<uint8_t>(bytes[0]) != byte) {
      return corrupt("wrong token of byte", byte, error);
    }
  }
  return Status::kOk;
}

// Returns whether the result of a merge has the bytes of its two parts, and neither part is empty.
bool is_concatenation(const TokenizerView& view, const TokenMerge& merge) {
  const auto left = view.bytes_of(merge.left);
  const auto right = view.bytes_of(merge.right);
  const auto result = view.bytes_of(merge.result);
  return !left.empty() && !right.empty() && result.size() == left.size() + right.size() &&
         std::memcmp(result.data(), left.data(), left.size()) == 0 &&
         std::memcmp(result.data() + left.size(), right.data(), right.size()) == 0;
}

Status verify_merges(const TokenizerView& view, Error* error) {
  for (size_t rank = 0; rank < view.merges.size(); ++rank) {
    const TokenMerge& merge = view.merges[rank];
    if (merge.left >= view.token_count || merge.right >= view.token_count || merge.result >= view.token_count) {
      return corrupt("token out of range in merge", rank, error);
    }
    if (!is_concatenation(view, merge)) return corrupt("wrong result of merge", rank, error);
  }
  for (size_t token = 0; token < view.token_count; ++token) {
    const uint32_t rank = view.token_merges[token];
    if (rank == kNoMerge) continue;
    if (rank >= view.merges.size() || view.merges[rank].result != token) {
      return corrupt("wrong merge of token", token, error);
    }
  }
  return Status::kOk;
}

// Checks that no run of occupied slots exceeds kMaxMergeProbes, so that every lookup ends at an empty slot soon.
Status verify_merge_index(const TokenizerView& view, Error* error) {
  const auto index = view.merge_index;
  if (!std::has_single_bit(index.size()) || uint64_t{index.size()} > uint64_t{1} << 32) {
    return corrupt("merge_index is not a power of two", error);
  }
  const auto last_empty = std::find(index.rbegin(), index.rend(), 0u);
  if (last_empty == index.rend()) return corrupt("merge_index is full", error);
  auto run = static_cast<size_t>(last_empty - index.rbegin());  // a run of slots may continue at slot 0
  for (size_t slot = 0; slot < index.size(); ++slot) {
    if (index[slot] > view.merges.size()) return corrupt("invalid merge_index slot", slot, error);
    run = index[slot] == 0 ? 0 : run + 1;
    if (run > kMaxMergeProbes) return corrupt("merge_index is too dense at", slot, error);
  }
  return Status::kOk;
}

// Checks that the ids are in range, and that their tokens are not empty and in strictly ascending order of their bytes.
Status verify_sorted(const TokenizerView& view, std::span<const uint32_t> tokens, const char* name, Error* error) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= view.token_count || view.bytes_of(tokens[i]).empty() ||
        (i > 0 && compare(view.bytes_of(tokens[i - 1]), view.bytes_of(tokens[i])) >= 0)) {
      return fail(error, Status::kModelCorrupt, "tokenizer: ", name, " is out of order at ", i);
    }
  }
  return Status::kOk;
}

Status verify_added_tokens(const TokenizerView& view, Error* error) {
  SOTTO_TRY(verify_sorted(view, view.added_tokens, "added_tokens", error));
  const auto is_added = [](TokenKind kind) { return kind == TokenKind::kAdded || kind == TokenKind::kSpecial; };
  for (const uint32_t token : view.added_tokens) {
    if (!is_added(view.token_kinds[token])) return corrupt("not an added token:", token, error);
    const auto bytes = view.bytes_of(token);
    if (find_invalid_utf8(bytes) != bytes.size()) {
      return corrupt("not UTF-8: added token", token, error);
    }
  }
  const auto count = std::count_if(view.token_kinds.begin(), view.token_kinds.end(), is_added);
  if (static_cast<size_t>(count) != view.added_tokens.size()) {
    return corrupt("added_tokens lacks some", error);
  }
  return Status::kOk;
}

Status verify_characters(const CharacterMap& map, Error* error) {
  const auto ascend = [](std::span<const uint32_t> numbers) {
    return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end();
  };
  if (!ascend(map.removed)) return corrupt("removed_characters are out of order", error);
  if (!ascend(map.replaced)) return corrupt("replaced_characters are out of order", error);
  const size_t count = map.replaced.size();
  if (count == 0) return Status::kOk;
  const auto offsets = map.offsets;
  if (offsets.size() != count + 1 || offsets[0] != 0 || offsets[count] != map.bytes.size() ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    return corrupt("replacement_offsets do not span replacement_bytes", error);
  }
  for (size_t i = 0; i < count; ++i) {
    const auto bytes = map.replacement_of(i);
    if (find_invalid_utf8(bytes) != bytes.size()) return corrupt("not UTF-8: replacement", i, error);
  }
  return Status::kOk;
}

// Verifies that every value of the trie is the offset of a text. The other units are checked when they are read.
Status verify_rules(const NormalizerView& view, Error* error) {
  const auto texts = view.rule_texts;
  if (view.rule_trie.empty()) return Status::kOk;
  if (texts.empty() || texts.back() != '\0' || find_invalid_utf8(texts) != texts.size()) {
    return corrupt("rule_texts are damaged", error);
  }
  const auto is_valid = [texts](uint32_t unit) {
    const size_t offset = unit & ~kTrieValue;
    return (unit & kTrieValue) == 0 || offset == 0 || (offset < texts.size() && texts[offset - 1] == '\0');
  };
  const bool all_valid = std::all_of(view.rule_trie.begin(), view.rule_trie.end(), is_valid);
  return all_valid ? Status::kOk : corrupt("rule_trie has a bad value", error);
}

Status verify_normalizer(const NormalizerView& view, Error* error) {
  SOTTO_TRY(verify_characters(view.characters, error));
  SOTTO_TRY(verify_characters(view.last_characters, error));
  SOTTO_TRY(verify_rules(view, error));
  if (!verify_split_steps(view.graphemes)) return corrupt("graphemes are damaged", error);
  if (!std::is_sorted(view.combining_classes.begin(), view.combining_classes.end())) {
    return corrupt("combining_classes are out of order", error);
  }
  uint64_t classes[4] = {};
  for (const uint32_t range : view.combining_classes) set_bit(classes, range % 256);
  int class_count = 0;
  for (const uint64_t bits : classes) class_count += std::popcount(bits);
  if (class_count > kMaxCombiningClasses) return corrupt("too many combining_classes", error);
  const auto pair_of = [](const Composition& pair) { return uint64_t{pair.first} << 32 | pair.second; };
  for (size_t i = 0; i < view.compositions.size(); ++i) {
    const Composition& pair = view.compositions[i];
    if (!is_scalar_value(pair.result) || (i > 0 && pair_of(view.compositions[i - 1]) >= pair_of(pair))) {
      return corrupt("bad composition", i, error);
    }
  }
  return view.space_rules <= kAllSpaceRules ? Status::kOk : corrupt("unknown space_rules", error);
}

Status verify_scores(const TokenizerView& view, Error* error) {
  if (view.model != TokenizerModel::kUnigram) return Status::kOk;
  if (view.token_scores.size() != view.token_count) return corrupt("token_scores and vocabulary_size differ", error);
  // The sums of larger numbers could overflow.
  constexpr double kLargest = 1e100;
  const auto is_valid = [](double score) { return std::abs(score) <= kLargest; };
  const auto bad = std::find_if_not(view.token_scores.begin(), view.token_scores.end(), is_valid);
  if (bad != view.token_scores.end()) {
    return corrupt("invalid score of token", static_cast<size_t>(bad - view.token_scores.begin()), error);
  }
  return is_valid(view.unknown_score) ? Status::kOk : corrupt("invalid unknown_score", error);
}

bool merges_ascend(const TokenizerView& view) {
  for (const uint32_t rank : view.token_merges) {
    if (rank == kNoMerge) continue;
    const uint32_t left = view.token_merges[view.merges[rank].left];
    const uint32_t right = view.token_merges[view.merges[rank].right];
    if ((left != kNoMerge && left >= rank) || (right != kNoMerge && right >= rank)) return false;
  }
  return true;
}

// Reads the character map that a table contains.
template <typename Table>
void read_characters(const Table& table, CharacterMap* map) {
  map->removed = optional_view(table.removed_characters());
  map->replaced = optional_view(table.replaced_characters());
  map->offsets = optional_view(table.replacement_offsets());
  map->bytes = optional_view(table.replacement_bytes());
}

void read_normalizer(const format::Normalizer& table, NormalizerView* view) {
  view->rule_trie = optional_view(table.rule_trie());
  view->rule_texts = optional_view(table.rule_texts());
  view->graphemes = optional_view(table.graphemes());
  view->combining_classes = optional_view(table.combining_classes());
  if (const auto* pairs = table.compositions(); pairs != nullptr) {
    view->compositions = {reinterpret_cast<const Composition*>(pairs->Data()), pairs->size()};
  }
  view->space_rules = table.space_rules();
  read_characters(table, &view->last_characters);
}

}  // namespace

void read_tokenizer(const format::Tokenizer& table, TokenizerView* view) {
  *view = {};
  view->token_count = table.token_kinds()->size();
  view->token_offsets = view_of(table.token_offsets());
  view->token_bytes = {reinterpret_cast<const char*>(table.token_bytes()->Data()), table.token_bytes()->size()};
  view->token_kinds = {reinterpret_cast<const TokenKind*>(table.token_kinds()->Data()), table.token_kinds()->size()};
  view->byte_tokens = view_of(table.byte_tokens());
  view->merges = {reinterpret_cast<const TokenMerge*>(table.merges()->Data()), table.merges()->size()};
  view->merge_index = view_of(table.merge_index());
  view->token_merges = view_of(table.token_merges());
  view->sorted_tokens = view_of(table.sorted_tokens());
  view->added_tokens = view_of(table.added_tokens());
  view->split_steps = optional_view(table.split_steps());
  read_characters(table, &view->normalizer.characters);
  if (table.normalizer() != nullptr) read_normalizer(*table.normalizer(), &view->normalizer);
  if (const auto* scores = table.token_scores(); scores != nullptr) {
    view->token_scores = {reinterpret_cast<const double*>(scores->Data()), scores->size()};
  }
  view->unknown_score = table.unknown_score();
  view->unknown_token = table.unknown_token();
  view->max_word_characters = table.max_word_characters();
  view->fuse_unknown = table.fuse_unknown();
  view->float_sums = table.float_sums();
  view->model = static_cast<TokenizerModel>(table.model());
  view->prefix_space = static_cast<PrefixSpace>(table.prefix_space());
  view->word_space = static_cast<WordSpace>(table.word_space());
}

Status verify_tokenizer(TokenizerView* view, uint32_t vocabulary_size, Error* error) {
  if (vocabulary_size > INT32_MAX || view->token_count != vocabulary_size ||
      view->token_kinds.size() != vocabulary_size) {
    return corrupt("token_kinds and vocabulary_size differ", error);
  }
  if (view->token_offsets.size() != size_t{vocabulary_size} + 1) {
    return corrupt("token_offsets and vocabulary_size differ", error);
  }
  if (view->token_merges.size() != vocabulary_size) {
    return corrupt("token_merges and vocabulary_size differ", error);
  }
  if (view->byte_tokens.size() != 256) return corrupt("byte_tokens are not 256", error);
  if (view->merges.size() >= kNoMerge) return corrupt("too many merges", error);
  if (view->model > TokenizerModel::kWordLevel) return corrupt("unknown model", error);
  if (view->prefix_space > PrefixSpace::kAlways) return corrupt("unknown prefix_space", error);
  if (view->word_space > WordSpace::kAfter) return corrupt("unknown word_space", error);
  if (!verify_split_steps(view->split_steps)) return corrupt("split_steps are damaged", error);
  SOTTO_TRY(verify_tokens(*view, error));
  SOTTO_TRY(verify_merges(*view, error));
  SOTTO_TRY(verify_merge_index(*view, error));
  SOTTO_TRY(verify_sorted(*view, view->sorted_tokens, "sorted_tokens", error));
  SOTTO_TRY(verify_added_tokens(*view, error));
  SOTTO_TRY(verify_normalizer(view->normalizer, error));
  SOTTO_TRY(verify_scores(*view, error));
  if (view->unknown_token != kNoToken && view->unknown_token >= vocabulary_size) {
    return corrupt("invalid unknown_token", error);
  }

  view->max_token_bytes = 0;
  for (size_t i = 0; i < vocabulary_size; ++i) {
    view->max_token_bytes = std::max(view->max_token_bytes, view->token_offsets[i + 1] - view->token_offsets[i]);
  }
  view->merges_ascend = merges_ascend(*view);
  if (view->merges_ascend) return Status::kOk;
  for (const uint32_t token : view->sorted_tokens) {
    if (view->bytes_of(token).size() <= kMaxUnorderedTokenBytes) continue;
    return fail(error, Status::kModelUnsupported, "tokenizer: merges out of order make token ", token,
                ", which is too long");
  }
  return Status::kOk;
}

}  // namespace sotto
