#include "tests/bench/peer_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace sotto::bench {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    from = ends[0];
    to = ends[1];
    // A pipe inherited by another peer would stay open.
    fcntl(from, F_SETFD, FD_CLOEXEC);
    fcntl(to, F_SETFD, FD_CLOEXEC);
  }
  int from = -1;
  int to = -1;
};

}  // namespace

PeerProcess::PeerProcess(const std::string& directory, const std::string& kind, uint32_t thread_count) : name_(kind) {
  const std::string python = directory + "/venv/bin/python3";
  const std::string threads = std::to_string(thread_count);
  const char* words[] = {python.c_str(), SOTTO_PEERS "/serve.py", directory.c_str(),
                         kind.c_str(),   threads.c_str(),         nullptr};
  if (access(python.c_str(), X_OK) != 0) {
    throw std::runtime_error(directory + ": no peers there; sh tests/bench/peers/setup.sh sets them up");
  }
  std::signal(SIGPIPE, SIG_IGN);  // a peer that died is told from its missing answer
  const Pipe requests, answers;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, requests.from, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers.to, STDOUT_FILENO);
  const int failure = posix_spawn(&process_, words[0], &actions, nullptr, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(requests.from);
  close(answers.to);
  requests_ = fdopen(requests.to, "w");
  answers_ = fdopen(answers.from, "r");
  if (failure != 0) throw std::runtime_error(python + ": " + std::strerror(failure));
}

PeerProcess::~PeerProcess() {
  std::fclose(requests_);  // at its end the peer leaves
  std::fclose(answers_);
  while (process_ > 0 && waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

nlohmann::json PeerProcess::ask(const nlohmann::json& request) {
  const std::string line = request.dump() + '\n';
  std::fwrite(line.data(), 1, line.size(), requests_);
  std::fflush(requests_);
  char* answer = nullptr;
  size_t capacity = 0;
  const ssize_t size = getline(&answer, &capacity, answers_);
  const std::string text = size > 0 ? std::string(answer, static_cast<size_t>(size)) : "";
  std::free(answer);
  if (text.size() <= 1) throw std::runtime_error("the peer " + name_ + " gave no answer");
  return nlohmann::json::parse(text);
}

}  // namespace sotto::bench
