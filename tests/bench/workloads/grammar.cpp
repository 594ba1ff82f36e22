// Measures the grammar engine: first and repeated masks, accepting, compiling, and the memory of grammars and matchers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/grammar_sources.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr size_t kCompileSize = size_t{64} << 20;
constexpr uint32_t kWalkSteps = 60;
constexpr uint32_t kSearchSequences = 5;

constexpr int kRepetitions = 3;

// Collects nanoseconds per call. Repetitions make the same calls, and the minimum of each call counts, so that an
// interruption does not look like a slow call.
class CallTimes {
 public:
  void begin_repetition() { next_ = 0; }
  void record(double time) {
    if (next_ == values_.size()) values_.push_back(time);
    values_[next_] = std::min(values_[next_], time);
    ++next_;
  }
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
  size_t next_ = 0;
};

struct Times {
  CallTimes mask;
  CallTimes copy;
  CallTimes warm;
  CallTimes searching;
  CallTimes accept;
  CallTimes compile;

  void begin_repetition() {
    for (CallTimes* times : {&mask, &copy, &warm, &searching, &accept, &compile}) {
      times->begin_repetition();
    }
  }
};

// Returns the smallest value that is not exceeded by the fraction `part` of all values.
double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto rank = static_cast<ptrdiff_t>(std::ceil(part * static_cast<double>(values.size())));
  const auto nth = values.begin() + std::max<ptrdiff_t>(rank - 1, 0);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

template <typename F>
sotto_status timed(CallTimes* times, F&& call) {
  const uint64_t begin = now_ns();
  const sotto_status status = call();
  const auto time = static_cast<double>(now_ns() - begin);
  if (times != nullptr) times->record(time);
  return status;
}

// The tokens of the model, as a vocabulary and for splitting texts.
class Tokens {
 public:
  explicit Tokens(const LoadedModel& model) : count_(model.info().vocabulary_size) {
    sotto_vocabulary_params params;
    sotto_vocabulary_params_init(&params, sizeof params);
    params.model = model.get();
    sotto_error error = {};
    size_t size = 0;
    check(sotto_vocabulary_memory_size(&params, &size, &error), error, "vocabulary");
    memory_ = std::make_unique<Memory>(size, Pages::kSmall);
    check(sotto_vocabulary_init(&params, memory_->bytes(), size, &vocabulary_, &error), error, "vocabulary");
    for (uint32_t token = 0; token < count_; ++token) {
      const char* bytes = nullptr;
      size_t length = 0;
      check(sotto_token_bytes(model.get(), static_cast<sotto_token>(token), &bytes, &length), "token");
      ids_.emplace(std::string_view(bytes, length), static_cast<sotto_token>(token));
      longest_ = std::max(longest_, length);
    }
  }

  uint32_t count() const { return count_; }
  const sotto_vocabulary* get() const { return vocabulary_; }
  // Returns the longest allowed token that is a prefix of `text`, and its size, or -1 if there is none.
  sotto_token longest(std::string_view text, const uint64_t* mask, size_t* size) const {
    for (*size = std::min(text.size(), longest_); *size > 0; --*size) {
      const auto found = ids_.find(text.substr(0, *size));
      if (found == ids_.end()) continue;
      const auto token = static_cast<uint32_t>(found->second);
      if ((mask[token / 64] >> (token % 64) & 1) != 0) return found->second;
    }
    return -1;
  }

 private:
  uint32_t count_;
  size_t longest_ = 0;
  std::unique_ptr<Memory> memory_;
  sotto_vocabulary* vocabulary_ = nullptr;
  std::unordered_map<std::string_view, sotto_token> ids_;
};

// The ways to request masks.
enum class Masks { kInPlace, kCopied };

// Memory for all grammars and matchers in turn. No figure then includes the first use of a page.
class Workplace {
 public:
  Workplace() : compiling_(kCompileSize, Pages::kSmall) {}

  Memory& compiling() { return compiling_; }
  uint8_t* matching(size_t size) {
    if (matching_ == nullptr || matching_->size() < size) {
      matching_ = std::make_unique<Memory>(2 * size, Pages::kSmall);
      std::memset(matching_->bytes(), 0, matching_->size());
    }
    return matching_->bytes();
  }

 private:
  Memory compiling_;
  std::unique_ptr<Memory> matching_;
};

// Compiles one grammar and matches its texts with a new matcher.
class Run {
 public:
  Run(const Tokens& tokens, const GrammarSource& source, Masks masks, Workplace& workplace, Times* times)
      : tokens_(tokens), masks_(masks), times_(*times), copy_((tokens.count() + 63) / 64) {
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    params.language = source.language;
    params.vocabulary = tokens.get();
    params.json_space = SOTTO_JSON_FLEXIBLE;  // the samples are compact
    const sotto_status status = timed(&times_.compile, [&] {
      return sotto_grammar_compile(source.text.data(), source.text.size(), &params, workplace.compiling().bytes(),
                                   workplace.compiling().size(), &grammar_, &grammar_size_, nullptr);
    });
    if (status != SOTTO_OK) return;
    sotto_matcher_params limits;
    sotto_matcher_params_init(&limits, sizeof limits);
    sotto_error error = {};
    check(sotto_matcher_memory_size(grammar_, tokens.get(), &limits, &default_size_, &error), error, "matcher");
    limits.sequence_count = 2 * kSearchSequences + 1;
    check(sotto_matcher_memory_size(grammar_, tokens.get(), &limits, &matcher_size_, &error), error, "matcher");
    const sotto_status opened = sotto_matcher_init(grammar_, tokens.get(), &limits, workplace.matching(matcher_size_),
                                                   matcher_size_, &matcher_, &error);
    if (opened != SOTTO_OK) matcher_ = nullptr;
  }

  bool is_open() const { return matcher_ != nullptr; }
  size_t grammar_size() const { return grammar_size_; }
  size_t default_matcher_size() const { return default_size_; }

  // Appends a text token by token, as far as it fits the grammar.
  void follow(std::string_view text) {
    check(sotto_matcher_reset(matcher_, 0), "reset");
    while (read_mask(first_times()) && !text.empty()) {
      reread_mask();
      size_t size = 0;
      const sotto_token token = tokens_.longest(text, words_, &size);
      if (token < 0 || !accept(0, token)) return;
      text.remove_prefix(size);
    }
  }

  // Appends random allowed tokens.
  void wander(uint32_t seed) {
    std::mt19937 random(seed);
    check(sotto_matcher_reset(matcher_, 0), "reset");
    for (uint32_t i = 0; i < kWalkSteps && read_mask(first_times()); ++i) {
      reread_mask();
      if (!accept(0, any_allowed(random))) return;
    }
  }

  // Follows several sequences as a beam search does: computes the masks of all sequences in turn, and replaces
  // sequences by copies of others.
  void search(uint32_t seed) {
    std::mt19937 random(seed);
    for (uint32_t i = 0; i < kSearchSequences; ++i) {
      check(sotto_matcher_reset(matcher_, i), "reset");
    }
    for (uint32_t step = 0; step < kWalkSteps; ++step) {
      for (uint32_t i = 0; i < kSearchSequences; ++i) {
        if (!read_mask(masks_ == Masks::kInPlace ? &times_.searching : nullptr, i)) return;
        const auto spare = kSearchSequences + i;
        check(sotto_matcher_fork(matcher_, i, spare), "fork");
        if (!accept(spare, any_allowed(random))) return;
      }
      for (uint32_t i = 0; i < kSearchSequences; ++i) {
        const auto from = static_cast<uint32_t>(kSearchSequences + random() % kSearchSequences);
        check(sotto_matcher_fork(matcher_, from, i), "fork");
      }
    }
  }

 private:
  CallTimes* first_times() { return masks_ == Masks::kInPlace ? &times_.mask : &times_.copy; }
  void reread_mask() {
    if (masks_ == Masks::kInPlace) read_mask(&times_.warm);
  }
  bool read_mask(CallTimes* times, uint32_t sequence = 0) {
    const sotto_status status = timed(times, [&] {
      if (masks_ == Masks::kInPlace) return sotto_matcher_borrow_mask(matcher_, sequence, &words_);
      words_ = copy_.data();
      return sotto_matcher_mask(matcher_, sequence, copy_.data(), copy_.size());
    });
    return status == SOTTO_OK;
  }
  bool accept(uint32_t sequence, sotto_token token) {
    return timed(&times_.accept, [&] { return sotto_matcher_accept_token(matcher_, sequence, token); }) == SOTTO_OK;
  }
  sotto_token any_allowed(std::mt19937& random) {
    std::vector<sotto_token> allowed;
    for (uint32_t token = 0; token < tokens_.count(); ++token) {
      if ((words_[token / 64] >> (token % 64) & 1) != 0) {
        allowed.push_back(static_cast<sotto_token>(token));
      }
    }
    return allowed[random() % allowed.size()];
  }

  const Tokens& tokens_;
  Masks masks_;
  Times& times_;
  std::vector<uint64_t> copy_;
  const uint64_t* words_ = nullptr;
  sotto_grammar* grammar_ = nullptr;
  size_t grammar_size_ = 0;
  size_t default_size_ = 0;
  size_t matcher_size_ = 0;
  sotto_matcher* matcher_ = nullptr;
};

struct Column {
  const char* figure;
  const char* statistic;
  double part;
  CallTimes Times::*times;
};

constexpr Column kColumns[] = {
    {"mask", "p50", 0.5, &Times::mask},
    {"mask", "p99", 0.99, &Times::mask},
    {"mask", "p99.9", 0.999, &Times::mask},
    {"mask", "max", 1, &Times::mask},
    {"mask_copy", "p50", 0.5, &Times::copy},
    {"mask_copy", "p99", 0.99, &Times::copy},
    {"mask_warm", "p50", 0.5, &Times::warm},
    {"mask_warm", "p99", 0.99, &Times::warm},
    {"mask_search", "p50", 0.5, &Times::searching},
    {"mask_search", "p99", 0.99, &Times::searching},
    {"accept", "p50", 0.5, &Times::accept},
    {"accept", "p99", 0.99, &Times::accept},
    {"compile", "p50", 0.5, &Times::compile},
    {"compile", "p99", 0.99, &Times::compile},
};

std::string series_of(const GrammarSet& set, const std::string& figure, const std::string& statistic) {
  return set.name + '/' + figure + '/' + statistic;
}

struct Sizes {
  std::vector<double> grammar;
  std::vector<double> matcher;
};

void run_all(const Tokens& tokens, const GrammarSet& set, Masks masks, Workplace& workplace, Times* times,
             Sizes* sizes) {
  times->begin_repetition();
  *sizes = {};
  for (const GrammarSource& source : set.sources) {
    Run run(tokens, source, masks, workplace, times);
    if (!run.is_open()) continue;
    for (const std::string& text : source.samples) run.follow(text);
    run.wander(1);
    run.search(2);
    sizes->grammar.push_back(static_cast<double>(run.grammar_size()) / 1024);
    sizes->matcher.push_back(static_cast<double>(run.default_matcher_size()) / 1024);
  }
}

void measure(const Tokens& tokens, const GrammarSet& set, Workplace& workplace, Recorder& recorder) {
  Times times;
  Sizes sizes;
  for (int i = 0; i < kRepetitions; ++i) {
    for (const Masks masks : {Masks::kInPlace, Masks::kCopied}) {
      run_all(tokens, set, masks, workplace, &times, &sizes);
    }
  }
  for (const Column& column : kColumns) {
    recorder.record(series_of(set, column.figure, column.statistic),
                    percentile((times.*column.times).values(), column.part) / 1e3);
  }
  recorder.record(series_of(set, "grammar_memory", "p50"), percentile(sizes.grammar, 0.5));
  recorder.record(series_of(set, "grammar_memory", "p99"), percentile(sizes.grammar, 0.99));
  recorder.record(series_of(set, "matcher_memory", "p50"), percentile(sizes.matcher, 0.5));
  recorder.record(series_of(set, "matcher_memory", "p99"), percentile(sizes.matcher, 0.99));
}

void add_figure(const GrammarSet& set, const char* name, const char* statistic, const char* unit, Plan* plan) {
  FigureSpec figure{series_of(set, name, statistic), name};
  figure.parameters = {{"grammar", set.name}, {"statistic", statistic}};
  if (set.sources.size() > 1) figure.parameters["grammars"] = set.sources.size();
  figure.unit = unit;
  figure.higher_is_better = false;
  plan->figures.push_back(figure);
}

}  // namespace

void add_grammars(const LoadedModel& model, const std::string& directory, Plan* plan) {
  const auto tokens = std::make_shared<Tokens>(model);
  const auto workplace = std::make_shared<Workplace>();
  std::vector<GrammarSet> sets = made_grammars();
  if (!directory.empty()) {
    for (const GrammarSet& set : read_grammars(directory)) sets.push_back(set);
  }
  for (const GrammarSet& set : sets) {
    plan->probes.push_back({"grammars, " + set.name, [tokens, workplace, set](Recorder& recorder) {
                              measure(*tokens, set, *workplace, recorder);
                            }});
    for (const Column& column : kColumns) {
      const bool one = set.sources.size() == 1 && std::string_view(column.figure) == "compile";
      if (one && column.part > 0.5) continue;
      add_figure(set, column.figure, column.statistic, "us", plan);
    }
    add_figure(set, "grammar_memory", "p50", "KiB", plan);
    if (set.sources.size() > 1) add_figure(set, "grammar_memory", "p99", "KiB", plan);
    add_figure(set, "matcher_memory", "p50", "KiB", plan);
    if (set.sources.size() > 1) add_figure(set, "matcher_memory", "p99", "KiB", plan);
  }
}

}  // namespace sotto::bench
