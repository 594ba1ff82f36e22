// Returns the amount of work of a test, which is less if SOTTO_TEST_EMULATED is set, as in the presets of emulated
// CPUs, because an emulator takes thirty times as long. The tested properties stay the same.
#pragma once

#include <cstdlib>

namespace sotto {

template <typename T>
T work(T all, T emulated) {
  return std::getenv("SOTTO_TEST_EMULATED") == nullptr ? all : emulated;
}

}  // namespace sotto
