// Where tokens led that were accepted lately, by configuration and token: what lies between is
// not stored, or has been forgotten.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/matcher/stack_store.h"

namespace sotto {

class TokenSteps {
 public:
  void lay_out(Arena& arena) { steps_ = arena.take<Step>(kCount); }
  void clear() { std::fill_n(steps_, kCount, Step{}); }

  // kNotComputed: not among them.
  uint32_t find(uint32_t set, uint32_t token) const {
    const Step& step = steps_[slot_of(set, token)];
    return step.from == set && step.token == token ? step.to : kNotComputed;
  }
  void add(uint32_t set, uint32_t token, uint32_t to) {
    steps_[slot_of(set, token)] = {token, static_cast<uint16_t>(set), static_cast<uint16_t>(to)};
  }

 private:
  struct Step {
    uint32_t token = 0;
    uint16_t from = kNotComputed;
    uint16_t to = kNotComputed;
  };
  static constexpr uint32_t kCountBits = 7;
  static constexpr uint32_t kCount = 1u << kCountBits;
  static uint32_t slot_of(uint32_t set, uint32_t token) {
    return (token * 0x9E3779B1u + set * 0x85EBCA77u) >> (32 - kCountBits);
  }

  Step* steps_ = nullptr;
};

}  // namespace sotto
