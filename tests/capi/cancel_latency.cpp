// Measures the time from sotto_session_cancel to the return of the call that it cancels: generation with a full
// context, and prompts. Prints the distribution, and fails if a call returned anything but SOTTO_STOP_CANCELLED.
//
//   cancel_latency MODEL [COUNT [THREADS]]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <sotto.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace sotto;
using Clock = std::chrono::steady_clock;

// Returns the milliseconds from each of `count` cancellations to the end of `run`, in ascending order.
template <typename Run>
std::vector<double> latencies(Session& session, int count, Run run) {
  std::mt19937 random(1);
  const Canceller cancel = session.canceller();
  std::vector<double> milliseconds;
  for (int i = 0; i < count; ++i) {
    const auto pause = std::chrono::microseconds(random() % 50000);
    Clock::time_point cancelled;
    std::atomic<bool> running = false;
    std::thread canceller([&] {
      while (!running) std::this_thread::yield();
      std::this_thread::sleep_for(pause);
      cancelled = Clock::now();
      cancel();
    });
    running = true;
    const Status status = run();
    const auto ended = Clock::now();
    canceller.join();
    if (status != Status::cancelled) throw Error(static_cast<sotto_status>(status));
    milliseconds.push_back(std::chrono::duration<double, std::milli>(ended - cancelled).count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return milliseconds;
}

void print(const char* name, const std::vector<double>& sorted) {
  const auto at = [&](double share) {
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  std::printf("%-8s %5zu cancellations, ms: p50 %.3f, p90 %.3f, p99 %.3f, most %.3f\n", name, sorted.size(), at(0.5),
              at(0.9), at(0.99), sorted.back());
}

int run(const std::string& path, int count, uint32_t thread_count) {
  const Model model = Model::open(path);
  SessionParams params;
  params.overflow = SOTTO_OVERFLOW_RING;
  params.thread_count = thread_count;
  Session session = Session::create(model, params);
  std::vector<sotto_token> prompt(model.info().max_context_tokens);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<sotto_token>(i % model.info().vocabulary_size);
  print("prefill", latencies(session, count, [&] {
          Status status = Status::ok;
          while (status == Status::ok) status = session.prefill(prompt);
          return status;
        }));
  print("generate", latencies(session, count, [&] { return session.generate(SIZE_MAX, [](const Piece&) {}); }));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    return run(argv[1], argc > 2 ? std::atoi(argv[2]) : 1000, argc > 3 ? static_cast<uint32_t>(std::atoi(argv[3])) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
