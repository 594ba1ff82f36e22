// Prints percentiles of the times for compilation, masks and accepting, including first visits, and of the memory of
// matchers, over the grammars and schemas of the shared test data:
//   grammar_measure [DIVISOR]  uses the default limits; with a divisor, their counts divided by it
// Every run is made three times, each with a new matcher. The time of a step is the smallest of the three.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/grammar/matcher/matcher_limits.h"
#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 3;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

class Times {
 public:
  // Each run has the same times in the same order.
  void begin_run() { next_ = 0; }
  void record(double time) {
    if (next_ == values_.size()) {
      values_.push_back(time);
    } else {
      values_[next_] = std::min(values_[next_], time);
    }
    ++next_;
  }
  void add(const Times& other) { values_.insert(values_.end(), other.values_.begin(), other.values_.end()); }
  double at(double part) const {
    std::vector<double> sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    const auto index = static_cast<size_t>(part * static_cast<double>(sorted.size()));
    return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, index)];
  }
  void print(const char* what, const char* unit) const {
    std::printf("  %-8s %8zu  p50 %9.3f  p90 %9.3f  p99 %9.3f  p99.9 %9.3f  max %9.3f %s\n", what, values_.size(),
                at(0.5), at(0.9), at(0.99), at(0.999), at(1), unit);
  }

 private:
  std::vector<double> values_;
  size_t next_ = 0;
};

struct Result {
  Times compile;
  Times mask;
  Times accept;
  Times memory;
  size_t failures = 0;

  void print(const std::string& name) const {
    std::printf("%s%s\n", name.c_str(), failures > 0 ? "  LIMITS HIT" : "");
    compile.print("compile", "us");
    mask.print("mask", "us");
    accept.print("accept", "us");
    memory.print("memory", "KiB");
    std::fflush(stdout);
  }
  void add(const Result& other) {
    compile.add(other.compile);
    mask.add(other.mask);
    accept.add(other.accept);
    memory.add(other.memory);
    failures += other.failures;
  }
  bool misses_target() const { return failures > 0 || mask.at(0.99) > 40 || mask.at(1) > 600 || accept.at(0.99) > 1; }
};

using Tokens = std::vector<int32_t>;

// Splits the text into tokens, always the longest one.
Tokens tokenize(const Vocabulary& vocabulary, std::string_view text) {
  Tokens tokens;
  while (!text.empty()) {
    int32_t best = -1;
    for (uint32_t i = 0; i + 1 < vocabulary.nodes.size();) {
      const TrieNode node = vocabulary.nodes[i];
      if (node.depth() > text.size() || static_cast<uint8_t>(text[node.depth() - 1]) != node.byte()) {
        i = node.next();
        continue;
      }
      if (node.first_token() != vocabulary.nodes[++i].first_token()) {
        best = static_cast<int32_t>(vocabulary.order[node.first_token()]);
      }
      // The next node must be a child, because all later nodes differ.
      if (vocabulary.nodes[i].depth() <= node.depth()) break;
    }
    if (best < 0) break;
    tokens.push_back(best);
    text.remove_prefix(vocabulary.token_bytes(static_cast<uint32_t>(best)).size());
  }
  return tokens;
}

class Bench {
 public:
  Bench(const TestVocabulary& vocabulary, uint32_t divisor) : vocabulary_(vocabulary), divisor_(divisor) {}

  std::vector<Tokens> walks(const CompiledGrammar& grammar, int walk_count, int step_count) {
    MatcherParams large;
    large.node_count = large.state_set_count = MatcherParams::kMaxStateSetCount;
    large.frame_count = large.state_count = large.visit_count = 1u << 18;
    large.mask_bytes = 8u << 20;
    std::vector<Tokens> walks;
    uint64_t random = 1;
    OwnedMatcher matcher;
    if (matcher.init(grammar, &view(), large) != Status::kOk) return walks;
    for (int walk = 0; walk < walk_count; ++walk) {
      walks.emplace_back();
      matcher->reset(0);
      for (int step = 0; step < step_count; ++step) {
        TokenMask mask;
        if (matcher->mask(0, &mask) != Status::kOk) break;
        Tokens allowed;
        for (uint32_t token = 0; token < vocabulary_.size(); ++token) {
          if (mask.allows(token)) allowed.push_back(static_cast<int32_t>(token));
        }
        const int32_t token = allowed[next_random(&random) % allowed.size()];
        if (token == vocabulary_.end_token()) break;
        if (matcher->accept_token(0, token) != Status::kOk) break;
        walks.back().push_back(token);
      }
    }
    return walks;
  }

  void replay(const CompiledGrammar& grammar, const std::vector<Tokens>& texts, Result* result) {
    MatcherParams limits = resolve_limits({}, grammar, view().token_count);
    for (uint32_t* count :
         {&limits.node_count, &limits.frame_count, &limits.state_set_count, &limits.state_count, &limits.visit_count}) {
      *count = std::max(16u, *count / divisor_);
    }
    limits.mask_bytes = std::max(limits.mask_bytes / divisor_, 8192u);
    for (int run = 0; run < kRuns; ++run) {
      OwnedMatcher matcher;
      result->mask.begin_run();
      result->accept.begin_run();
      if (matcher.init(grammar, &view(), limits) != Status::kOk) {
        ++result->failures;
        continue;
      }
      if (run == 0) result->memory.record(static_cast<double>(matcher.memory_size()) / 1024);
      for (const Tokens& text : texts) {
        matcher->reset(0);
        for (const int32_t token : text) {
          if (!replay_step(*matcher, token, result)) break;
        }
      }
    }
  }

  const Vocabulary& view() const { return vocabulary_.view(); }

 private:
  bool replay_step(Matcher& matcher, int32_t token, Result* result) {
    TokenMask mask;
    auto begin = Clock::now();
    const Status masked = matcher.mask(0, &mask);
    result->mask.record(microseconds_since(begin));
    begin = Clock::now();
    const Status accepted = matcher.accept_token(0, token);
    result->accept.record(microseconds_since(begin));
    const bool fits = masked == Status::kOk && accepted == Status::kOk;
    // Texts from real use may contain what their schema forbids.
    const bool is_limit = masked == Status::kGrammarTooLarge || accepted == Status::kGrammarTooLarge;
    if (is_limit) ++result->failures;
    return fits && mask.allows(static_cast<size_t>(token));
  }

  const TestVocabulary& vocabulary_;
  uint32_t divisor_;
};

void compile_times(const std::string& text, Result* result) {
  static std::vector<uint8_t> memory(size_t{64} << 20);
  for (int run = 0; run < kRuns; ++run) {
    result->compile.begin_run();
    const CompiledGrammar* grammar = nullptr;
    const auto begin = Clock::now();
    const Status status = compile_gbnf(as_span(text), {}, {}, memory, &grammar, nullptr);
    const double time = microseconds_since(begin);
    if (status == Status::kOk) result->compile.record(time);
  }
}

void measure_grammars(const std::filesystem::path& folder, Bench& bench) {
  Result all;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string text = read_file(file.path());
    const TestGrammar grammar(text);
    if (!grammar.valid()) continue;
    Result result;
    compile_times(text, &result);
    bench.replay(grammar.view(), bench.walks(grammar.view(), 30, 60), &result);
    result.print(file.path().filename().string() + (result.misses_target() ? "  ABOVE" : ""));
    all.add(result);
  }
  all.print("GRAMMARS, random texts");
}

void measure_json(const std::filesystem::path& folder, Bench& bench) {
  const TestGrammar json(read_file(folder / "gbnf/ggerganov__json.gbnf"));
  std::vector<Tokens> texts;
  for (const char* part : {"json-test-suite", "jsonschemabench"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder / part)) {
      if (!file.is_regular_file()) continue;
      texts.push_back(tokenize(bench.view(), read_file(file.path())));
    }
  }
  Result result;
  bench.replay(json.view(), texts, &result);
  result.print("JSON, real texts");
}

void measure_schemas(const std::filesystem::path& folder, Bench& bench) {
  Result all;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    const Json json = Json::parse(read_file(file.path()), nullptr, false);
    if (json.is_discarded() || !json.contains("schema")) continue;
    const std::string schema = json["schema"].dump();
    Result result;
    for (int run = 0; run < kRuns; ++run) {
      result.compile.begin_run();
      const auto begin = Clock::now();
      const BuiltGrammar built = BuiltGrammar::schema(schema);
      const double time = microseconds_since(begin);
      if (built.valid()) result.compile.record(time);
    }
    BuiltGrammar grammar = BuiltGrammar::schema(schema);
    if (!grammar.valid()) continue;
    std::vector<Tokens> texts;
    for (const auto& test : json.value("tests", Json::array())) {
      if (!test.at("valid").get<bool>() || !grammar.accepts(test.at("data"))) continue;
      texts.push_back(tokenize(bench.view(), grammar.text()));
    }
    bench.replay(grammar.view(), texts, &result);
    if (result.misses_target()) result.print(file.path().filename().string() + "  ABOVE");
    all.add(result);
  }
  all.print("SCHEMAS, valid instances");
}

int measure(uint32_t divisor) {
  const std::filesystem::path grammars = shared_data() / "grammars";
  if (!std::filesystem::exists(grammars) || !std::filesystem::exists(shared_data() / kGpt2Encoder)) {
    std::puts("the shared test data is not there");
    return 77;
  }
  const auto vocabulary = gpt2_vocabulary();
  std::printf("vocabulary image %zu bytes\n", vocabulary->memory_size());
  Bench bench(*vocabulary, divisor);
  measure_grammars(grammars / "gbnf", bench);
  measure_json(grammars, bench);
  measure_schemas(grammars / "jsonschemabench", bench);
  return 0;
}

}  // namespace
}  // namespace sotto::test

int main(int argc, char** argv) {
  const auto divisor = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1u;
  return sotto::test::measure(std::max(divisor, 1u));
}
