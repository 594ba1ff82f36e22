// `sotto grammar mask`: which tokens a grammar allows behind a beginning of a text.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/grammar/grammar_commands.h"
#include "platforms/cli/grammar/grammar_place.h"
#include "platforms/cli/grammar/grammar_tester.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/tools/tokenize_jsonl.h"

namespace sotto::cli {
namespace {

struct MaskOptions {
  GrammarInput input;
  std::string prefix;
  int64_t top = 20;
  bool json = false;
};

// What may follow.
struct Followers {
  std::vector<sotto_token> tokens;  // all of them
  std::string forced;
  bool may_end;
  bool must_end;
};

std::vector<sotto_token> tokens_of(const std::vector<uint64_t>& words, uint32_t token_count) {
  std::vector<sotto_token> tokens;
  for (uint32_t token = 0; token < token_count; ++token) {
    if ((words[token / 64] >> token % 64 & 1) != 0) {
      tokens.push_back(static_cast<sotto_token>(token));
    }
  }
  return tokens;
}

// Returns SOTTO_GRAMMAR_TOO_LARGE if the matcher must grow.
sotto_status find_followers(sotto_matcher* matcher, const std::string& prefix, uint32_t token_count,
                            Followers* followers) {
  sotto_status status = sotto_matcher_accept_text(matcher, 0, prefix.data(), prefix.size());
  if (status != SOTTO_OK) return status;
  std::vector<uint64_t> words((token_count + 63) / 64);
  status = sotto_matcher_mask(matcher, 0, words.data(), words.size());
  if (status != SOTTO_OK) return status;
  followers->tokens = tokens_of(words, token_count);
  char forced[4096];
  size_t size = 0;
  status = sotto_matcher_forced_text(matcher, 0, forced, sizeof forced, &size);
  if (status != SOTTO_OK) return status;
  followers->forced.assign(forced, size);
  sotto_matcher_info info = {};
  info.struct_size = sizeof info;
  status = sotto_matcher_get_info(matcher, 0, &info);
  followers->may_end = info.may_end != 0;
  followers->must_end = info.must_end != 0;
  return status;
}

[[noreturn]] void refuse_prefix(const Grammar& grammar, const std::string& prefix) {
  const Verdict verdict = GrammarTester(grammar).test(prefix);
  throw Failure(with_place("--prefix", prefix, verdict.offset, "no text of the grammar goes on so"));
}

Followers followers_of(const Grammar& grammar, const Vocabulary& vocabulary, const std::string& prefix) {
  Matcher matcher(grammar, &vocabulary, default_matcher_params());
  while (true) {
    Followers followers;
    const sotto_status status = find_followers(matcher.get(), prefix, vocabulary.token_count(), &followers);
    if (status == SOTTO_INVALID_ARGUMENT) refuse_prefix(grammar, prefix);
    if (status != SOTTO_GRAMMAR_TOO_LARGE) {
      check(status, "grammar");
      return followers;
    }
    matcher.grow();
  }
}

size_t shown_count(const MaskOptions& options, const Followers& followers) {
  const size_t count = followers.tokens.size();
  return options.top < 0 ? count : std::min(count, static_cast<size_t>(options.top));
}

void print_followers(const MaskOptions& options, const Followers& followers, const Vocabulary& vocabulary,
                     TextStream& stream) {
  stream.write(with_thousands(followers.tokens.size()) + " of " + with_thousands(vocabulary.token_count()) +
               " tokens\n");
  stream.write(followers.must_end  ? "the text must end\n"
               : followers.may_end ? "the text may end\n"
                                   : "the text may not end\n");
  if (!followers.forced.empty()) stream.write("forced: " + in_quotes(followers.forced) + '\n');
  const size_t shown = shown_count(options, followers);
  for (size_t i = 0; i < shown; ++i) {
    char id[16];
    std::snprintf(id, sizeof id, "%7d  ", followers.tokens[i]);
    stream.write(id + in_quotes(vocabulary.text(followers.tokens[i])) + '\n');
  }
  if (shown < followers.tokens.size()) stream.write("    ...\n");
}

Json followers_json(const MaskOptions& options, const Followers& followers, const Vocabulary& vocabulary) {
  Json tokens = Json::array();
  for (size_t i = 0; i < shown_count(options, followers); ++i) {
    Json token = {{"id", followers.tokens[i]}};
    token.update(text_json(vocabulary.text(followers.tokens[i])));
    tokens.push_back(std::move(token));
  }
  return {{"prefix", to_utf8(options.prefix)}, {"vocabulary_size", vocabulary.token_count()},
          {"count", followers.tokens.size()},  {"may_end", followers.may_end},
          {"must_end", followers.must_end},    {"forced", text_json(followers.forced)["text"]},
          {"tokens", std::move(tokens)}};
}

int run_mask(MaskOptions options) {
  const GrammarSource source = read_grammar(options.input.grammar);
  const std::unique_ptr<Model> model = open_model(options.input);
  if (model) read_trigger_tokens(options.input.grammar, *model);
  const auto vocabulary = model ? std::make_unique<Vocabulary>(*model) : std::make_unique<Vocabulary>();
  const Grammar grammar(source, options.input.grammar.settings, vocabulary.get());
  const Followers followers = followers_of(grammar, *vocabulary, options.prefix);
  TextStream stream;
  if (options.json) {
    stream.write(followers_json(options, followers, *vocabulary).dump() + '\n');
  } else {
    print_warnings(grammar);
    print_followers(options, followers, *vocabulary, stream);
  }
  return kExitOk;
}

}  // namespace

void add_grammar_mask(CLI::App& parent, Run& run) {
  auto options = std::make_shared<MaskOptions>();
  CLI::App* command = parent.add_subcommand("mask", "Show which tokens may follow, behind a beginning of a text");
  add_grammar_input(*command, options->input,
                    "A model for its vocabulary; without it each byte is a token, and 256 ends the "
                    "text");
  add_value(*command, "--prefix", options->prefix, "The text so far", "TEXT")->default_str("none");
  add_value(*command, "--top", options->top,
            "Show at most so many tokens, from the lowest id; "
            "-1: all",
            "N")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 32).description(""));
  command->add_flag("--json", options->json, "One JSON object");
  command->footer(
      "Examples:\n"
      "  sotto grammar mask list.gbnf --prefix '1. ' -m demo.sotto\n"
      "  sotto grammar mask --schema person.json --json-space compact --prefix '{'\n"
      "  sotto grammar mask --choices yes,no,perhaps --json --top -1");
  command->callback([&run, options, command] {
    settle_grammar_input(*command, options->input);
    run = [options] { return run_mask(*options); };
  });
}

}  // namespace sotto::cli
