// Measures speculative decoding: sessions with and without drafts, interleaved, over the same text. There are two
// groups of texts: four kinds of text that people generate, and the best and the worst case.
#include <algorithm>
#include <memory>
#include <string_view>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinPlainNs = 100'000'000;
constexpr uint32_t kDraftTokens = 7;
constexpr char kAgreed[] = "agreed";
constexpr uint32_t kMaxTokens = 96;
constexpr uint32_t kMaxFormTokens = 200;  // a form in JSON has fewer

// The beginning of a story, which the model continues.
constexpr std::string_view kStory =
    "\"Sir,\" said the old captain, \"the ship must leave the harbour before the tide turns, and "
    "no man who is not on board by six o'clock shall sail with us.\" The young man answered that "
    "he would be on board, and went down to the town to say good-bye to his mother.\n\n";

// A letter, and the same letter with a few other words.
constexpr std::string_view kLetter =
    "The letter which the lawyer read to them in the evening was short. It ran thus: \"I leave "
    "the house and the garden to my brother, the books to my niece, and the old clock in the "
    "hall to the doctor, who has always been a good friend to me.\" Write it again, to a sister.\n\n";
constexpr std::string_view kEditedLetter =
    "The letter which the lawyer read to them in the morning was short. It ran thus: \"I leave "
    "the house and the garden to my sister, the books to my niece, and the old clock in the "
    "kitchen to the doctor, who has always been a good friend to her.\"";

// The beginning of a program, and its continuation.
constexpr std::string_view kProgram =
    "struct Point { int x; int y; };\n\n"
    "int add(int a, int b) {\n  return a + b;\n}\n\n"
    "struct Point add_points(struct Point a, struct Point b) {\n  struct Point sum;\n"
    "  sum.x = add(a.x, b.x);\n  sum.y = add(a.y, b.y);\n  return sum;\n}\n\n"
    "int subtract(int a, int b) {\n";
constexpr std::string_view kRestOfProgram =
    "  return a - b;\n}\n\n"
    "struct Point subtract_points(struct Point a, struct Point b) {\n  struct Point difference;\n"
    "  difference.x = subtract(a.x, b.x);\n  difference.y = subtract(a.y, b.y);\n  return difference;\n}\n";

constexpr std::string_view kFormPrompt = "The captain, the doctor and the lawyer, as data: ";
constexpr std::string_view kSchema = R"({"type": "array", "minItems": 3, "maxItems": 3, "items": {
    "type": "object", "additionalProperties": false, "required": ["name", "profession", "is_on_board", "age"],
    "properties": {"name": {"type": "string", "minLength": 3, "maxLength": 12},
                   "profession": {"enum": ["captain", "doctor", "lawyer"]},
                   "is_on_board": {"type": "boolean"}, "age": {"type": "integer", "minimum": 18, "maximum": 99}}}})";

// A compiled grammar with the vocabulary of its model.
class Grammar {
 public:
  Grammar(const LoadedModel& model, std::string_view schema) : compiling_(size_t{4} << 20, Pages::kSmall) {
    sotto_vocabulary_params vocabulary;
    sotto_vocabulary_params_init(&vocabulary, sizeof vocabulary);
    vocabulary.model = model.get();
    sotto_error error = {};
    size_t size = 0;
    check(sotto_vocabulary_memory_size(&vocabulary, &size, &error), error, "vocabulary");
    vocabulary_memory_ = std::make_unique<Memory>(size, Pages::kSmall);
    check(sotto_vocabulary_init(&vocabulary, vocabulary_memory_->bytes(), size, &vocabulary_, &error), error,
          "vocabulary");
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    params.language = SOTTO_GRAMMAR_JSON_SCHEMA;
    check(sotto_grammar_compile(schema.data(), schema.size(), &params, compiling_.bytes(), compiling_.size(), &grammar_,
                                &size, &error),
          error, "grammar");
  }

  const sotto_grammar* get() const { return grammar_; }
  const sotto_vocabulary* vocabulary() const { return vocabulary_; }

 private:
  Memory compiling_;
  std::unique_ptr<Memory> vocabulary_memory_;
  sotto_vocabulary* vocabulary_ = nullptr;
  sotto_grammar* grammar_ = nullptr;
};

class Matcher {
 public:
  explicit Matcher(const Grammar& grammar) {
    sotto_matcher_params params;
    sotto_matcher_params_init(&params, sizeof params);
    sotto_error error = {};
    size_t size = 0;
    check(sotto_matcher_memory_size(grammar.get(), grammar.vocabulary(), &params, &size, &error), error, "matcher");
    memory_ = std::make_unique<Memory>(size, Pages::kSmall);
    check(sotto_matcher_init(grammar.get(), grammar.vocabulary(), &params, memory_->bytes(), size, &matcher_, &error),
          error, "matcher");
  }

  sotto_matcher* get() const { return matcher_; }

 private:
  std::unique_ptr<Memory> memory_;
  sotto_matcher* matcher_ = nullptr;
};

std::vector<sotto_token> tokens_of(const LoadedModel& model, std::string_view text) {
  std::vector<sotto_token> tokens(2 * text.size());
  size_t count = 0;
  sotto_error error = {};
  error.struct_size = sizeof error;
  check(sotto_tokenize(model.get(), text.data(), text.size(), 0, tokens.data(), tokens.size(), &count, &error), error,
        "speculation");
  tokens.resize(count);
  return tokens;
}

// A text to generate, and the kind of drafts for it.
struct Text {
  std::string name;
  std::vector<sotto_token> prompt;
  std::vector<sotto_token> answer;  // tokens that the sampler is forced to select; empty for a text of the model
  uint32_t token_count = 0;
  float temperature = 0;
  std::shared_ptr<const Grammar> grammar;  // of the text, which ends when it is complete; null for none
};

struct Case {
  std::string name;
  uint32_t sources;
  const LoadedModel* draft_model = nullptr;
};

// One text with one kind of drafts.
class Comparison {
 public:
  Comparison(const LoadedModel& model, const Text& text, const Case& used, uint32_t thread_count)
      : text_(text),
        plain_(model, options(text, thread_count, 0)),
        drafting_(model, options(text, thread_count, kDraftTokens)) {
    sotto_sampler_params sampler = greedy_sampler();
    sampler.forced_prefix = text_.answer.data();
    sampler.forced_prefix_count = text_.answer.size();
    sampler.temperature = text_.temperature;
    sampler.ignore_end = text_.grammar == nullptr ? 1 : 0;
    if (text_.temperature > 1) {
      sampler.top_k = 0;
      sampler.top_p = 1;
      sampler.min_p = 0;
    }
    sotto_speculation_params params;
    sotto_speculation_params_init(&params, sizeof params);
    params.sources = used.sources;
    if (used.draft_model != nullptr) {
      drafter_ = std::make_unique<Session>(*used.draft_model, options(text, thread_count, 0));
      params.draft_session = drafter_->get();
    }
    sotto_error error = {};
    error.struct_size = sizeof error;
    check(sotto_session_set_speculation(drafting_.get(), &params, &error), error, "speculation");
    for (Session* session : {&plain_, &drafting_}) {
      session->set_sampler(sampler);
      session->prefill(text_.prompt);
      if (text_.grammar == nullptr) continue;
      const Matcher& matcher = *matchers_.emplace_back(std::make_unique<Matcher>(*text_.grammar));
      check(sotto_session_set_matcher(session->get(), matcher.get(), &error), error, "grammar");
    }
    if (text_.grammar != nullptr) text_.token_count = count_tokens();
  }
  ~Comparison() { (void)sotto_session_set_speculation(drafting_.get(), nullptr, nullptr); }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  void measure(const std::string& series, Recorder& recorder) {
    sotto_session_reset_timings(drafting_.get());
    uint64_t plain = 0, drafting = 0;
    while (plain < kMinPlainNs) {
      plain += time_of(plain_);
      drafting += time_of(drafting_);
    }
    sotto_speculation_info info = {};
    info.struct_size = sizeof info;
    check(sotto_session_get_speculation_info(drafting_.get(), &info), "speculation");
    recorder.record(series, static_cast<double>(plain) / static_cast<double>(drafting));
    const auto proposed = static_cast<double>(std::max<uint64_t>(info.proposed_count, 1));
    recorder.record(series + "/accepted", 100 * static_cast<double>(info.accepted_count) / proposed);
  }

 private:
  static SessionOptions options(const Text& text, uint32_t thread_count, uint32_t draft_tokens) {
    SessionOptions options;
    const auto needed = static_cast<uint32_t>(text.prompt.size()) + text.token_count + 2;
    options.context_tokens = std::max(needed, uint32_t{16});
    options.thread_count = thread_count;
    options.draft_tokens = draft_tokens;
    return options;
  }
  // Returns the number of tokens until the text is complete, at most token_count.
  uint32_t count_tokens() {
    uint32_t count = 0;
    const sotto_piece* piece = nullptr;
    while (count < text_.token_count && sotto_session_next(plain_.get(), &piece) == SOTTO_OK) ++count;
    return count;
  }
  // Returns the nanoseconds for the text.
  uint64_t time_of(Session& session) {
    session.rewind(text_.prompt.size());
    const uint64_t begin = now_ns();
    for (uint32_t i = 0; i < text_.token_count; ++i) session.next();
    return now_ns() - begin;
  }

  Text text_;
  std::vector<std::unique_ptr<Matcher>> matchers_;  // of the sessions, which they outlive
  Session plain_;
  std::unique_ptr<Session> drafter_;
  Session drafting_;
};

void add_comparison(const LoadedModel& model, const Text& text, const Case& used, uint32_t thread_count, Plan* plan) {
  const auto comparison = std::make_shared<Comparison>(model, text, used, thread_count);
  const std::string series = "speculation/" + used.name + "/" + text.name;
  plan->probes.push_back({"speculation, " + used.name + ", " + text.name,
                          [comparison, series](Recorder& recorder) { comparison->measure(series, recorder); }});
  FigureSpec figure{series, "speculation"};
  figure.parameters = {{"drafts", used.name}, {"text", text.name}, {"threads", thread_count}};
  figure.unit = "x plain";
  plan->figures.push_back(figure);
  figure.series = series + "/accepted";
  figure.name = "accepted";
  figure.unit = "%";
  plan->figures.push_back(figure);
}

// Returns the texts that fit the context.
std::vector<Text> make_texts(const LoadedModel& model) {
  const uint32_t max_tokens = model.info().max_context_tokens;
  const uint32_t prompt = std::min(64u, max_tokens / 4);
  const uint32_t count = std::min(kMaxTokens, max_tokens / 2);
  const auto arbitrary = arbitrary_tokens(model.info(), prompt + count);
  const std::vector<sotto_token> beginning(arbitrary.begin(), arbitrary.begin() + prompt);
  std::vector<Text> texts;
  texts.push_back({kAgreed, beginning, {arbitrary.begin() + prompt, arbitrary.end()}, count, 0, nullptr});
  texts.push_back({"random", beginning, {}, count, 2.0f, nullptr});
  if (model.info().has_tokenizer == 0) return texts;
  const auto add = [&](const char* name, std::string_view before, std::vector<sotto_token> answer, Text text) {
    text.name = name;
    text.prompt = tokens_of(model, before);
    text.answer = std::move(answer);
    if (!text.answer.empty()) text.token_count = static_cast<uint32_t>(text.answer.size());
    if (text.prompt.size() + text.token_count + 2 <= max_tokens) texts.push_back(std::move(text));
  };
  add("prose", kStory, {}, {"", {}, {}, kMaxTokens, 0.7f, nullptr});
  add("code", kProgram, tokens_of(model, kRestOfProgram), {});
  add("json", kFormPrompt, {}, {"", {}, {}, kMaxFormTokens, 0, std::make_shared<Grammar>(model, kSchema)});
  add("edit", kLetter, tokens_of(model, kEditedLetter), {});
  return texts;
}

}  // namespace

void add_speculation(const LoadedModel& model, const LoadedModel* draft_model, uint32_t thread_count, Plan* plan) {
  std::vector<Case> cases = {{"lookup", SOTTO_DRAFT_LOOKUP}, {"lookahead", SOTTO_DRAFT_LOOKAHEAD}};
  if (model.info().layer_count > 1) cases.push_back({"early exit", SOTTO_DRAFT_EARLY_EXIT});
  if (draft_model != nullptr) cases.push_back({"session", SOTTO_DRAFT_SESSION, draft_model});
  for (const Text& text : make_texts(model)) {
    for (const Case& used : cases) {
      const bool uses_model = (used.sources & (SOTTO_DRAFT_EARLY_EXIT | SOTTO_DRAFT_SESSION)) != 0;
      if (text.name == kAgreed) {
        // Drafts of a model are sampled with the same forced tokens, so all of them are accepted.
        if (uses_model) add_comparison(model, text, used, thread_count, plan);
        continue;
      }
      Text own = text;
      if (uses_model) own.answer.clear();
      add_comparison(model, own, used, thread_count, plan);
    }
  }
}

}  // namespace sotto::bench
