// How much of its work a test does: less where SOTTO_TEST_EMULATED is set, as the presets of emulated CPUs do, since an
// emulator takes thirty times as long. What is tested stays the same.
#pragma once

#include <cstdlib>

namespace sotto {

template <typename T>
T work(T all, T emulated) {
  return std::getenv("SOTTO_TEST_EMULATED") == nullptr ? all : emulated;
}

}  // namespace sotto
