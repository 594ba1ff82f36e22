// What the model has guessed to follow a token: n-grams of its guesses behind drafts that were
// not taken (Fu et al. 2024, "Lookahead Decoding": Jacobi iteration keeps them for when the
// text gets there). One n-gram a token, the newest; a fixed number of places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"

namespace sotto {

class DraftPool {
 public:
  static constexpr size_t kPlaceCount = 512;
  static constexpr size_t kMaxTokens = 6;

  // Over an empty arena it only measures. `used` false: no places.
  void place(bool used, Arena* arena) { places_ = arena->take<Place>(used ? kPlaceCount : 0); }

  void clear() { std::fill_n(places_, kPlaceCount, Place{-1, 0, {}}); }

  // `tokens`: a token and what follows it.
  void add(std::span<const int32_t> tokens) {
    if (tokens.size() < 2) return;
    Place& place = places_[index_of(tokens[0])];
    place.key = tokens[0];
    place.count = static_cast<uint32_t>(std::min(tokens.size() - 1, kMaxTokens));
    std::copy_n(tokens.data() + 1, place.count, place.tokens);
  }

  std::span<const int32_t> find(int32_t token) const {
    const Place& place = places_[index_of(token)];
    if (place.key != token) return {};
    return {place.tokens, place.count};
  }

 private:
  struct Place {
    int32_t key;
    uint32_t count;
    int32_t tokens[kMaxTokens];
  };
  static_assert(sizeof(Place) == 32);

  static size_t index_of(int32_t token) { return (static_cast<uint32_t>(token) * 0x9E3779B1u) >> (32 - 9); }

  Place* places_ = nullptr;
};

}  // namespace sotto
