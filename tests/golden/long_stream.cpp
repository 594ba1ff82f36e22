// Generates many tokens with a full KV ring and prints the time of each tenth. Fails if the process grows after the
// first tenth.
//
//   long_stream HF_DIR [TOKENS]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/emulated/work.h"
#include "tests/golden/quantized_model.h"

namespace {

using namespace sotto;

// Limit of the process's growth after the first tenth, which includes an emulator's translated code.
const long kMaxPages = work(16, 1024);

// Returns the number of resident pages of this process, or 0 if the system does not report it.
long resident_pages() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return resident;
}

void generate(Session& session, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Piece piece;
    const Status status = session.next(piece);
    if (status != Status::ok) throw Error(static_cast<sotto_status>(status));
  }
}

int run(const char* directory, size_t token_count) {
  const Model model = convert_model(directory);
  SessionParams params;
  params.overflow = SOTTO_OVERFLOW_RING;
  params.context_tokens = model.info().max_context_tokens / 2;
  Session session = Session::create(model, params);
  prefill(session, std::vector<sotto_token>{0});

  long first_pages = 0;
  std::printf("   tokens  us/token  resident pages\n");
  for (size_t tenth = 1; tenth <= 10; ++tenth) {
    const auto start = std::chrono::steady_clock::now();
    generate(session, token_count / 10);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    const long pages = resident_pages();
    if (tenth == 1) first_pages = pages;
    std::printf("%9zu  %8.2f  %ld\n", tenth * (token_count / 10), time.count() / static_cast<double>(token_count / 10),
                pages);
    if (pages > first_pages + kMaxPages) return 1;
  }
  std::printf("the ring was evaluated again %llu times\n",
              static_cast<unsigned long long>(session.info().reanchor_count));
  return session.info().token_count == token_count / 10 * 10 + 1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: long_stream HF_DIR [TOKENS]\n");
    return 2;
  }
  try {
    const size_t token_count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100000;
    return run(argv[1], work(token_count, token_count / 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "long_stream: %s\n", error.what());
    return 1;
  }
}
