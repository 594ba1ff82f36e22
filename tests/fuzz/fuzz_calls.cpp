// Fuzzes the whole C interface with any sequence of calls. The objects are two sessions, a matcher, a sampler, and
// callbacks that call functions again. The sessions can guide each other, draft for each other, and be copied to each
// other. Each input runs twice, in memory with other contents and with another number of threads. All statuses, tokens,
// texts, masks and probabilities must be equal, and no access may leave the memory.

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/xxhash64.h"
#include "tests/fuzz/fuzz_sampler_params.h"
#include "tests/memory/support.h"

namespace {

constexpr sotto::ModelShape kShape = {300, 40, 16, 2, 24, 3};
constexpr size_t kMaskWords = (kShape.vocabulary_size + 63) / 64;
struct Source {
  sotto_grammar_language language;
  std::string_view text;
};
constexpr Source kSources[] = {
    {SOTTO_GRAMMAR_GBNF, R"(root ::= ("a" | "th" root | [b-z ]{2,5})*)"},
    {SOTTO_GRAMMAR_GBNF, "root ::= \"{\" item (\",\" item)* \"}\"\nitem ::= [a-e]+ | !<[7]> | root"},
    {SOTTO_GRAMMAR_JSON_SCHEMA,
     R"({"properties": {"e": {"enum": ["a", 1]}, "n": {"type": "integer"}}, "required": ["e"]})"},
    {SOTTO_GRAMMAR_JSON, ""},
    {SOTTO_GRAMMAR_CHOICES, R"(["yes", "no", "maybe"])"},
    {SOTTO_GRAMMAR_REGEX, "(a|th|[^x])*e"},
    {SOTTO_GRAMMAR_STRUCTURAL_TAG, R"({"type": "structural_tag", "format": {"type": "tag", "begin": "", "end": "</e",
       "content": {"type": "triggered_tags", "triggers": ["<", "th"], "tags": [
         {"type": "tag", "begin": "<a", "content": {"type": "any_text"}, "end": "e"},
         {"type": "tag", "begin": "th", "content": {"type": "or", "elements": [{"type": "regex", "pattern": "[a-e]+"},
           {"type": "json_schema", "json_schema": {"enum": ["a", 1]}}]}, "end": " "}]}}})"},
};
constexpr std::string_view kTexts[] = {"", "e", "th", "{a", " \xC3\xA9", "\xC3", "the end", R"({"e": "a"})"};

sotto_model* shared_model() {
  static sotto::LoadedModel model(sotto::make_model_file(kShape, true));
  return model.get();
}

// A hash of everything that the calls returned.
class Digest {
 public:
  void add(const void* bytes, size_t size) {
    const uint64_t parts[] = {hash_, sotto::xxhash64(bytes, size)};
    hash_ = sotto::xxhash64(parts, sizeof parts);
  }
  template <typename Value>
  void add(Value value) {
    static_assert(std::is_arithmetic_v<Value>);
    add(&value, sizeof value);
  }
  void add_status(sotto_status status) {
    REQUIRE(status <= 0 ? std::string_view(sotto_status_text(status)) != sotto_status_text(-99) : status < 16);
    add(status);
  }

  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

struct Error : sotto_error {
  Error() : sotto_error() { struct_size = sizeof(sotto_error); }
};

struct Session {
  std::optional<sotto::GuardedBytes> memory;
  sotto_session* handle = nullptr;
};

class Calls {
 public:
  // `fill` is the contents of the memory before an init.
  Calls(const uint8_t* data, size_t size, uint8_t fill, uint32_t thread_count)
      : bytes_(data, size), fill_(fill), thread_count_(thread_count) {
    for (Session& session : sessions_) open(session);
    open_sampler();
  }
  ~Calls() {
    separate();
    for (Session& session : sessions_) sotto_session_deinit(session.handle);
    check_guards();
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  uint64_t run() {
    for (int i = 0; i < 60 && !bytes_.empty(); ++i) {
      call();
      check_guards();
    }
    return digest_.value();
  }

 private:
  // Each call reads its arguments from the input.
  void call() {
    static constexpr void (Calls::*kCalls[])() = {
        &Calls::prefill,        &Calls::prefill,       &Calls::next,
        &Calls::next,           &Calls::next,          &Calls::generate,
        &Calls::rewind,         &Calls::set_sampler,   &Calls::set_stops,
        &Calls::set_matcher,    &Calls::set_guide,     &Calls::set_speculation,
        &Calls::search,         &Calls::score,         &Calls::embed,
        &Calls::logits,         &Calls::hidden,        &Calls::copy,
        &Calls::save,           &Calls::restore,       &Calls::reopen,
        &Calls::open_matcher,   &Calls::mask,          &Calls::accept,
        &Calls::rewind_matcher, &Calls::test_text,     &Calls::sample,
        &Calls::tokenize,       &Calls::look_at_model, &Calls::detect,
        &Calls::look_at_state,  &Calls::heal_or_limit, &Calls::reset_or_cancel,
        &Calls::save_grammar,   &Calls::fork_matcher,  &Calls::prefill_embeddings,
        &Calls::open_chat,      &Calls::talk,          &Calls::save_chat,
        &Calls::next_of_both,
    };
    (this->*kCalls[bytes_.byte() % std::size(kCalls)])();
  }

  // A call from a callback. Calls that replace an object do nothing there, because the object is in use.
  void call_again() {
    if (depth_ >= 2 || bytes_.empty() || bytes_.below(4) != 0) return;
    ++depth_;
    call();
    --depth_;
  }

  sotto_session* session() { return sessions_[bytes_.below(std::size(sessions_))].handle; }
  sotto_token token() { return static_cast<sotto_token>(bytes_.byte() + (bytes_.below(8) == 0 ? 60 : 0)); }
  std::vector<sotto_token> tokens() {
    std::vector<sotto_token> tokens(bytes_.below(12));
    for (sotto_token& token : tokens) token = this->token();
    return tokens;
  }
  std::string_view text() { return kTexts[bytes_.below(std::size(kTexts))]; }

  // Checks that a failed function has given a reason.
  void add(sotto_status status, const Error& error) {
    digest_.add_status(status);
    REQUIRE(status >= 0 || error.message[0] != '\0');
    digest_.add(error.message, std::strlen(error.message));
  }
  void add(sotto_status status) { digest_.add_status(status); }

  std::optional<sotto::GuardedBytes>& reserve(std::optional<sotto::GuardedBytes>& memory, size_t size) {
    memory.emplace(size, fill_);
    return memory;
  }

  // Most sessions have everything and one shape, so that they can be copied to each other.
  void open(Session& session) {
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    params.overflow = static_cast<sotto_overflow>(bytes_.below(3));
    params.context_tokens = 24;
    params.batch_tokens = 6;
    params.thread_count = thread_count_;
    params.sequence_count = 4;
    params.sequence_tokens = 7;
    params.features = 7;
    params.draft_tokens = 4;
    if (bytes_.below(4) == 0) {
      params.context_tokens = 16 + bytes_.below(25);
      params.batch_tokens = 1 + bytes_.below(20);
      params.features = bytes_.below(8);
      params.draft_tokens = bytes_.below(16);
      params.list_bytes = 64;
    }
    size_t size = 0;
    REQUIRE(sotto_session_memory_size(shared_model(), &params, &size, nullptr) == SOTTO_OK);
    reserve(session.memory, size);
    REQUIRE(sotto_session_init(shared_model(), &params, session.memory->data(), size, &session.handle, nullptr) ==
            SOTTO_OK);
  }

  void open_sampler() {
    size_t size = 0;
    REQUIRE(sotto_sampler_memory_size(kShape.vocabulary_size, 600, &size, nullptr) == SOTTO_OK);
    reserve(sampler_memory_, size);
    REQUIRE(sotto_sampler_init(shared_model(), kShape.vocabulary_size, 600, sampler_memory_->data(), size, &sampler_,
                               nullptr) == SOTTO_OK);
  }

  // Ends the use of one object by another, which must not outlive it.
  void separate() {
    for (Session& session : sessions_) {
      REQUIRE(sotto_session_set_guide(session.handle, nullptr, nullptr, nullptr) == SOTTO_OK);
      REQUIRE(sotto_session_set_matcher(session.handle, nullptr, nullptr) == SOTTO_OK);
      const sotto_status status = sotto_session_set_speculation(session.handle, nullptr, nullptr);
      REQUIRE(status == SOTTO_OK || status == SOTTO_INVALID_STATE);
    }
  }

  void reopen() {
    if (depth_ > 0) return;
    separate();
    const size_t index = bytes_.below(std::size(sessions_));
    if (index == chat_session_) chat_ = nullptr;
    Session& session = sessions_[index];
    sotto_session_deinit(session.handle);
    REQUIRE(session.memory->guards_intact());
    open(session);
  }

  void open_matcher() {
    if (depth_ > 0) return;
    for (Session& session : sessions_) {
      REQUIRE(sotto_session_set_matcher(session.handle, nullptr, nullptr) == SOTTO_OK);
    }
    matcher_ = nullptr;
    if (!compile()) return;
    const sotto_vocabulary* vocabulary = bytes_.below(8) == 0 ? nullptr : open_vocabulary();
    sotto_matcher_params params;
    sotto_matcher_params_init(&params, sizeof params);
    params.sequence_count = 1 + bytes_.below(9);
    params.rollback_count = bytes_.below(2) == 0 ? params.rollback_count : bytes_.below(12);
    params.finish_within = bytes_.below(3) == 0 ? bytes_.below(30) : 0;
    params.mask_bytes = bytes_.below(2) == 0 ? params.mask_bytes : 1024u * bytes_.below(4);
    params.node_count = bytes_.below(2) == 0 ? 0 : 16 + bytes_.byte();
    params.step_budget = bytes_.below(4) == 0 ? 1 + 50 * uint64_t{bytes_.byte()} : params.step_budget;
    size_t size = 0;
    Error error;
    sotto_status status = sotto_matcher_memory_size(grammar_, vocabulary, &params, &size, &error);
    add(status, error);
    if (status != SOTTO_OK) return;
    reserve(matcher_memory_, size);
    add(sotto_matcher_init(grammar_, vocabulary, &params, matcher_memory_->data(), size, &matcher_, &error), error);
  }

  bool compile() {
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    const size_t chosen = bytes_.below(std::size(kSources));
    const std::string_view source = kSources[chosen].text;
    params.language = kSources[chosen].language;
    params.json_space = static_cast<sotto_json_space>(bytes_.below(3));
    params.schema_order = bytes_.below(2);
    params.max_string_length = bytes_.below(3);
    if (bytes_.below(4) == 0) params.max_schema_steps = 1 + bytes_.below(64);
    const sotto_text trigger = {"th", 2};
    params.triggers = &trigger;
    params.trigger_count = bytes_.below(4) == 0 ? 1 : 0;
    const size_t memory = sotto_grammar_typical_memory(source.size());
    reserve(grammar_memory_, memory);
    sotto_grammar* grammar = nullptr;
    size_t size = 0;
    Error error;
    const sotto_status status = sotto_grammar_compile(source.data(), source.size(), &params, grammar_memory_->data(),
                                                      memory, &grammar, &size, &error);
    add(status, error);
    grammar_ = grammar;
    return status == SOTTO_OK;
  }

  const sotto_vocabulary* open_vocabulary() {
    sotto_vocabulary_params params;
    sotto_vocabulary_params_init(&params, sizeof params);
    params.model = shared_model();
    size_t size = 0;
    REQUIRE(sotto_vocabulary_memory_size(&params, &size, nullptr) == SOTTO_OK);
    reserve(vocabulary_memory_, size);
    sotto_vocabulary* vocabulary = nullptr;
    REQUIRE(sotto_vocabulary_init(&params, vocabulary_memory_->data(), size, &vocabulary, nullptr) == SOTTO_OK);
    return vocabulary;
  }

  // The loaded grammar works like the saved one.
  void save_grammar() {
    if (depth_ > 0 || matcher_ == nullptr) return;
    size_t size = 0;
    (void)sotto_grammar_save(grammar_, nullptr, 0, &size);
    sotto::GuardedBytes image(size);
    add(sotto_grammar_save(grammar_, image.data(), size, &size));
    digest_.add(image.data(), size);
    const sotto_grammar* loaded = nullptr;
    Error error;
    add(sotto_grammar_load(image.data(), size, &loaded, &error), error);
    image.data()[bytes_.byte() % size] ^= bytes_.byte();
    add(sotto_grammar_load(image.data(), size, &loaded, &error));
    REQUIRE(image.guards_intact());
  }

  void prefill() {
    const auto prompt = tokens();
    add(sotto_session_prefill(session(), prompt.data(), prompt.size()));
  }

  void prefill_embeddings() {
    std::vector<float> rows(bytes_.below(4) * kShape.embedding_size, static_cast<float>(bytes_.below(5)) - 2);
    if (!rows.empty()) rows[bytes_.byte() % rows.size()] = bytes_.number();
    if (bytes_.below(2) == 0) sotto_session_reset(sessions_[0].handle);
    add(sotto_session_prefill_embeddings(session(), rows.data(), rows.size() / kShape.embedding_size));
  }

  void add(const sotto_piece& piece) {
    REQUIRE(piece.token >= -1 && piece.token < static_cast<sotto_token>(kShape.vocabulary_size));
    digest_.add(piece.token);
    digest_.add(piece.text, piece.text_size);
    digest_.add(piece.bytes, piece.byte_count);
    digest_.add(piece.log_probability);
    digest_.add(piece.sampled_log_probability);
    digest_.add(piece.entropy);
    digest_.add(piece.kept_count);
    digest_.add(piece.repetitiveness);
    for (uint32_t i = 0; i < piece.alternative_count; ++i) digest_.add(piece.alternatives[i].token);
  }

  void open_chat() {
    if (depth_ > 0) return;
    sotto_chat_params params;
    sotto_chat_params_init(&params, sizeof params);
    params.reply_tokens = 1 + bytes_.below(8);
    params.history_bytes = 1024;
    params.message_limit = 4 + bytes_.below(12);
    static constexpr std::string_view kFormats[] = {"<{|}{user}\n{|}a{assistant}e", "{user}{|}{assistant}{|}{tool}",
                                                    "{system}{|}e{user}{|}{assistant}\n", "{user}{|}{user}"};
    const std::string_view format = kFormats[bytes_.below(std::size(kFormats))];
    size_t size = 0;
    Error error;
    chat_session_ = bytes_.below(std::size(sessions_));
    chat_ = nullptr;
    const sotto_status status = sotto_chat_memory_size(sessions_[chat_session_].handle, &params, &size, &error);
    add(status, error);
    if (status != SOTTO_OK) return;
    reserve(chat_memory_, size);
    add(sotto_chat_init(sessions_[chat_session_].handle, &params, format.data(), format.size(), chat_memory_->data(),
                        size, &chat_, &error),
        error);
  }

  void talk() {
    if (chat_ == nullptr) return;
    Error error;
    const std::string_view text = this->text();
    const auto on_piece = [](void* calls, const sotto_piece* piece) -> int32_t {
      static_cast<Calls*>(calls)->add(*piece);
      static_cast<Calls*>(calls)->call_again();
      return 0;
    };
    switch (bytes_.below(8)) {
      case 0:
        return add(sotto_chat_undo(chat_, bytes_.below(3), &error), error);
      case 1:
        return sotto_chat_reset(chat_);
      case 2: {
        const sotto::FuzzedStops stops(bytes_, token());
        return add(sotto_chat_set_stops(chat_, &stops.get(), &error), error);
      }
      case 3:
      case 4:
        return add(sotto_chat_reply(chat_, bytes_.below(12), on_piece, this, &error), error);
      default:
        return add(
            sotto_chat_add(chat_, static_cast<sotto_chat_role>(bytes_.below(5)), text.data(), text.size(), &error),
            error);
    }
  }

  void save_chat() {
    digest_.add(sotto_chat_format_text(bytes_.below(5))[0]);
    if (chat_ == nullptr) return;
    sotto_chat_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(sotto_chat_get_info(chat_, &info) == SOTTO_OK);
    digest_.add(info.message_count);
    digest_.add(info.dropped_turn_count);
    sotto::GuardedBytes saved(2048);
    size_t size = 0;
    const sotto_status status = sotto_chat_save(chat_, saved.data(), 2048, &size);
    add(status);
    if (status != SOTTO_OK) return;
    digest_.add(saved.data(), size);
    saved.data()[bytes_.byte() % size] ^= bytes_.below(2);
    Error error;
    add(sotto_chat_restore(chat_, saved.data(), size, &error), error);
    REQUIRE(saved.guards_intact());
  }

  void next() {
    const sotto_piece* piece = nullptr;
    const sotto_status status = sotto_session_next(session(), &piece);
    add(status);
    if (status >= 0 && piece != nullptr) add(*piece);
  }

  void next_of_both() {
    sotto_session* const both[] = {session(), session()};
    const sotto_piece* pieces[2] = {};
    sotto_status statuses[2] = {};
    Error error;
    const sotto_status status = sotto_sessions_next(both, 1 + bytes_.below(2), pieces, statuses, &error);
    add(status, error);
    for (int i = 0; i < 2; ++i) {
      add(statuses[i]);
      REQUIRE(status != SOTTO_OK || statuses[i] >= 0 || pieces[i] == nullptr);
      if (pieces[i] != nullptr) add(*pieces[i]);
    }
  }

  void generate() {
    const auto on_piece = [](void* calls, const sotto_piece* piece) -> int32_t {
      static_cast<Calls*>(calls)->add(*piece);
      static_cast<Calls*>(calls)->call_again();
      return 0;
    };
    const auto prompt = tokens();
    add(sotto_session_generate(session(), prompt.data(), prompt.size(), bytes_.below(8), on_piece, this));
  }

  void rewind() {
    sotto_session* session = this->session();
    sotto_session_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(sotto_session_get_info(session, &info) == SOTTO_OK);
    const uint64_t back = bytes_.below(8);
    add(sotto_session_rewind(session, back == 7 ? bytes_.byte() : info.token_count - std::min(back, info.token_count)));
  }

  void heal_or_limit() {
    add(bytes_.below(2) == 0 ? sotto_session_heal(session()) : sotto_session_set_limit(session(), bytes_.below(6)));
  }

  void reset_or_cancel() {
    switch (bytes_.below(3)) {
      case 0:
        return sotto_session_reset(session());
      case 1:
        return sotto_session_cancel(session());
      default:
        return sotto_session_reset_timings(session());
    }
  }

  void set_sampler() {
    const sotto::FuzzedParams fuzzed(bytes_, kShape.vocabulary_size);
    sotto_sampler_params params = fuzzed.get();
    params.log_probabilities = bytes_.below(2);
    params.statistics = bytes_.below(2);
    if (bytes_.below(4) == 0) {
      params.logits_callback = [](void* calls, float* logits, size_t count) {
        logits[static_cast<Calls*>(calls)->bytes_.byte() % count] = static_cast<Calls*>(calls)->bytes_.number();
        static_cast<Calls*>(calls)->call_again();
      };
      params.logits_user_data = this;
    }
    if (bytes_.below(4) == 0) {
      params.logits_processor = [](void* calls, const sotto_token* tokens, size_t token_count, uint32_t sequence,
                                   float* logits, size_t count) {
        auto& self = *static_cast<Calls*>(calls);
        self.digest_.add(sequence);
        self.digest_.add(tokens, token_count);
        logits[self.bytes_.byte() % count] = self.bytes_.number();
        self.call_again();
      };
      params.processor_user_data = this;
    }
    Error error;
    add(sotto_session_set_sampler(session(), &params, &error), error);
  }

  void set_stops() {
    const sotto::FuzzedStops stops(bytes_, token());
    Error error;
    add(sotto_session_set_stops(session(), &stops.get(), &error), error);
  }

  void set_matcher() {
    Error error;
    add(sotto_session_set_matcher(session(), bytes_.below(4) == 0 ? nullptr : matcher_, &error), error);
  }

  void set_guide() {
    sotto_guide_params params;
    sotto_guide_params_init(&params, sizeof params);
    params.mode = static_cast<sotto_guide_mode>(bytes_.below(3));
    params.scale = bytes_.number();
    Error error;
    sotto_session* guided = session();
    add(sotto_session_set_guide(guided, bytes_.below(4) == 0 ? nullptr : session(), &params, &error), error);
  }

  void set_speculation() {
    sotto_speculation_params params;
    sotto_speculation_params_init(&params, sizeof params);
    params.sources = bytes_.below(32);
    params.draft_tokens = bytes_.below(6);
    params.exit_layer = bytes_.below(4);
    params.draft_threshold = bytes_.number();
    sotto_session* drafted = session();
    params.draft_session = bytes_.below(3) == 0 ? nullptr : session();
    params.draft = [](void* calls, const sotto_token* tokens, size_t count, const float*, size_t, sotto_token* drafts,
                      size_t capacity) -> size_t {
      for (size_t i = 0; i < capacity; ++i) drafts[i] = count == 0 ? 5 : tokens[count - 1] + static_cast<int>(i);
      static_cast<Calls*>(calls)->call_again();
      return capacity;
    };
    params.user_data = this;
    Error error;
    add(sotto_session_set_speculation(drafted, &params, &error), error);
  }

  void search() {
    sotto_search_params params;
    sotto_search_params_init(&params, sizeof params);
    params.mode = static_cast<sotto_search_mode>(bytes_.below(4));
    params.sequence_count = 1 + bytes_.below(4);
    params.max_tokens = 1 + bytes_.below(7);
    params.early_stopping = static_cast<sotto_early_stopping>(bytes_.below(3));
    params.rerank = static_cast<sotto_rerank>(params.mode == SOTTO_SEARCH_SAMPLE ? bytes_.below(5) : 0);
    params.contrastive_k = 2 + bytes_.below(3);
    if (bytes_.below(4) == 0) params.group_count = 1 + bytes_.below(4);
    params.similarity = [](void* calls, const sotto_token*, size_t a, const sotto_token*, size_t b) {
      static_cast<Calls*>(calls)->call_again();
      return a == b ? 1.0 : 0.0;
    };
    params.similarity_user_data = this;
    params.on_step = [](void* calls, uint32_t, sotto_token) -> int32_t {
      static_cast<Calls*>(calls)->call_again();
      return 0;
    };
    params.step_user_data = this;
    const sotto_token phrase_tokens[] = {token(), token()};
    const sotto_token_list phrase = {phrase_tokens, 1 + size_t{bytes_.below(2)}};
    params.phrases = &phrase;
    params.phrase_count = bytes_.below(4) == 0;
    const sotto_sequence* sequences = nullptr;
    size_t count = 0;
    Error error;
    const sotto_status status = sotto_session_search(session(), &params, &sequences, &count, &error);
    add(status, error);
    for (size_t i = 0; status >= 0 && i < count; ++i) {
      digest_.add(sequences[i].tokens, sequences[i].token_count * sizeof(sotto_token));
      digest_.add(sequences[i].score);
    }
  }

  void score() {
    const auto scored = tokens();
    std::vector<float> values(scored.size());
    sotto_score score = {};
    score.struct_size = sizeof score;
    const sotto_status status = sotto_session_score(session(), scored.data(), scored.size(), values.data(), &score);
    add(status);
    if (status != SOTTO_OK) return;
    digest_.add(values.data(), values.size() * sizeof(float));
    digest_.add(score.log_probability);
  }

  void embed() {
    const auto embedded = tokens();
    float embedding[kShape.embedding_size];
    const sotto_status status = sotto_session_embed(session(), embedded.data(), embedded.size(),
                                                    static_cast<sotto_pooling>(bytes_.below(3)), embedding);
    add(status);
    if (status == SOTTO_OK) digest_.add(embedding, sizeof embedding);
  }

  void add_floats(sotto_status status, const float* values, size_t count) {
    add(status);
    if (status == SOTTO_OK) digest_.add(values, count * sizeof(float));
  }

  void logits() {
    const float* values = nullptr;
    size_t count = 0;
    const sotto_status status = sotto_session_logits(session(), &values, &count);
    REQUIRE(status != SOTTO_OK || count == kShape.vocabulary_size);
    add_floats(status, values, count);
  }

  void hidden() {
    const float* values = nullptr;
    size_t count = 0;
    const sotto_status status = sotto_session_hidden(session(), &values, &count);
    REQUIRE(status != SOTTO_OK || count == kShape.embedding_size);
    add_floats(status, values, count);
  }

  void copy() {
    Error error;
    sotto_session* from = session();
    add(sotto_session_fork(from, session(), &error), error);
  }

  void save() {
    sotto_session* session = this->session();
    size_t size = 0;
    const sotto_status status = sotto_session_saved_size(session, &size);
    add(status);
    if (status != SOTTO_OK) return;
    sotto::GuardedBytes saved(size);
    add(sotto_session_save(session, saved.data(), size, &size));
    REQUIRE(saved.guards_intact());
    saved_.assign(saved.data(), saved.data() + size);
    digest_.add(saved_.data(), saved_.size());
  }

  void restore() {
    Error error;
    add(sotto_session_restore(session(), saved_.data(), saved_.size(), &error), error);
  }

  void look_at_state() {
    sotto_session* session = this->session();
    Error error;
    add(sotto_session_get_error(session, &error));
    digest_.add(error.status);
    sotto_session_timings timings = {};
    timings.struct_size = sizeof timings;
    add(sotto_session_get_timings(session, &timings));
    digest_.add(timings.sample_count);
    sotto_speculation_info drafts = {};
    drafts.struct_size = sizeof drafts;
    add(sotto_session_get_speculation_info(session, &drafts));
    REQUIRE(drafts.accepted_count <= drafts.proposed_count);
    digest_.add(drafts.proposed_count);
    sotto_session_info info = {};
    info.struct_size = sizeof info;
    add(sotto_session_get_info(session, &info));
    REQUIRE(info.cached_tokens <= info.context_tokens);
    digest_.add(info.token_count);
  }

  uint32_t sequence() { return bytes_.below(10); }

  void mask() {
    if (matcher_ == nullptr) return;
    uint64_t words[kMaskWords];
    const uint64_t* borrowed = nullptr;
    const bool borrow = bytes_.below(2) == 0;
    const uint32_t sequence = this->sequence();
    const sotto_status status = borrow ? sotto_matcher_borrow_mask(matcher_, sequence, &borrowed)
                                       : sotto_matcher_mask(matcher_, sequence, words, kMaskWords);
    add(status);
    if (status == SOTTO_OK) digest_.add(borrow ? borrowed : words, sizeof words);
  }

  void accept() {
    if (matcher_ == nullptr) return;
    const uint32_t sequence = this->sequence();
    if (bytes_.below(2) == 0) {
      add(sotto_matcher_accept_token(matcher_, sequence, token()));
    } else {
      const std::string_view accepted = text();
      add(sotto_matcher_accept_text(matcher_, sequence, accepted.data(), accepted.size()));
    }
    sotto_matcher_info info = {};
    info.struct_size = sizeof info;
    add(sotto_matcher_get_info(matcher_, sequence, &info));
    digest_.add(info.token_count);
    digest_.add(info.may_end);
  }

  void rewind_matcher() {
    if (matcher_ == nullptr) return;
    add(bytes_.below(4) == 0 ? sotto_matcher_reset(matcher_, sequence())
                             : sotto_matcher_rewind(matcher_, bytes_.below(9)));
  }

  void fork_matcher() {
    if (matcher_ == nullptr) return;
    const uint32_t from = sequence();
    add(sotto_matcher_fork(matcher_, from, sequence()));
  }

  void test_text() {
    if (matcher_ == nullptr) return;
    const std::string_view tested = text();
    uint32_t begins = 0;
    uint32_t matches = 0;
    const uint32_t sequence = this->sequence();
    add(sotto_matcher_test(matcher_, sequence, tested.data(), tested.size(), &begins, &matches));
    REQUIRE(matches <= begins);
    digest_.add(begins);
    digest_.add(matches);
    char forced[8];
    size_t size = 0;
    const sotto_status status = sotto_matcher_forced_text(matcher_, sequence, forced, sizeof forced, &size);
    add(status);
    if (status == SOTTO_OK) digest_.add(forced, std::min(size, sizeof forced));
  }

  void sample() {
    const sotto::FuzzedParams params(bytes_, kShape.vocabulary_size);
    Error error;
    add(sotto_sampler_set(sampler_, &params.get(), &error), error);
    std::vector<float> logits(kShape.vocabulary_size);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * i % 101) / 16;
    logits[bytes_.byte()] = bytes_.number();
    const auto history = tokens();
    sotto_sampler_input input = {};
    input.struct_size = sizeof input;
    input.sequence = bytes_.byte();
    input.logits = logits.data();
    input.history = history.data();
    input.history_count = history.size();
    sotto_token drawn = -1;
    add(sotto_sampler_sample(sampler_, &input, &drawn, &error), error);
    digest_.add(drawn);
    sotto_token kept[kShape.vocabulary_size];
    float probabilities[kShape.vocabulary_size];
    size_t count = 0;
    const sotto_status status =
        sotto_sampler_apply(sampler_, &input, kept, probabilities, kShape.vocabulary_size, &count, &error);
    add(status, error);
    if (status == SOTTO_OK) digest_.add(probabilities, count * sizeof(float));
  }

  void tokenize() {
    const std::string_view tokenized = text();
    sotto_token ids[32];
    size_t count = 0;
    Error error;
    const size_t capacity = bytes_.below(33);
    const sotto_status status = sotto_tokenize(shared_model(), tokenized.data(), tokenized.size(), bytes_.below(3), ids,
                                               capacity, &count, &error);
    add(status, error);
    if (status != SOTTO_OK) return;
    char bytes[64];
    size_t size = 0;
    REQUIRE(sotto_detokenize(shared_model(), ids, count, bytes, sizeof bytes, &size) == SOTTO_OK);
    REQUIRE(std::string_view(bytes, size) == tokenized);
    const auto others = tokens();
    add(sotto_detokenize(shared_model(), others.data(), others.size(), bytes, bytes_.below(65), &size));
  }

  void look_at_model() {
    const char* bytes = nullptr;
    size_t size = 0;
    uint32_t flags = 0;
    const sotto_token asked = token();
    add(sotto_token_bytes(shared_model(), asked, &bytes, &size));
    add(sotto_token_flags(shared_model(), asked, &flags));
    digest_.add(flags);
    add(sotto_model_text(shared_model(), static_cast<sotto_model_text_kind>(bytes_.byte() % 9), &bytes, &size));
    sotto_model_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(sotto_model_get_info(shared_model(), &info) == SOTTO_OK);
    REQUIRE(sotto_isa_text(static_cast<sotto_isa>(bytes_.byte())) != nullptr);
    REQUIRE(sotto_version() != 0 && sotto_build_text() != nullptr);
  }

  void detect() {
    sotto_watermark_params params;
    sotto_watermark_params_init(&params, sizeof params);
    params.scheme = static_cast<sotto_watermark_scheme>(bytes_.below(7));
    params.context_width = bytes_.below(18);
    const auto marked = tokens();
    sotto_watermark_result result = {};
    result.struct_size = sizeof result;
    Error error;
    const sotto_status status =
        sotto_watermark_detect(&params, kShape.vocabulary_size, marked.data(), marked.size(), &result, &error);
    add(status, error);
    if (status == SOTTO_OK) digest_.add(result.token_count);
  }

  void check_guards() {
    for (auto* memory : {&sessions_[0].memory, &sessions_[1].memory, &grammar_memory_, &vocabulary_memory_,
                         &matcher_memory_, &sampler_memory_, &chat_memory_}) {
      REQUIRE(!memory->has_value() || (*memory)->guards_intact());
    }
  }

  sotto::FuzzBytes bytes_;
  uint8_t fill_;
  uint32_t thread_count_;
  int depth_ = 0;
  Digest digest_;
  Session sessions_[2];
  std::optional<sotto::GuardedBytes> grammar_memory_, vocabulary_memory_, matcher_memory_, sampler_memory_,
      chat_memory_;
  const sotto_grammar* grammar_ = nullptr;
  sotto_matcher* matcher_ = nullptr;
  sotto_sampler* sampler_ = nullptr;
  sotto_chat* chat_ = nullptr;
  size_t chat_session_ = 0;  // index of the session that the conversation uses
  std::vector<uint8_t> saved_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size = std::min<size_t>(size, 500);
  const uint64_t first = Calls(data, size, 0x00, 1).run();
  const uint64_t second = Calls(data, size, 0xFF, 2).run();
  REQUIRE(first == second);
  return 0;
}
