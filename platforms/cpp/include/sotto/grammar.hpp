// Part of sotto.hpp: vocabularies, grammars and the matchers that follow texts through them.
#ifndef SOTTO_GRAMMAR_HPP
#define SOTTO_GRAMMAR_HPP

#include <algorithm>
#include <cstring>
#include <vector>

#include "model.hpp"
#include "params.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

namespace detail {

// The state of a handle: a library object in one block of memory, and the objects that it uses and keeps alive.
template <class Handle>
struct ObjectState {
  Memory memory;
  Handle* handle = nullptr;
  std::vector<std::shared_ptr<const void>> uses;
};

}  // namespace detail

// Tokens that do not come from a model. Vocabulary::create copies them.
struct VocabularyTokens {
  std::vector<std::string> texts;
  std::vector<uint8_t> special;  // 0 or 1 per token; if empty, no token is special
  std::vector<Token> end_tokens;
};

// The tokens of a model or of the caller, prepared for computing masks.
class Vocabulary {
 public:
  static Result<Vocabulary> create(const Model& model) {
    auto state = std::make_shared<State>();
    state->uses.push_back(model.state());
    sotto_vocabulary_params params;
    sotto_vocabulary_params_init(&params, sizeof params);
    params.model = model.c_model();
    return create(std::move(state), params);
  }

  static Result<Vocabulary> create(const VocabularyTokens& tokens) {
    if (!tokens.special.empty() && tokens.special.size() != tokens.texts.size()) {
      SOTTO_HPP_FAIL_(Error(SOTTO_INVALID_ARGUMENT, "special must have as many elements as texts"));
    }
    auto state = std::make_shared<State>();
    state->offsets.push_back(0);
    for (const std::string& text : tokens.texts) {
      state->bytes += text;
      state->offsets.push_back(static_cast<uint32_t>(state->bytes.size()));
    }
    state->special = tokens.special;
    state->end_tokens = tokens.end_tokens;
    sotto_vocabulary_params params;
    sotto_vocabulary_params_init(&params, sizeof params);
    params.token_count = static_cast<uint32_t>(tokens.texts.size());
    params.bytes = state->bytes.data();
    params.offsets = state->offsets.data();
    params.special = state->special.empty() ? nullptr : state->special.data();
    detail::Arrays().to_c(state->end_tokens, params.end_tokens, params.end_token_count);
    return create(std::move(state), params);
  }

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  size_t size() const { return state_->token_count; }
  const sotto_vocabulary* c_vocabulary() const { return state_->handle; }
  std::shared_ptr<const void> state() const { return state_; }

 private:
  struct State : detail::ObjectState<sotto_vocabulary> {
    std::string bytes;
    std::vector<uint32_t> offsets;
    std::vector<uint8_t> special;
    std::vector<Token> end_tokens;
    size_t token_count = 0;
  };

  explicit Vocabulary(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  static Result<Vocabulary> create(std::shared_ptr<State> state, const sotto_vocabulary_params& params) {
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_vocabulary_memory_size(&params, &size, report.out()));
    SOTTO_HPP_TRY_(detail::allocate(size, state->memory));
    SOTTO_HPP_TRY_(sotto_vocabulary_init(&params, state->memory.data(), size, &state->handle, report.out()));
    sotto_model_info info{};
    info.struct_size = sizeof info;
    if (params.model) sotto_model_get_info(params.model, &info);
    state->token_count = params.model ? info.vocabulary_size : params.token_count;
    return Vocabulary(std::move(state));
  }

  std::shared_ptr<const State> state_;
};

// Parameters of a grammar. The fields below replace the pointers of the C struct.
struct GrammarParams : detail::GrammarParamsBase {
  GrammarParams() = default;
  explicit GrammarParams(sotto_grammar_language which) : GrammarParams() { language = which; }

  std::string root;                        // empty means "root"
  const Vocabulary* vocabulary = nullptr;  // used only during compilation
  LogFunction log;                         // called only during compilation; must not throw
  size_t memory_limit = size_t{1} << 30;   // maximum number of bytes for compilation
};

// A compiled grammar. Any number of threads may share it.
class Grammar {
 public:
  // Compiles `source`. Its language is GBNF unless `params` selects another one.
  static Result<Grammar> compile(std::string_view source, const GrammarParams& params = {}) {
    sotto_grammar_params c_params = params;
    if (!params.root.empty()) c_params.root = {params.root.data(), params.root.size()};
    c_params.vocabulary = params.vocabulary ? params.vocabulary->c_vocabulary() : nullptr;
    detail::Arrays arrays;
    params.lists_to_c(c_params, arrays);
    if (params.log) {
      c_params.log = &detail::call_log;
      c_params.log_user_data = const_cast<LogFunction*>(&params.log);
    }
    const size_t limit = params.memory_limit;
    for (size_t size = std::min(sotto_grammar_typical_memory(source.size()), limit);;
         size = size < limit / 8 ? 8 * size : limit) {
      detail::Report report;
      Memory memory;
      SOTTO_HPP_TRY_(detail::allocate(size, memory));
      sotto_grammar* grammar = nullptr;
      size_t kept = 0;
      const sotto_status status = sotto_grammar_compile(source.data(), source.size(), &c_params, memory.data(), size,
                                                        &grammar, &kept, report.out());
      if (status == SOTTO_GRAMMAR_TOO_LARGE && report.out()->offset == Error::no_offset && size < limit) continue;
      SOTTO_HPP_TRY_(status);
      // Reloads the grammar from its image, because a compiled grammar occupies the whole working memory of the
      // compiler.
      Memory image;
      SOTTO_HPP_TRY_PLAIN_(save(grammar, image));
      return load(std::move(image), size);
    }
  }

  // Loads an image that save() returned. The image is verified, so it may come from an untrusted source.
  static Result<Grammar> load(Bytes image) {
    Memory memory;
    SOTTO_HPP_TRY_PLAIN_(detail::allocate(image.size(), memory));
    if (!image.empty()) std::memcpy(memory.data(), image.data(), image.size());
    return load(std::move(memory), image.size());
  }

  Grammar(Grammar&&) = default;
  Grammar& operator=(Grammar&&) = default;

  // Returns an image. Its bytes are the same on every platform.
  std::vector<uint8_t> save() const {
    const auto* image = static_cast<const uint8_t*>(state_->memory.data());
    return std::vector<uint8_t>(image, image + state_->memory.size());
  }

  // These return the size of the grammar, and the size of the memory that it was compiled in. For a loaded grammar,
  // both are equal.
  size_t size() const { return state_->memory.size(); }
  size_t compile_memory_size() const { return state_->compile_memory_size; }

  const sotto_grammar* c_grammar() const { return state_->handle; }
  std::shared_ptr<const void> state() const { return state_; }

 private:
  struct State : detail::ObjectState<const sotto_grammar> {
    size_t compile_memory_size = 0;
  };

  explicit Grammar(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  static sotto_status save(const sotto_grammar* grammar, Memory& image) {
    size_t size = 0;
    sotto_grammar_save(grammar, nullptr, 0, &size);
    const sotto_status status = detail::allocate(size, image);
    return status < 0 ? status : sotto_grammar_save(grammar, image.data(), size, &size);
  }

  static Result<Grammar> load(Memory image, size_t compile_memory_size) {
    auto state = std::make_shared<State>();
    state->memory = std::move(image);
    state->compile_memory_size = compile_memory_size;
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_grammar_load(state->memory.data(), state->memory.size(), &state->handle, report.out()));
    return Grammar(std::move(state));
  }

  std::shared_ptr<const State> state_;
};

using MatcherInfo = sotto_matcher_info;

// The result of Matcher::test.
struct MatchTest {
  bool begins;   // true if the grammar allows a text that begins like this
  bool matches;  // true if the text is complete
};

// Follows text through a grammar and computes which tokens may come next.
class Matcher {
 public:
  static Result<Matcher> create(const Grammar& grammar, const Vocabulary& vocabulary,
                                const MatcherParams& params = {}) {
    return create(grammar, &vocabulary, params);
  }
  // Creates a matcher that follows text but not tokens.
  static Result<Matcher> create(const Grammar& grammar, const MatcherParams& params = {}) {
    return create(grammar, nullptr, params);
  }
  // Creates a matcher. `vocabulary` may be null.
  static Result<Matcher> create(const Grammar& grammar, const Vocabulary* vocabulary, const MatcherParams& params) {
    auto state = std::make_shared<State>();
    state->uses.push_back(grammar.state());
    if (vocabulary) {
      state->uses.push_back(vocabulary->state());
      state->token_count = vocabulary->size();
    }
    const sotto_vocabulary* c_vocabulary = vocabulary ? vocabulary->c_vocabulary() : nullptr;
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_matcher_memory_size(grammar.c_grammar(), c_vocabulary, &params, &size, report.out()));
    SOTTO_HPP_TRY_(detail::allocate(size, state->memory));
    SOTTO_HPP_TRY_(sotto_matcher_init(grammar.c_grammar(), c_vocabulary, &params, state->memory.data(), size,
                                      &state->handle, report.out()));
    return Matcher(std::move(state));
  }

  // Returns the number of bytes that create() would allocate.
  static Result<size_t> required_memory(const Grammar& grammar, const Vocabulary* vocabulary,
                                        const MatcherParams& params) {
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_matcher_memory_size(grammar.c_grammar(), vocabulary ? vocabulary->c_vocabulary() : nullptr,
                                             &params, &size, report.out()));
    return size;
  }

  Matcher(Matcher&&) = default;
  Matcher& operator=(Matcher&&) = default;

  // Methods of sotto_matcher, written by capi/generate from capi/params.

  // Makes a sequence empty again.
  Result<void> reset(uint32_t sequence = 0) {
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_reset(state_->handle, sequence));
    SOTTO_HPP_DONE_;
  }

  // Appends a token to a sequence. The mask must allow the token.
  Result<void> accept(Token token, uint32_t sequence = 0) {
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_accept_token(state_->handle, sequence, token));
    SOTTO_HPP_DONE_;
  }

  // Appends text to a sequence. The text may begin and end inside a token.
  Result<void> accept(std::string_view text, uint32_t sequence = 0) {
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_accept_text(state_->handle, sequence, text.data(), text.size()));
    SOTTO_HPP_DONE_;
  }

  // Rolls back the newest tokens or texts of sequence 0.
  Result<void> rewind(uint64_t count) {
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_rewind(state_->handle, count));
    SOTTO_HPP_DONE_;
  }

  // Returns the state of a sequence.
  Result<MatcherInfo> info(uint32_t sequence = 0) const {
    MatcherInfo info{};
    info.struct_size = sizeof info;
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_get_info(state_->handle, sequence, &info));
    return info;
  }

  // Makes the sequence `target` a copy of `source`.
  Result<void> fork(uint32_t source, uint32_t target) {
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_fork(state_->handle, source, target));
    SOTTO_HPP_DONE_;
  }

  // End of the generated methods.

  // Returns the tokens that may come next: bit t % 64 of word t / 64 stands for token t.
  Result<std::vector<uint64_t>> mask(uint32_t sequence = 0) {
    std::vector<uint64_t> words((state_->token_count + 63) / 64);
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_mask(c_matcher(), sequence, words.data(), words.size()));
    return words;
  }
  // Returns the mask without copying it. The mask is valid until the next call with this matcher.
  Result<const uint64_t*> borrow_mask(uint32_t sequence = 0) {
    const uint64_t* words = nullptr;
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_borrow_mask(c_matcher(), sequence, &words));
    return words;
  }
  Result<MatchTest> test(std::string_view text, uint32_t sequence = 0) {
    uint32_t begins = 0, matches = 0;
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_test(c_matcher(), sequence, text.data(), text.size(), &begins, &matches));
    return MatchTest{begins != 0, matches != 0};
  }
  // Returns the text that must come next, at most `capacity` bytes of it.
  Result<std::string> forced_text(uint32_t sequence = 0, size_t capacity = 4096) {
    std::string text(capacity, '\0');
    size_t size = 0;
    SOTTO_HPP_TRY_PLAIN_(sotto_matcher_forced_text(c_matcher(), sequence, text.data(), text.size(), &size));
    text.resize(size);
    return text;
  }

  size_t memory_size() const { return state_->memory.size(); }

  sotto_matcher* c_matcher() { return state_->handle; }
  std::shared_ptr<const void> state() const { return state_; }

 private:
  struct State : detail::ObjectState<sotto_matcher> {
    size_t token_count = 0;
  };

  explicit Matcher(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_GRAMMAR_HPP
