// Returns how much work a test does. It is less if SOTTO_TEST_EMULATED is set, as the presets of emulated CPUs do,
// because an emulator takes thirty times as long. The properties that are tested stay the same.
#pragma once

#include <cstdlib>

namespace sotto {

template <typename T>
T work(T all, T emulated) {
  return std::getenv("SOTTO_TEST_EMULATED") == nullptr ? all : emulated;
}

}  // namespace sotto
