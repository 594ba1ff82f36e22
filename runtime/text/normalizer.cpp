#include "runtime/text/normalizer.h"

#include <algorithm>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

// Calls visit(bytes, is_changed) for the normalized form of each character.
template <typename Visit>
void for_each_character(const TokenizerView& tokenizer, std::span<const char> text, Visit visit) {
  const auto removed = tokenizer.removed_characters;
  const auto keys = tokenizer.replaced_characters;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = decode_utf8(text.data() + at, text.size() - at);
    const auto key = std::lower_bound(keys.begin(), keys.end(), character.code_point);
    const auto border = std::upper_bound(removed.begin(), removed.end(), character.code_point);
    if ((border - removed.begin()) % 2 == 1) {
      visit(text.first(0), true);
    } else if (key != keys.end() && *key == character.code_point) {
      visit(tokenizer.replacement_of(static_cast<size_t>(key - keys.begin())), true);
    } else {
      visit(text.subspan(at, character.size), false);
    }
    at += character.size;
  }
}

}  // namespace

NormalizedSize measure_normalized(const TokenizerView& tokenizer, std::span<const char> text) {
  NormalizedSize result = {text.size(), false};
  if (tokenizer.removed_characters.empty() && tokenizer.replaced_characters.empty()) return result;
  result.size = 0;
  for_each_character(tokenizer, text, [&](std::span<const char> bytes, bool is_changed) {
    result.size += bytes.size();
    result.is_changed |= is_changed;
  });
  return result;
}

void normalize(const TokenizerView& tokenizer, std::span<const char> text, char* output) {
  for_each_character(tokenizer, text, [&](std::span<const char> bytes, bool) {
    output = std::copy(bytes.begin(), bytes.end(), output);
  });
}

}  // namespace sotto
