// Returns the amount of work of a test. It is less if SOTTO_TEST_EMULATED is set, as the presets of emulated CPUs do:
// an emulator takes thirty times as long. The tested properties stay the same.
#pragma once

#include <cstdlib>

namespace sotto {

template <typename T>
T work(T all, T emulated) {
  return std::getenv("SOTTO_TEST_EMULATED") == nullptr ? all : emulated;
}

}  // namespace sotto
