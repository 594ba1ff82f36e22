// Repeats the same work in many modes. Prints the time, the resident memory and a hash of all results of each tenth.
// Fails if the results of two tenths differ, or if the process grows after the first tenth. All tenths use the same
// sessions. One of them fills its KV ring again and again without a reset.
//
//   soak MODEL|HF_DIR [TOKENS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/xxhash64.h"
#include "tests/emulated/work.h"
#include "tests/golden/quantized_model.h"

namespace {

using namespace sotto;

// Limit of the process's growth after the first tenth, which includes an emulator's translated code.
const long kMaxPages = work(64, 1024);
constexpr uint32_t kTextTokens = 48;

// Returns the number of resident pages of this process, or 0 if the system does not report it.
long resident_pages() {
  std::ifstream statm("/proc/self/statm");
  long total = 0, resident = 0;
  statm >> total >> resident;
  return resident;
}

class Soak {
 public:
  explicit Soak(const Model& model)
      : vocabulary_size_(model.info().vocabulary_size),
        session_(Session::create(model, text_params(model))),
        other_(Session::create(model, text_params(model))),
        endless_(Session::create(model, ring_params(model))) {
    add_sampler([](SamplerParams& sampler) { sampler.temperature = 0; });
    add_sampler([](SamplerParams&) {});  // the default chain
    add_sampler([](SamplerParams& sampler) {
      sampler.min_p = 0.05f;
      sampler.repetition_penalty = 1.1f;
      sampler.no_repeat_ngram = 3;
      sampler.dry_multiplier = 0.8f;
    });
    add_sampler([](SamplerParams& sampler) { sampler.selection = SOTTO_SELECT_MIROSTAT_V2; });
    add_sampler([](SamplerParams& sampler) { sampler.watermark.emplace().scheme = SOTTO_WATERMARK_GUMBEL; });
    modes_.push_back([this] { speculate(); });
    modes_.push_back([this] { save_and_rewind(); });
    modes_.push_back([this] { generate_in_batches(); });
    modes_.push_back([this] { search(SOTTO_SEARCH_BEAM); });
    modes_.push_back([this] { search(SOTTO_SEARCH_SAMPLE); });
    modes_.push_back([this] { score(); });
    if (model.info().has_tokenizer != 0) {
      const Grammar grammar = Grammar::compile("", GrammarParams(SOTTO_GRAMMAR_JSON));
      MatcherParams params;
      params.sequence_count = session_.info().matcher_sequence_count;
      matchers_.push_back(Matcher::create(grammar, Vocabulary::create(model), params));
      modes_.push_back([this] { constrain(); });
    }
    set_sampler(endless_, [](SamplerParams& sampler) { sampler.ignore_end = 1; });
    prefill(endless_, std::vector<Token>{0});
    // From now on, the ring's memory is resident.
    endless_.generate(endless_.info().context_tokens, [](const Piece&) {});
  }

  // Runs all modes once for each seed below `seed_count`.
  void run(size_t seed_count) {
    hash_ = 0;
    for (seed_ = 0; seed_ < seed_count; ++seed_) {
      for (const auto& mode : modes_) {
        for (Session* session : {&session_, &other_}) {
          session->reset();
          set_sampler(*session, [](SamplerParams&) {});
        }
        mode();
      }
      endless_.generate(kTextTokens, [](const Piece&) {});
    }
  }

  // Returns the number of tokens that the sessions have evaluated.
  uint64_t token_count() const {
    uint64_t count = 0;
    for (const Session* session : {&session_, &other_, &endless_}) {
      const SessionTimings timings = session->timings();
      count += timings.prefill_tokens + timings.decode_tokens + timings.reanchor_tokens;
    }
    return count;
  }

  uint64_t hash() const { return hash_; }
  SessionInfo endless_info() const { return endless_.info(); }

 private:
  static SessionParams text_params(const Model& model) {
    SessionParams params;
    params.context_tokens = model.info().max_context_tokens;
    params.sequence_count = 4;
    params.sequence_tokens = std::min(kTextTokens, params.context_tokens / 2);
    params.draft_tokens = 4;
    return params;
  }
  static SessionParams ring_params(const Model& model) {
    SessionParams params;
    params.overflow = SOTTO_OVERFLOW_RING;
    params.context_tokens = model.info().max_context_tokens / 2;
    return params;
  }

  template <class Change>
  void set_sampler(Session& session, const Change& change) {
    SamplerParams sampler;
    sampler.seed = seed_;
    change(sampler);
    session.set_sampler(sampler);
  }
  template <class Change>
  void add_sampler(const Change& change) {
    modes_.push_back([this, change] {
      set_sampler(session_, change);
      generate(session_);
    });
  }

  void add(uint64_t value) {
    const uint64_t parts[] = {hash_, value};
    hash_ = xxhash64(parts, sizeof parts);
  }

  std::vector<Token> prompt() const {
    std::vector<Token> tokens(1 + seed_ % 7);
    for (size_t i = 0; i < tokens.size(); ++i) {
      tokens[i] = static_cast<Token>((seed_ * 7919 + i * 104729) % vocabulary_size_);
    }
    return tokens;
  }

  void proceed(Session& session, size_t token_count) {
    const Status status = session.generate(token_count, [this](const Piece& piece) {
      add(static_cast<uint64_t>(piece.token()));
      add(xxhash64(piece.text().data(), piece.text().size()));
    });
    add(static_cast<uint64_t>(status));
  }
  void generate(Session& session) {
    prefill(session, prompt());
    proceed(session, kTextTokens);
  }

  void speculate() {
    session_.set_speculation(SpeculationParams());
    set_sampler(session_, [](SamplerParams& sampler) { sampler.temperature = 0; });
    generate(session_);
    session_.clear_speculation();
  }

  // The copy of a text that has been rolled back continues it in another session.
  void save_and_rewind() {
    generate(session_);
    session_.rewind(session_.info().token_count / 2 + 1);
    other_.restore(session_.save());
    proceed(other_, kTextTokens);
    session_.fork_into(other_);
    proceed(other_, kTextTokens);
  }

  void generate_in_batches() {
    prefill(session_, prompt());
    prefill(other_, std::vector<Token>{1, 2, 3});
    for (Session* session : {&session_, &other_}) session->set_limit(std::nullopt);
    for (size_t i = 0; i < kTextTokens; ++i) {
      for (const auto& step : Session::next_of({&session_, &other_})) {
        if (step.error) throw *step.error;
        add(step.status == Status::ok ? static_cast<uint64_t>(step.piece.token()) : 0);
      }
    }
  }

  void search(sotto_search_mode mode) {
    prefill(session_, prompt());
    SearchParams params;
    params.mode = mode;
    for (const Sequence& sequence : session_.search(params)) {
      add(xxhash64(sequence.tokens.data(), sequence.tokens.size() * sizeof(Token)));
    }
  }

  void score() {
    prefill(session_, prompt());
    std::vector<float> log_probabilities;
    session_.score(prompt(), &log_probabilities);
    for (const float value : log_probabilities) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      add(bits);
    }
  }

  void constrain() {
    matchers_[0].reset();
    session_.set_matcher(matchers_[0]);
    generate(session_);
    session_.clear_matcher();
  }

  uint32_t vocabulary_size_;
  Session session_, other_, endless_;
  std::vector<Matcher> matchers_;  // one, or none without a tokenizer
  std::vector<std::function<void()>> modes_;
  uint64_t seed_ = 0;
  uint64_t hash_ = 0;
};

int run(const char* path, uint64_t token_count) {
  Soak soak(std::filesystem::is_directory(path) ? convert_model(path) : Model::open(path));
  soak.run(1);
  const auto seed_count = static_cast<size_t>(token_count / 10 / soak.token_count() + 1);

  uint64_t first_hash = 0, past_tokens = soak.token_count();
  long first_pages = 0;
  std::printf("   tokens  us/token  resident pages  hash\n");
  for (int tenth = 1; tenth <= 10; ++tenth) {
    const auto start = std::chrono::steady_clock::now();
    soak.run(seed_count);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    const uint64_t tokens = soak.token_count();
    const long pages = resident_pages();
    std::printf("%9llu  %8.2f  %14ld  %016llx\n", static_cast<unsigned long long>(tokens),
                time.count() / static_cast<double>(tokens - past_tokens), pages,
                static_cast<unsigned long long>(soak.hash()));
    std::fflush(stdout);
    past_tokens = tokens;
    if (tenth == 1) {
      first_hash = soak.hash();
      first_pages = pages;
    }
    if (soak.hash() != first_hash || pages > first_pages + kMaxPages) return 1;
  }
  const SessionInfo endless = soak.endless_info();
  std::printf("the ring held %llu tokens and was evaluated again %llu times\n",
              static_cast<unsigned long long>(endless.token_count),
              static_cast<unsigned long long>(endless.reanchor_count));
  return endless.token_count == 1 + endless.context_tokens + (10 * seed_count + 1) * kTextTokens ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: soak MODEL|HF_DIR [TOKENS]\n");
    return 2;
  }
  try {
    const uint64_t token_count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
    return run(argv[1], work(token_count, token_count / 10));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return 1;
  }
}
