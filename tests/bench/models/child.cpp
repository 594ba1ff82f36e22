#include "tests/bench/models/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__APPLE__)
#  include <mach-o/dyld.h>
#elif defined(__linux__)
#  include <sys/prctl.h>
#endif

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "tests/bench/machine/clock.h"

extern char** environ;

namespace sotto::bench {
namespace {

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  ssize_t size;
  while ((size = read(file, buffer, sizeof buffer)) != 0) {
    if (size > 0) {
      text.append(buffer, static_cast<size_t>(size));
    } else if (errno != EINTR) {
      break;
    }
  }
  return text;
}

}  // namespace

std::string program_path() {
#if defined(__APPLE__)
  std::array<char, 4096> path = {};
  uint32_t size = path.size();
  if (_NSGetExecutablePath(path.data(), &size) == 0) return path.data();
  throw std::runtime_error("this program does not find itself");
#else
  return std::filesystem::read_symlink("/proc/self/exe").string();
#endif
}

nlohmann::json run_child(const std::vector<std::string>& arguments) {
  const std::string path = program_path();
  std::vector<char*> words = {const_cast<char*>(path.c_str())};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t process = -1;
  const uint64_t started = now_ns();
  const int failure = posix_spawn(&process, path.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string printed = failure == 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  if (failure != 0) throw std::runtime_error(path + ": " + std::strerror(failure));
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error("a child process failed");
  }
  nlohmann::json result = nlohmann::json::parse(printed);
  result["started_ns"] = started;
  return result;
}

BusyProcess::BusyProcess() : process_(fork()) {
  if (process_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (process_ > 0) return;
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends the child also if the benchmark is killed
#endif
  for (std::atomic<unsigned> count = 0;; count.fetch_add(1, std::memory_order_relaxed)) {
  }
}

BusyProcess::~BusyProcess() {
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace sotto::bench
