// `sotto score` computes the probability that a model assigns to a text, or the rewards that a reward model gives it.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/scoring.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct ScoreOptions {
  ModelOptions model;
  TextInput input;
  std::string given;  // the text before
  SessionParams session;
  uint32_t stride = 0;  // 0 means half the context
  bool starts = false;
  bool special = false;
  bool per_token = false;
  bool rewards = false;
  bool json = false;
  bool jsonl = false;
};

// A text to score.
struct ScoredText {
  TokenList tokens;  // with those before the text
  size_t first = 0;  // place of the first token of the text
  Scores scores;
};

ScoredText score_text(const ScoreOptions& options, const TokenList& text, const std::string& given,
                      const std::string& name, const LoadedModel& model, Session& session) {
  ScoredText scored;
  if (options.starts) {
    if (model.info().end_of_text_token < 0) {
      throw Failure(model.path() + ": has no end-of-text token for --start");
    }
    scored.tokens.push_back(model.info().end_of_text_token);
  }
  if (!given.empty()) {
    const TokenList before = model.tokenize(given, options.special, "--given");
    scored.tokens.insert(scored.tokens.end(), before.begin(), before.end());
  }
  scored.first = scored.tokens.size();
  scored.tokens.insert(scored.tokens.end(), text.begin(), text.end());
  if (text.size() + (scored.first > 0 ? 1 : 0) < 2) {
    throw Failure(name + ": nothing to score: the first token follows no other" +
                  (options.starts ? "" : " (--start puts the end of another text before it)"));
  }
  scored.scores = score_tokens(scored.tokens, scored.first, window_stride(options.stride, session), model, session);
  return scored;
}

void print_scores(const ScoreOptions& options, const LoadedModel& model, const ScoredText& scored) {
  OutputWriter stream;
  const Scores& scores = scored.scores;
  if (options.per_token) {
    for (size_t i = 0; i < scored.tokens.size(); ++i) {
      stream.write(score_line(scored.tokens[i], scores.log_probabilities[i], model.text_of({scored.tokens[i]})) + '\n');
    }
  }
  char lines[256];
  std::snprintf(lines, sizeof lines,
                "tokens          %s scored\n"
                "ln p            %.6g\n"
                "perplexity      %.6g\n",
                with_thousands(scores.count).c_str(), scores.log_probability, scores.perplexity());
  stream.write(lines);
  if (scores.byte_count == 0) return;  // there is no tokenizer
  std::snprintf(lines, sizeof lines, "bits per byte   %.6g\n", scores.bits_per_byte());
  stream.write(lines);
}

Json scores_json(const ScoreOptions& options, const LoadedModel& model, const ScoredText& scored) {
  const Scores& scores = scored.scores;
  Json values = Json::array();
  for (const float value : scores.log_probabilities) values.push_back(std::isnan(value) ? Json() : number_json(value));
  return {{"model", to_utf8(model.path())},
          {"tokens", scored.tokens},
          {"log_probabilities", std::move(values)},
          {"scored_tokens", scores.count},
          {"scored_bytes", scores.byte_count},
          {"log_probability", scores.log_probability},
          {"perplexity", scores.perplexity()},
          {"bits_per_byte", scores.byte_count > 0 ? Json(scores.bits_per_byte()) : Json()},
          {"start", options.starts}};
}

// Returns the list of rewards, or with `is_whole` an object with the rewards and the tokens.
Json rewards_json(const TokenList& tokens, const std::string& name, const LoadedModel& model, Session& session,
                  bool is_whole) {
  Json rewards = Json::array();
  for (const float reward : rewards_of(tokens, name, model, session)) rewards.push_back(number_json(reward));
  if (!is_whole) return rewards;
  return {{"model", to_utf8(model.path())}, {"tokens", tokens}, {"rewards", std::move(rewards)}};
}

Json answer_request(const ScoreOptions& options, const Json& request, const LoadedModel& model, Session& session) {
  const TokenList tokens = tokens_of_request(request, model, options.special, options.rewards ? "id" : "given");
  if (options.rewards) return rewards_json(tokens, "text", model, session, true);
  const Json* given = request.find("given");
  const std::string before = given != nullptr ? to_text(*given, "given") : options.given;
  return scores_json(options, model, score_text(options, tokens, before, "text", model, session));
}

void print_answer(const ScoreOptions& options, const LoadedModel& model, Session& session) {
  const TokenList tokens = options.input.tokens(model, options.special);
  const std::string name = options.input.name();
  if (options.rewards) {
    return OutputWriter().write(rewards_json(tokens, name, model, session, options.json).dump() + '\n');
  }
  const ScoredText scored = score_text(options, tokens, options.given, name, model, session);
  if (!options.json) return print_scores(options, model, scored);
  OutputWriter().write(scores_json(options, model, scored).dump() + '\n');
}

int run_score(const ScoreOptions& options) {
  const LoadedModel model(options.model);
  const bool has_rewards = model.info().reward_count != 0;
  if (options.rewards && !has_rewards) {
    throw Failure(model.path() + ": is no reward model; sotto-convert --keep-score makes a file with rewards");
  }
  if (!options.rewards && has_rewards) throw Failure(model.path() + ": is a reward model; --reward gives its rewards");
  Session session = model.new_session(options.session);
  if (!options.rewards) (void)window_stride(options.stride, session);  // rejects a wrong one before the text is read
  if (!options.jsonl) {
    print_answer(options, model, session);
    return kExitOk;
  }
  const bool all_valid =
      answer_requests([&](const Json& request) { return answer_request(options, request, model, session); });
  return all_valid ? kExitOk : kExitFailure;
}

}  // namespace

void declare_score(Command& command, Run& run) {
  auto options = std::make_shared<ScoreOptions>();
  add_model_option(command, options->model);
  add_text_input(command, options->input);
  command.add_flag("--parse-special", options->special, kSpecialHelp);
  command.add_flag("--start", options->starts,
                   "Also score the first token, as the start of a text after an end-of-text token");
  add_value(command, "--given", options->given, "Score the text as the continuation of this one, which is not scored",
            "TEXT");
  command.add_flag("--tokens", options->per_token, "First print one line per token: id, ln p, text")
      .excludes("--json,--jsonl", "JSON contains them");
  add_value(command, "--stride", options->stride,
            "For texts longer than the context: number of tokens from one window to the next; with the whole context, "
            "windows do not overlap, and the first token of each is not scored",
            "N")
      .shown_default("half the context");
  command
      .add_flag("--reward", options->rewards,
                "The rewards of a reward model (sotto-convert --keep-score), as a list of numbers")
      .excludes("--start,--given,--tokens,--stride");
  add_thread_and_context_options(command, options->session);
  add_weight_options(command, options->model);
  command.add_flag("--json", options->json, "Print one JSON object");
  add_text_lines(command, options->jsonl);
  command.set_footer(
      "Examples:\n"
      "  sotto score -m demo.sotto \"Once upon a time there was\"\n"
      "  sotto score -m demo.sotto -f chapter.txt --json\n"
      "  sotto score -m demo.sotto --tokens --start < chapter.txt\n"
      "  sotto score -m demo.sotto --given \"Once upon a\" \" time there was\"\n"
      "  sotto score -m demo.sotto --jsonl < texts.jsonl > scores.jsonl\n"
      "  sotto score -m reward.sotto --reward \"How are you? Fine, thanks.\"");
  command.on_parsed([&run, options, &command] {
    validate_text_input(command, options->input);
    run = [options] { return run_score(*options); };
  });
}

}  // namespace sotto::cli
