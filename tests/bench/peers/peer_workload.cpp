// Compares other runtimes with Sotto: the same weights and the same work in the same rounds.
#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/bench/workloads/workloads.h"

extern char** environ;

namespace sotto::bench {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    from = ends[0];
    to = ends[1];
    // Closes the pipe in other peers, where it would otherwise stay open.
    fcntl(from, F_SETFD, FD_CLOEXEC);
    fcntl(to, F_SETFD, FD_CLOEXEC);
  }
  int from = -1;
  int to = -1;
};

// A process of another runtime that carries out measurements on request.
class PeerProcess {
 public:
  // Starts the peer `kind`, a name that serve.py knows, from the directory that tests/bench/peers/setup.sh has set up.
  // Throws std::runtime_error if the process cannot be started.
  PeerProcess(const std::string& directory, const std::string& kind, uint32_t thread_count);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Returns the answer to a request. Throws std::runtime_error if the process ends without one.
  nlohmann::json ask(const nlohmann::json& request);

 private:
  std::string name_;
  pid_t process_ = -1;
  std::FILE* requests_ = nullptr;
  std::FILE* answers_ = nullptr;
};

PeerProcess::PeerProcess(const std::string& directory, const std::string& kind, uint32_t thread_count) : name_(kind) {
  const std::string python = directory + "/venv/bin/python3";
  const std::string threads = std::to_string(thread_count);
  const char* words[] = {python.c_str(), SOTTO_PEERS "/serve.py", directory.c_str(),
                         kind.c_str(),   threads.c_str(),         nullptr};
  if (access(python.c_str(), X_OK) != 0) {
    throw std::runtime_error(directory + ": no peers there; sh tests/bench/peers/setup.sh sets them up");
  }
  std::signal(SIGPIPE, SIG_IGN);  // writing to a peer that has died must not end this process
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
  std::fclose(requests_);  // the peer exits at the end of its input
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

// The names of the peers in serve.py and in the report.
constexpr std::pair<const char*, const char*> kPeers[] = {{"q8_0", "llama.cpp Q8_0"},
                                                          {"q4_0", "llama.cpp Q4_0"},
                                                          {"q4_k_m", "llama.cpp Q4_K_M"},
                                                          {"ctranslate2", "CTranslate2 int8"},
                                                          {"onnxruntime", "ONNX Runtime int8"}};

// Adds a copy of the figure whose series is `series`, with the peer's samples as its limit.
void add_compared_figure(const std::string& series, const std::string& peer_series, const std::string& peer,
                         Plan* plan) {
  const auto found = std::find_if(plan->figures.begin(), plan->figures.end(),
                                  [&](const FigureSpec& spec) { return spec.series == series; });
  FigureSpec figure = *found;
  figure.limit_name = peer;
  figure.limit_is_peer = true;
  figure.limit_series = peer_series;
  figure.limit = [](double sample) { return sample; };
  plan->figures.push_back(figure);
}

class PeerPlan {
 public:
  PeerPlan(const std::string& directory, const char* kind, std::string name, uint32_t thread_count, Plan* plan)
      : name_(std::move(name)),
        suffix_("/" + std::to_string(thread_count) + "t"),
        process_(std::make_shared<PeerProcess>(directory, kind, thread_count)),
        plan_(plan) {}

  void add_decode(uint32_t context) {
    add_speed("decode/" + std::to_string(context) + suffix_,
              {{"measure", "decode"}, {"context", context}, {"tokens", kDecodeTokens}});
  }

  void add_prefill(uint32_t length) {
    add_speed("prefill/" + std::to_string(length) + suffix_, {{"measure", "prefill"}, {"tokens", length}});
  }

  void add_fresh_process() {
    const std::string first = name_ + "/first_token", peak = name_ + "/peak";
    plan_->probes.push_back({name_ + ", fresh process", [process = process_, first, peak](Recorder& recorder) {
                               const auto result = process->ask({{"measure", "fresh"}, {"tokens", kFirstTokenPrompt}});
                               recorder.record(first, result.at("first_token_ms").get<double>());
                               recorder.record(peak, result.at("peak_mib").get<double>());
                             }});
    add_compared_figure("process_first_token/unchecked", first, name_, plan_);
    add_compared_figure("process_peak_memory/unchecked", peak, name_, plan_);
  }

 private:
  void add_speed(const std::string& series, const nlohmann::json& request) {
    const std::string own_series = name_ + '/' + series;
    plan_->probes.push_back({name_ + ", " + series, [process = process_, own_series, request](Recorder& recorder) {
                               recorder.record(own_series, process->ask(request).at("value").get<double>());
                             }});
    add_compared_figure(series, own_series, name_, plan_);
  }

  std::string name_;
  std::string suffix_;
  std::shared_ptr<PeerProcess> process_;
  Plan* plan_;
};

}  // namespace

void add_peers(const std::string& directory, const WorkloadOptions& options, Plan* plan) {
  for (const auto& [kind, name] : kPeers) {
    PeerPlan peer(directory, kind, name, options.thread_count, plan);
    for (const uint32_t context : options.contexts) peer.add_decode(context);
    for (const uint32_t length : options.prompt_lengths) peer.add_prefill(length);
    peer.add_fresh_process();
  }
}

}  // namespace sotto::bench
