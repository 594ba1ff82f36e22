// Measures speculative decoding: sessions with and without drafts, interleaved, over the same text.
#include <algorithm>
#include <memory>
#include <string_view>

#include "tests/bench/machine/clock.h"
#include "tests/bench/workloads/workloads.h"

namespace sotto::bench {
namespace {

constexpr uint64_t kMinPlainNs = 100'000'000;
constexpr uint32_t kDraftTokens = 7;
constexpr uint32_t kMaxTokens = 96;

// A text for prompt lookup: the prompt contains passages, and the answer summarizes and quotes them.
constexpr std::string_view kPassages =
    "\"Sir,\" said the old captain, \"the ship must leave the harbour before the tide turns, and "
    "no man who is not on board by six o'clock shall sail with us.\" The young man answered that "
    "he would be on board, and went down to the town to say good-bye to his mother.\n\n"
    "The letter which the lawyer read to them in the evening was short. It ran thus: \"I leave "
    "the house and the garden to my brother, the books to my niece, and the old clock in the "
    "hall to the doctor, who has always been a good friend to me.\"\n\n";
constexpr std::string_view kAnswer =
    "The captain warns him: \"the ship must leave the harbour before the tide turns, and no man "
    "who is not on board by six o'clock shall sail with us.\" He says good-bye to his mother. In "
    "the letter we read: \"I leave the house and the garden to my brother, the books to my niece, "
    "and the old clock in the hall to the doctor, who has always been a good friend to me.\"";

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
    if (text_.temperature > 0) {
      sampler.selection = SOTTO_SELECT_MULTINOMIAL;
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
    }
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
  // Returns the nanoseconds for the text.
  uint64_t time_of(Session& session) {
    session.rewind(text_.prompt.size());
    const uint64_t begin = now_ns();
    for (uint32_t i = 0; i < text_.token_count; ++i) session.next();
    return now_ns() - begin;
  }

  Text text_;
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

std::vector<Text> make_texts(const LoadedModel& model) {
  const uint32_t max_tokens = model.info().max_context_tokens;
  std::vector<Text> texts;
  const uint32_t prompt = std::min(64u, max_tokens / 4);
  const uint32_t count = std::min(kMaxTokens, max_tokens / 2);
  const auto arbitrary = arbitrary_tokens(model.info(), prompt + count);
  const std::vector<sotto_token> beginning(arbitrary.begin(), arbitrary.begin() + prompt);
  texts.push_back({"random", beginning, {}, count, 2.0f});
  texts.push_back({"greedy", beginning, {}, count, 0});
  texts.push_back({"agreed", beginning, {arbitrary.begin() + prompt, arbitrary.end()}, count, 0});
  if (model.info().has_tokenizer == 0) return texts;
  Text quotes = {"quotes", tokens_of(model, kPassages), tokens_of(model, kAnswer), 0, 0};
  quotes.token_count = static_cast<uint32_t>(quotes.answer.size());
  if (quotes.prompt.size() + quotes.token_count + 2 <= max_tokens) texts.push_back(quotes);
  return texts;
}

}  // namespace

void add_speculation(const LoadedModel& model, const LoadedModel* draft_model, uint32_t thread_count, Plan* plan) {
  const auto texts = make_texts(model);
  const auto add = [&](const Case& used, std::string_view name) {
    for (const Text& text : texts) {
      if (text.name == name) add_comparison(model, text, used, thread_count, plan);
    }
  };
  for (const char* text : {"quotes", "greedy", "random"}) {
    add({"lookup", SOTTO_DRAFT_LOOKUP}, text);
  }
  for (const char* text : {"greedy", "random"}) add({"lookahead", SOTTO_DRAFT_LOOKAHEAD}, text);
  if (model.info().layer_count > 1) {
    for (const char* text : {"agreed", "greedy", "random"}) {
      add({"early exit", SOTTO_DRAFT_EARLY_EXIT}, text);
    }
  }
  if (draft_model == nullptr) return;
  for (const char* text : {"agreed", "greedy", "random"}) {
    add({"session", SOTTO_DRAFT_SESSION, draft_model}, text);
  }
}

}  // namespace sotto::bench
