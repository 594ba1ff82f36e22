// `sotto grammar mask` shows which tokens a grammar allows after the beginning of a text.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/grammar/command.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {
namespace {

struct MaskOptions {
  GrammarInput input;
  std::string prefix;
  int64_t top = 20;
  bool json = false;
};

// Returns the vocabulary for runs without a model: one token per byte, and token 256, the end of the text.
Vocabulary byte_vocabulary() {
  VocabularyTokens tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.texts.emplace_back(1, static_cast<char>(byte));
  tokens.texts.emplace_back();  // the end token has no text
  tokens.end_tokens = {256};
  return Vocabulary::create(tokens);
}

// The tokens that may follow a prefix.
struct Followers {
  TokenList tokens;                // all allowed tokens
  std::vector<std::string> texts;  // texts of the tokens that are shown
  size_t vocabulary_size;
  std::string forced;
  bool may_end;
  bool must_end;
};

TokenList tokens_of(const std::vector<uint64_t>& words, size_t token_count) {
  TokenList tokens;
  for (size_t token = 0; token < token_count; ++token) {
    if ((words[token / 64] >> token % 64 & 1) != 0) tokens.push_back(static_cast<Token>(token));
  }
  return tokens;
}

Followers find_followers(Matcher& matcher, const std::string& prefix, size_t token_count) {
  matcher.accept(prefix);
  Followers followers = {};
  followers.vocabulary_size = token_count;
  followers.tokens = tokens_of(matcher.mask(), token_count);
  followers.forced = matcher.forced_text();
  const MatcherInfo info = matcher.info();
  followers.may_end = info.may_end != 0;
  followers.must_end = info.must_end != 0;
  return followers;
}

Followers followers_of(const Grammar& grammar, const Vocabulary& vocabulary, const std::string& prefix) {
  GrowingMatcher matcher(grammar, &vocabulary);
  while (true) {
    try {
      return find_followers(matcher.get(), prefix, vocabulary.size());
    } catch (const Error& error) {
      if (error.status() == SOTTO_INVALID_ARGUMENT) {
        const Verdict verdict = GrammarTester(grammar).test(prefix);
        throw Failure(with_place("--prefix", prefix, verdict.offset, "no text of the grammar continues like this"));
      }
      if (error.status() != SOTTO_GRAMMAR_TOO_LARGE) throw failure_of("grammar", error);
    }
    matcher.grow();
  }
}

size_t shown_count(const MaskOptions& options, const Followers& followers) {
  const size_t count = followers.tokens.size();
  return options.top < 0 ? count : std::min(count, static_cast<size_t>(options.top));
}

void print_followers(const Followers& followers, OutputWriter& stream) {
  stream.write(with_thousands(followers.tokens.size()) + " of " + with_thousands(followers.vocabulary_size) +
               " tokens\n");
  stream.write(followers.must_end  ? "the text must end\n"
               : followers.may_end ? "the text may end\n"
                                   : "the text may not end\n");
  if (!followers.forced.empty()) stream.write("forced: " + in_quotes(followers.forced) + '\n');
  for (size_t i = 0; i < followers.texts.size(); ++i) {
    char id[16];
    std::snprintf(id, sizeof id, "%7d  ", followers.tokens[i]);
    stream.write(id + in_quotes(followers.texts[i]) + '\n');
  }
  if (followers.texts.size() < followers.tokens.size()) stream.write("    ...\n");
}

Json followers_json(const std::string& prefix, const Followers& followers) {
  Json tokens = Json::array();
  for (size_t i = 0; i < followers.texts.size(); ++i) {
    Json token = {{"id", followers.tokens[i]}};
    token.update(text_json(followers.texts[i]));
    tokens.push_back(std::move(token));
  }
  return {{"prefix", to_utf8(prefix)},        {"vocabulary_size", followers.vocabulary_size},
          {"count", followers.tokens.size()}, {"may_end", followers.may_end},
          {"must_end", followers.must_end},   {"forced", text_json(followers.forced)["text"]},
          {"tokens", std::move(tokens)}};
}

int run_mask(MaskOptions options) {
  LoadedInput input(options.input);
  if (!input.vocabulary) input.vocabulary.emplace(byte_vocabulary());
  const LoadedGrammar compiled = compile_input(options.input, input);
  Followers followers = followers_of(compiled.grammar, *input.vocabulary, options.prefix);
  for (size_t i = 0; i < shown_count(options, followers); ++i) {
    const Token token = followers.tokens[i];
    const bool has_text = token < 256;
    followers.texts.push_back(input.model ? input.model->detokenize({token})
                              : has_text  ? std::string(1, static_cast<char>(token))
                                          : "");
  }
  OutputWriter stream;
  if (options.json) {
    stream.write(followers_json(options.prefix, followers).dump() + '\n');
  } else {
    print_warnings(compiled);
    print_followers(followers, stream);
  }
  return kExitOk;
}

}  // namespace

void declare_grammar_mask(Command& command, Run& run) {
  auto options = std::make_shared<MaskOptions>();
  add_grammar_input(command, options->input,
                    "A model that defines the tokens; by default each byte is a token, and 256 ends the text");
  add_value(command, "--prefix", options->prefix, "The text so far", "TEXT").shown_default("none");
  add_value(command, "--top", options->top, "Maximum number of tokens to show, from the lowest id; -1: all", "N");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.set_footer(
      "Examples:\n"
      "  sotto grammar mask list.gbnf --prefix '1. ' -m demo.sotto\n"
      "  sotto grammar mask --json-schema person.json --json-space compact --prefix '{'\n"
      "  sotto grammar mask --choices yes,no,perhaps --json --top -1");
  command.on_parsed([&run, options, &command] {
    validate_grammar_input(command, options->input);
    if (options->top < -1) reject("--top", "is " + std::to_string(options->top) + "; it must be at least -1");
    run = [options] { return run_mask(*options); };
  });
}

}  // namespace sotto::cli
