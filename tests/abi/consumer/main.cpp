// A host program in C++, with errors of both kinds.
#include <cstdio>
#include <sotto.hpp>

int main() {
  try {
    static_cast<void>(sotto::Model::open("no such file"));
    return 1;
  } catch (const sotto::Error& error) {
    if (error.status() != SOTTO_INVALID_ARGUMENT) return 2;
  }
  const unsigned version = sotto_version();
  std::printf("sotto %u.%u.%u\n", version >> 16, version >> 8 & 255u, version & 255u);
}
