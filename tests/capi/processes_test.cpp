// Tests sessions in child processes: limits of the operating system, and sessions after a fork.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "runtime/base/xxhash64.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 128, 64, 4, 128, 2};

// Runs a function in a child process and returns its result, or -1 if it does not end within 20 seconds.
template <typename Function>
int run_in_child(Function function) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(function());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

sotto_session_params threaded(uint32_t threads) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.thread_count = threads;
  return params;
}

// Returns the bytes of this process's address space.
size_t address_space() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Processes, ThreadsThatCannotBeStartedAreReported) {
  LoadedModel model(make_model_file(kShape, false));
  const sotto_session_params params = threaded(64);
  size_t size = 0;
  ASSERT_EQ(sotto_session_memory_size(model.get(), &params, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  const int result = run_in_child([&] {
    const rlim_t enough_for_some = address_space() + (size_t{100} << 20);
    const rlimit limit = {enough_for_some, enough_for_some};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    sotto_error error = {};
    error.struct_size = sizeof error;
    sotto_session* session = nullptr;
    if (sotto_session_init(model.get(), &params, memory.data(), size, &session, &error) != SOTTO_THREADS_UNAVAILABLE) {
      return 2;
    }
    if (std::string_view(error.message).find("thread_count is 64") == std::string_view::npos) return 3;
    // The same memory still serves a session with fewer threads.
    const sotto_session_params fewer = threaded(2);
    if (sotto_session_init(model.get(), &fewer, memory.data(), size, &session, nullptr) != SOTTO_OK) return 4;
    sotto_session_deinit(session);
    return 0;
  });
  EXPECT_EQ(result, 0);
}

TEST(Processes, AForkedSessionContinuesOnOneThread) {
  LoadedModel model(make_model_file(kShape, false));
  const auto prompt = random_tokens(20, 300, 3);
  const auto use_threads = [](sotto_session_params& params) { params.thread_count = 3; };
  OpenSession session(model.get(), use_threads);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), prompt.size()), SOTTO_OK);
  for (int i = 0; i < 20; ++i) {  // at different times of the threads
    const int result = run_in_child([&] {
      const auto tokens = session.generate(10);
      sotto_session_deinit(session.get());
      return tokens.size() == 10 ? tokens.back() % 251 : 252;
    });
    OpenSession again(model.get(), use_threads);
    ASSERT_EQ(sotto_session_prefill(again.get(), prompt.data(), prompt.size()), SOTTO_OK);
    ASSERT_EQ(result, again.generate(10).back() % 251);
  }
}

// Returns a number from 0 to 250 that depends on the logits of a prompt, or 251 if this build or CPU lacks the
// instruction set.
int try_instruction_set(const std::vector<uint8_t>& file, sotto_isa isa) {
  AlignedBytes bytes(file);
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = isa;
  size_t size = 0;
  const sotto_status status = sotto_model_memory_size(bytes.data(), bytes.size(), &params, &size, nullptr);
  if (status == SOTTO_CPU_UNSUPPORTED) return 251;
  LoadedModel model(file, isa);
  OpenSession session(model.get(), [](sotto_session_params& threads) { threads.thread_count = 3; });
  const auto prompt = random_tokens(20, 300, 3);
  EXPECT_EQ(sotto_session_prefill(session.get(), prompt.data(), prompt.size()), SOTTO_OK);
  const std::vector<float> logits = session.logits();
  return static_cast<int>(xxhash64(logits.data(), logits.size() * sizeof(float)) % 251);
}

// A sandbox or a root directory without /proc lets a process read no files. The statements run in new processes, which
// have not detected the CPU yet.
TEST(ProcessesDeathTest, FilesOfTheSystemAreNotNeeded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto file = make_model_file(kShape, false);
  const auto without_files = [&](sotto_isa isa) {
    const rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0 || open("/proc/cpuinfo", O_RDONLY) >= 0) _exit(252);
    _exit(try_instruction_set(file, isa));
  };
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    EXPECT_EXIT(without_files(isa), testing::ExitedWithCode(try_instruction_set(file, isa)), "^$")
        << sotto_isa_text(isa);
  }
}

}  // namespace
}  // namespace sotto
