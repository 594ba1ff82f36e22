// `sotto score` computes the probability that a model assigns to a text, or the rewards that a reward model gives it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct ScoreOptions {
  ModelOptions model;
  TextInput input;
  SessionParams session;
  uint32_t stride = 0;  // 0 means half the context
  bool starts = false;
  bool special = false;
  bool per_token = false;
  bool rewards = false;
  bool json = false;
};

struct Scores {
  TokenList tokens;
  std::vector<float> log_probabilities;  // NaN for tokens that were not scored
  uint64_t scored_count = 0;
  uint64_t scored_bytes = 0;
  double log_probability = 0.0;

  double perplexity() const { return std::exp(-log_probability / static_cast<double>(scored_count)); }
  double bits_per_byte() const { return -log_probability / std::log(2.0) / static_cast<double>(scored_bytes); }
};

// Scores a text that may be longer than the context, in windows that begin `stride` tokens apart. Each token is scored
// once. After the first window, it has at least context - stride tokens before it.
void score_windows(const ScoreOptions& options, Session& session, Scores& scores) {
  const size_t count = scores.tokens.size();
  const size_t context = session.info().context_tokens;
  const size_t stride = options.stride != 0 ? options.stride : context / 2;
  if (stride == 0) throw Failure(options.input.name() + ": a context of 1 token cannot score any token");
  Progress progress("score", count);
  size_t begin = 0;
  size_t done = 0;  // number of tokens with scores
  while (done < count) {
    const size_t end = std::min(count, begin + context);
    std::vector<float> values(end - begin);
    // The text is scored in batches, so that progress can be shown.
    std::vector<float> batch;
    for (size_t from = begin; from < end;) {
      const size_t size = std::min<size_t>(end - from, session.info().batch_tokens);
      call("text", [&] { session.score({scores.tokens.data() + from, size}, &batch); });
      std::copy(batch.begin(), batch.end(), values.begin() + static_cast<ptrdiff_t>(from - begin));
      from += size;
      progress.show(std::max(from, done));
    }
    for (; done < end; ++done) scores.log_probabilities[done] = values[done - begin];
    begin += stride;
    if (done < count) session.reset();
  }
}

Scores score_text(const ScoreOptions& options, const LoadedModel& model, Session& session) {
  Scores scores;
  if (options.starts) {
    if (model.info().end_of_text_token < 0) {
      throw Failure(model.path() + ": has no end-of-text token for --start");
    }
    scores.tokens.push_back(model.info().end_of_text_token);
  }
  const TokenList tokens = options.input.tokens(model, options.special);
  scores.tokens.insert(scores.tokens.end(), tokens.begin(), tokens.end());
  if (scores.tokens.size() < 2) {
    throw Failure(options.input.name() + ": nothing to score: the first token follows no other" +
                  (options.starts ? "" : " (--start puts the end of another text before it)"));
  }
  scores.log_probabilities.resize(scores.tokens.size());
  score_windows(options, session, scores);
  for (size_t i = 1; i < scores.tokens.size(); ++i) {
    scores.log_probability += static_cast<double>(scores.log_probabilities[i]);
    scores.scored_bytes += model.text_of({scores.tokens[i]}).size();
    ++scores.scored_count;
  }
  return scores;
}

void print_scores(const ScoreOptions& options, const LoadedModel& model, const Scores& scores) {
  OutputWriter stream;
  if (options.per_token) {
    for (size_t i = 0; i < scores.tokens.size(); ++i) {
      stream.write(score_line(scores.tokens[i], scores.log_probabilities[i], model.text_of({scores.tokens[i]})) + '\n');
    }
  }
  char lines[256];
  std::snprintf(lines, sizeof lines,
                "tokens          %s scored\n"
                "ln p            %.6g\n"
                "perplexity      %.6g\n",
                with_thousands(scores.scored_count).c_str(), scores.log_probability, scores.perplexity());
  stream.write(lines);
  if (scores.scored_bytes == 0) return;  // there is no tokenizer
  std::snprintf(lines, sizeof lines, "bits per byte   %.6g\n", scores.bits_per_byte());
  stream.write(lines);
}

Json scores_json(const ScoreOptions& options, const LoadedModel& model, const Scores& scores) {
  Json values = Json::array();
  for (size_t i = 0; i < scores.tokens.size(); ++i) {
    values.push_back(i == 0 ? Json() : number_json(scores.log_probabilities[i]));
  }
  return {{"model", to_utf8(model.path())},
          {"tokens", scores.tokens},
          {"log_probabilities", std::move(values)},
          {"scored_tokens", scores.scored_count},
          {"scored_bytes", scores.scored_bytes},
          {"log_probability", scores.log_probability},
          {"perplexity", scores.perplexity()},
          {"bits_per_byte", scores.scored_bytes > 0 ? Json(scores.bits_per_byte()) : Json()},
          {"start", options.starts}};
}

// The rewards are the last logits after the whole text (reward_count of sotto_model_info).
int run_rewards(const ScoreOptions& options, const LoadedModel& model) {
  const uint32_t count = model.info().reward_count;
  if (count == 0) {
    throw Failure(model.path() + ": is no reward model; sotto-convert --keep-score makes a file with rewards");
  }
  Session session = model.new_session(options.session);
  const TokenList tokens = options.input.tokens(model, options.special);
  if (tokens.empty()) throw Failure(options.input.name() + ": empty");
  if (tokens.size() > session.info().context_tokens) {
    throw Failure(options.input.name() + ": " + std::to_string(tokens.size()) + " tokens do not fit a context of " +
                  std::to_string(session.info().context_tokens));
  }
  call(options.input.name(), [&] { return session.prefill(tokens); });
  Json rewards = Json::array();
  const auto logits = session.logits();
  for (size_t i = logits.size() - count; i < logits.size(); ++i) rewards.push_back(number_json(logits[i]));
  const Json answer = options.json
                          ? Json{{"model", to_utf8(model.path())}, {"tokens", tokens}, {"rewards", std::move(rewards)}}
                          : std::move(rewards);
  OutputWriter().write(answer.dump() + '\n');
  return kExitOk;
}

int run_score(const ScoreOptions& options) {
  const LoadedModel model(options.model);
  if (options.rewards) return run_rewards(options, model);
  if (model.info().reward_count != 0) throw Failure(model.path() + ": is a reward model; --reward gives its rewards");
  Session session = model.new_session(options.session);
  // The first token of a window has no context, so the previous window must score it.
  const uint32_t context = session.info().context_tokens;
  if (options.stride >= context) {
    throw Failure("--stride: is " + std::to_string(options.stride) + "; it must be less than the context of " +
                  std::to_string(context) + " tokens");
  }
  const Scores scores = score_text(options, model, session);
  if (options.json) {
    OutputWriter().write(scores_json(options, model, scores).dump() + '\n');
  } else {
    print_scores(options, model, scores);
  }
  return kExitOk;
}

}  // namespace

void add_score(Command& app, Run& run) {
  auto options = std::make_shared<ScoreOptions>();
  Command& command = app.add_command("score", "Compute the probability of a text under a model");
  add_model_option(command, options->model);
  add_text_input(command, options->input);
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  command.add_flag("--start", options->starts,
                   "Also score the first token, as the start of a text after an end-of-text token");
  command.add_flag("--tokens", options->per_token, "First print one line per token: id, ln p, text")
      .excludes("--json", "JSON contains them");
  add_value(command, "--stride", options->stride,
            "For texts longer than the context: number of tokens from one window to the next", "N")
      .shown_default("half the context");
  command
      .add_flag("--reward", options->rewards,
                "The rewards of a reward model (sotto-convert --keep-score), as a list of numbers")
      .excludes("--start,--tokens,--stride");
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  command.add_flag("--json", options->json, "Print one JSON object");
  command.set_footer(
      "Examples:\n"
      "  sotto score -m demo.sotto \"Once upon a time there was\"\n"
      "  sotto score -m demo.sotto -f chapter.txt --json\n"
      "  sotto score -m demo.sotto --tokens --start < chapter.txt\n"
      "  sotto score -m reward.sotto --reward \"How are you? Fine, thanks.\"");
  command.on_parsed([&run, options, &command] {
    validate_text_input(command, options->input);
    run = [options] { return run_score(*options); };
  });
}

}  // namespace sotto::cli
