// Other runtimes compared with Sotto: the same weights and the same work in the same rounds.
#include <algorithm>
#include <memory>
#include <utility>

#include "tests/bench/peer_process.h"
#include "tests/bench/workloads.h"

namespace sotto::bench {
namespace {

// As serve.py names them, and for people.
constexpr std::pair<const char*, const char*> kPeers[] = {
    {"q8_0", "llama.cpp Q8_0"}, {"q4_0", "llama.cpp Q4_0"}, {"ctranslate2", "CTranslate2 int8"}};

// The figure of `plan` whose series is `series`, with the peer's samples as its limit.
void add_figure_beside(const std::string& series, const std::string& peer_series, const std::string& peer, Plan* plan) {
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
    add_figure_beside("process_first_token/unchecked", first, name_, plan_);
    add_figure_beside("process_peak_memory/unchecked", peak, name_, plan_);
  }

 private:
  void add_speed(const std::string& series, const nlohmann::json& request) {
    const std::string own_series = name_ + '/' + series;
    plan_->probes.push_back({name_ + ", " + series, [process = process_, own_series, request](Recorder& recorder) {
                               recorder.record(own_series, process->ask(request).at("value").get<double>());
                             }});
    add_figure_beside(series, own_series, name_, plan_);
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
