// Times of compiling, masks and accepting, first visits included, as percentiles:
//   grammar_measure            the grammars and JSON texts of the shared test data
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Times {
  std::vector<double> values;

  void print(const char* what) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double part) {
      return values.empty()
                 ? 0
                 : values[std::min(values.size() - 1,
                                   static_cast<size_t>(part * static_cast<double>(values.size())))];
    };
    std::printf("  %-8s %8zu  p50 %9.3f  p90 %9.3f  p99 %9.3f  p99.9 %9.3f  max %9.3f us\n", what,
                values.size(), at(0.5), at(0.9), at(0.99), at(0.999), at(1));
  }
  void add(const Times& other) {
    values.insert(values.end(), other.values.begin(), other.values.end());
  }
};

struct Result {
  Times compile;
  Times mask;
  Times warm;
  Times accept;

  void print(const std::string& name) {
    std::printf("%s\n", name.c_str());
    compile.print("compile");
    mask.print("mask");
    warm.print("warm");
    accept.print("accept");
  }
  void add(const Result& other) {
    compile.add(other.compile);
    mask.add(other.mask);
    warm.add(other.warm);
    accept.add(other.accept);
  }
};

bool step(TestMatcher& matcher, int32_t token, Result* result) {
  const auto begin = Clock::now();
  const Status status = matcher->accept_token(0, token);
  result->accept.values.push_back(microseconds_since(begin));
  return status == Status::kOk;
}

bool timed_mask(TestMatcher& matcher, TokenMask* mask, Result* result) {
  auto begin = Clock::now();
  const Status status = matcher->mask(0, mask);
  result->mask.values.push_back(microseconds_since(begin));
  if (status != Status::kOk) return false;
  begin = Clock::now();
  (void)matcher->mask(0, mask);
  result->warm.values.push_back(microseconds_since(begin));
  return true;
}

// The longest allowed token that the text goes on with, and so on to its end.
void follow(TestMatcher& matcher, const TestVocabulary& vocabulary, std::string_view text,
            Result* result) {
  matcher->reset(0);
  const Vocabulary& view = vocabulary.view();
  while (!text.empty()) {
    TokenMask mask;
    if (!timed_mask(matcher, &mask, result)) return;
    int32_t best = -1;
    uint32_t i = 0;
    for (const auto node_count = view.nodes.size() - 1; i < node_count;) {
      const TrieNode node = view.nodes[i];
      if (node.depth() > text.size() ||
          static_cast<uint8_t>(text[node.depth() - 1]) != node.byte()) {
        i = node.next();
        continue;
      }
      if (node.first_token() != view.nodes[i + 1].first_token() &&
          mask.allows(view.order[node.first_token()])) {
        best = static_cast<int32_t>(view.order[node.first_token()]);
      }
      ++i;
      // The next node is a child, or everything further on differs.
      if (view.nodes[i].depth() <= node.depth()) break;
    }
    if (best < 0 || !step(matcher, best, result)) return;
    text.remove_prefix(view.token_bytes(static_cast<uint32_t>(best)).size());
  }
}

void wander(TestMatcher& matcher, const TestVocabulary& vocabulary, uint64_t* random, int steps,
            Result* result) {
  matcher->reset(0);
  for (int i = 0; i < steps; ++i) {
    TokenMask mask;
    if (!timed_mask(matcher, &mask, result)) return;
    std::vector<int32_t> allowed;
    for (uint32_t token = 0; token < vocabulary.size(); ++token) {
      if (mask.allows(token)) allowed.push_back(static_cast<int32_t>(token));
    }
    const int32_t token = allowed[next_random(random) % allowed.size()];
    if (token == vocabulary.end_token() || !step(matcher, token, result)) return;
  }
}

Result compile_times(const std::string& text, int times) {
  Result result;
  for (int i = 0; i < times; ++i) {
    static std::vector<uint8_t> memory(size_t{64} << 20);
    const CompiledGrammar* grammar = nullptr;
    const auto begin = Clock::now();
    const Status status = compile_gbnf(as_span(text), {}, {}, memory, &grammar, nullptr);
    if (status == Status::kOk) result.compile.values.push_back(microseconds_since(begin));
  }
  return result;
}

int measure() {
  const auto grammars = shared_data("grammars");
  const auto vocabulary = gpt2_vocabulary();
  if (!grammars || !vocabulary) {
    std::puts("the shared test data is not there");
    return 77;
  }
  std::printf("vocabulary image %zu bytes\n", vocabulary->memory_size());
  Result all;
  for (const auto& file : std::filesystem::directory_iterator(*grammars / "gbnf")) {
    const std::string text = read_file(file.path());
    const TestGrammar grammar(text);
    if (!grammar.valid()) continue;
    Result result = compile_times(text, 3);
    uint64_t random = 1;
    for (int session = 0; session < 3; ++session) {
      TestMatcher matcher(grammar, vocabulary.get());
      for (int walk = 0; walk < 10; ++walk) wander(matcher, *vocabulary, &random, 60, &result);
    }
    result.print(file.path().filename().string());
    all.add(result);
  }
  all.print("all grammars from the wild, random tokens");

  const std::string json_text = read_file(*grammars / "gbnf/ggerganov__json.gbnf");
  const TestGrammar json(json_text);
  Result texts = compile_times(json_text, 200);
  MatcherLimits limits;
  TestMatcher matcher(json, vocabulary.get(), limits);
  for (const char* folder : {"json-test-suite", "jsonschemabench"}) {
    for (const auto& file : std::filesystem::directory_iterator(*grammars / folder)) {
      if (file.is_regular_file()) follow(matcher, *vocabulary, read_file(file.path()), &texts);
    }
  }
  texts.print("json.gbnf, real JSON texts");
  std::printf("  matcher %zu bytes; %u configurations, %u contexts, %u frames; grammar %zu bytes\n",
              Matcher::memory_size(json.view(), &vocabulary->view(), limits),
              matcher->engine().store().config_count(), matcher->engine().store().node_count(),
              matcher->engine().store().frame_count(), static_cast<size_t>(json.view().size()));
  return 0;
}

}  // namespace
}  // namespace sotto::test

int main() {
  return sotto::test::measure();
}
