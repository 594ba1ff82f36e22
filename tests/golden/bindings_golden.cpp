// Prints the results that every binding must reproduce with the demo model, computed through the C API.
// `bindings_golden MODEL` prints data/bindings.txt, and `bindings_golden MODEL FILE` compares the results with a file.
// The tests of the bindings read that file and do not need this program.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "capi/include/sotto.h"

namespace {

std::string written =
    "# The results that every binding must reproduce with the demo model; made by bindings_golden. A case\n"
    "# begins with its name; then come lines of a key, one space, and a value: the input,\n"
    "# and then the expected results. In texts \\n is a line end and \\\\ a backslash; tokens "
    "are\n"
    "# separated by spaces; what is not given keeps its default. Sessions have 256 tokens.\n"
    "# In the case calls, every line `call` is a call with one session. The line `result` after it\n"
    "# has the status of the failure or else the stop of the session's info, a space, and the text that\n"
    "# the call generated. `callback N` generates until the callback ends the text after N pieces,\n"
    "# `allow` sets temperature 0 and allowed_tokens, `stops` replaces all stops by one, `grammar` sets\n"
    "# a regular expression, and `restore` restores the session's own saved state.\n";

void write(const std::string& key, const std::string& value) {
  written += key + (value.empty() ? "" : " ") + value + '\n';
}

void begin(const std::string& name) {
  written += '\n';
  write("case", name);
}

void write_text(const std::string& key, std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\\') {
      escaped += "\\\\";
    } else {
      escaped += c;
    }
  }
  write(key, escaped);
}

void write_tokens(const std::string& key, const std::vector<sotto_token>& tokens) {
  std::string list;
  for (const sotto_token token : tokens) {
    list += (list.empty() ? "" : " ") + std::to_string(token);
  }
  write(key, list);
}

void write_number(const std::string& key, double value) {
  std::ostringstream out;
  out << value;
  write(key, out.str());
}

sotto_error new_error() {
  sotto_error error{};
  error.struct_size = sizeof error;
  return error;
}

void check(sotto_status status, const sotto_error& error) {
  if (status < 0) {
    std::fprintf(stderr, "%s: %s\n", sotto_status_text(status), error.message);
    std::exit(1);
  }
}

void write_error(sotto_status status, const sotto_error& error) {
  write("status", std::to_string(status));
  write("offset", error.offset == UINT64_MAX ? "none" : std::to_string(error.offset));
  write_text("message", error.message);
}

struct Release {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{SOTTO_MEMORY_ALIGNMENT}); }
};
using Memory = std::unique_ptr<void, Release>;
Memory allocate(size_t size) { return Memory(::operator new (size, std::align_val_t{SOTTO_MEMORY_ALIGNMENT})); }

std::string read(const char* path) {
  std::string bytes;
  if (std::FILE* file = std::fopen(path, "rb")) {
    char block[4096];
    while (const size_t size = std::fread(block, 1, sizeof block, file)) bytes.append(block, size);
    std::fclose(file);
  }
  return bytes;
}

struct Model {
  Memory file, memory;
  sotto_model* model = nullptr;

  explicit Model(const std::string& bytes) : file(allocate(bytes.size())) {
    sotto_error error = new_error();
    std::memcpy(file.get(), bytes.data(), bytes.size());
    size_t size = 0;
    check(sotto_model_memory_size(file.get(), bytes.size(), nullptr, &size, &error), error);
    memory = allocate(size);
    check(sotto_model_init(file.get(), bytes.size(), nullptr, memory.get(), size, &model, &error), error);
  }
  ~Model() { sotto_model_deinit(model); }

  sotto_model_info info() const {
    sotto_model_info info{};
    info.struct_size = sizeof info;
    check(sotto_model_get_info(model, &info), new_error());
    return info;
  }

  std::vector<sotto_token> tokenize(std::string_view text) const {
    std::vector<sotto_token> tokens(text.size() + 1);
    sotto_error error = new_error();
    size_t count = 0;
    check(sotto_tokenize(model, text.data(), text.size(), 0, tokens.data(), tokens.size(), &count, &error), error);
    tokens.resize(count);
    return tokens;
  }
};

struct Session {
  Memory memory;
  sotto_session* session = nullptr;

  explicit Session(const Model& model, uint32_t sequence_count = 0) {
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    params.context_tokens = 256;
    params.sequence_count = sequence_count;
    params.sequence_tokens = sequence_count ? 32 : 0;
    sotto_error error = new_error();
    size_t size = 0;
    check(sotto_session_memory_size(model.model, &params, &size, &error), error);
    memory = allocate(size);
    check(sotto_session_init(model.model, &params, memory.get(), size, &session, &error), error);
  }
  ~Session() { sotto_session_deinit(session); }
};

struct Matcher {
  Memory grammar_memory, vocabulary_memory, memory;
  sotto_matcher* matcher = nullptr;

  Matcher(const Model& model, const std::string& source, const sotto_grammar_params& params) {
    sotto_error error = new_error();
    size_t size = sotto_grammar_typical_memory(source.size());
    grammar_memory = allocate(size);
    sotto_grammar* grammar = nullptr;
    check(sotto_grammar_compile(source.data(), source.size(), &params, grammar_memory.get(), size, &grammar, &size,
                                &error),
          error);
    sotto_vocabulary_params vocabulary_params;
    sotto_vocabulary_params_init(&vocabulary_params, sizeof vocabulary_params);
    vocabulary_params.model = model.model;
    check(sotto_vocabulary_memory_size(&vocabulary_params, &size, &error), error);
    vocabulary_memory = allocate(size);
    sotto_vocabulary* vocabulary = nullptr;
    check(sotto_vocabulary_init(&vocabulary_params, vocabulary_memory.get(), size, &vocabulary, &error), error);
    check(sotto_matcher_memory_size(grammar, vocabulary, nullptr, &size, &error), error);
    memory = allocate(size);
    check(sotto_matcher_init(grammar, vocabulary, nullptr, memory.get(), size, &matcher, &error), error);
  }
};

struct Settings {
  std::string prompt;
  float temperature = 0.8f;
  float top_p = 0.95f;
  float repetition_penalty = 1.0f;
  uint32_t top_k = 40;
  uint64_t seed = 0;
  size_t max_tokens = 0;
};

void write_settings(const Model& model, const Settings& settings) {
  write_text("prompt", settings.prompt);
  write_tokens("prompt_tokens", model.tokenize(settings.prompt));
  write_number("temperature", settings.temperature);
  write_number("top_k", settings.top_k);
  write_number("top_p", settings.top_p);
  write_number("repetition_penalty", settings.repetition_penalty);
  write("seed", std::to_string(settings.seed));
  write("max_tokens", std::to_string(settings.max_tokens));
}

void set_sampler(Session& session, const Settings& settings) {
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.temperature = settings.temperature;
  params.top_k = settings.top_k;
  params.top_p = settings.top_p;
  params.repetition_penalty = settings.repetition_penalty;
  params.seed = settings.seed;
  sotto_error error = new_error();
  check(sotto_session_set_sampler(session.session, &params, &error), error);
}

struct Stream {
  std::vector<sotto_token> tokens;
  std::string text;
};

int32_t collect(void* user_data, const sotto_piece* piece) {
  Stream& stream = *static_cast<Stream*>(user_data);
  stream.text.append(piece->text, piece->text_size);
  if (piece->token >= 0) {
    stream.tokens.push_back(piece->token);
  }
  return 0;
}

void generate(const Model& model, Session& session, const Settings& settings) {
  const std::vector<sotto_token> prompt = model.tokenize(settings.prompt);
  Stream stream;
  const sotto_status status =
      sotto_session_generate(session.session, prompt.data(), prompt.size(), settings.max_tokens, collect, &stream);
  check(status, new_error());
  write_tokens("tokens", stream.tokens);
  write_text("text", stream.text);
  write("status", std::to_string(status));
}

void plain(const Model& model, const std::string& name, const Settings& settings) {
  begin(name);
  write_settings(model, settings);
  Session session(model);
  set_sampler(session, settings);
  generate(model, session, settings);
}

// Prints the output of the bindings' examples.
void example(const Model& model) {
  begin("example");
  const Settings settings{.prompt = "Once upon a time", .max_tokens = 100};
  write_text("prompt", settings.prompt);
  write("max_tokens", std::to_string(settings.max_tokens));
  Session session(model);
  generate(model, session, settings);
}

void stop_string(const Model& model) {
  begin("stop");
  const Settings settings{.prompt = "It was", .seed = 3, .max_tokens = 200};
  const std::string stop = ", and";
  write_settings(model, settings);
  write_text("stop_string", stop);
  Session session(model);
  set_sampler(session, settings);
  sotto_stop_params params;
  sotto_stop_params_init(&params, sizeof params);
  const sotto_text text{stop.data(), stop.size()};
  params.stop_strings = &text;
  params.stop_string_count = 1;
  sotto_error error = new_error();
  check(sotto_session_set_stops(session.session, &params, &error), error);
  generate(model, session, settings);
}

const char kSchema[] = R"({"type":"object","properties":{"name":{"enum":["Anne","Emma","Jane"]},)"
                       R"("age":{"type":"integer","minimum":18,"maximum":99}},"required":["name","age"],)"
                       R"("additionalProperties":false})";

void grammar(const Model& model) {
  begin("grammar");
  const Settings settings{.prompt = "The young lady: ", .seed = 7, .max_tokens = 100};
  write_settings(model, settings);
  write("language", std::to_string(SOTTO_GRAMMAR_JSON_SCHEMA));
  write("json_space", std::to_string(SOTTO_JSON_ONE_SPACE));
  write_text("source", kSchema);

  sotto_grammar_params params;
  sotto_grammar_params_init(&params, sizeof params);
  params.language = SOTTO_GRAMMAR_JSON_SCHEMA;
  params.json_space = SOTTO_JSON_ONE_SPACE;
  const Matcher matcher(model, kSchema, params);
  Session session(model);
  set_sampler(session, settings);
  sotto_error error = new_error();
  check(sotto_session_set_matcher(session.session, matcher.matcher, &error), error);
  generate(model, session, settings);
}

void search(const Model& model) {
  begin("search");
  const Settings settings{.prompt = "She looked", .max_tokens = 12};
  const uint32_t beams = 3;
  write_text("prompt", settings.prompt);
  write("sequence_count", std::to_string(beams));
  write("max_tokens", std::to_string(settings.max_tokens));
  Session session(model, beams);
  const std::vector<sotto_token> prompt = model.tokenize(settings.prompt);
  sotto_error error = new_error();
  check(sotto_session_prefill(session.session, prompt.data(), prompt.size()), error);
  sotto_search_params params;
  sotto_search_params_init(&params, sizeof params);
  params.max_tokens = static_cast<uint32_t>(settings.max_tokens);
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  check(sotto_session_search(session.session, &params, &sequences, &count, &error), error);
  for (size_t i = 0; i < count; ++i) {
    write_tokens("sequence", {sequences[i].tokens, sequences[i].tokens + sequences[i].token_count});
  }
}

void embedding(const Model& model) {
  begin("embedding");
  const std::string text = "It is a truth universally acknowledged";
  write_text("prompt", text);
  write("pooling", std::to_string(SOTTO_POOL_MEAN));
  std::vector<float> values(model.info().embedding_size);
  Session session(model);
  const std::vector<sotto_token> tokens = model.tokenize(text);
  check(sotto_session_embed(session.session, tokens.data(), tokens.size(), SOTTO_POOL_MEAN, values.data()),
        new_error());
  write("size", std::to_string(values.size()));
  std::string bits;  // of the first floats, in hexadecimal
  for (size_t i = 0; i < 4; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, &values[i], sizeof word);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%s%08x", i ? " " : "", static_cast<unsigned>(word));
    bits += digits;
  }
  write("first_bits", bits);
}

void errors(const Model& model) {
  begin("bad_grammar");
  const std::string source = "root ::= \"yes\" | answer\nanswer ::= [0-9";
  write("language", std::to_string(SOTTO_GRAMMAR_GBNF));
  write_text("source", source);
  sotto_error error = new_error();
  size_t size = sotto_grammar_typical_memory(source.size());
  const Memory memory = allocate(size);
  sotto_grammar* compiled = nullptr;
  write_error(
      sotto_grammar_compile(source.data(), source.size(), nullptr, memory.get(), size, &compiled, &size, &error),
      error);

  begin("bad_text");
  const std::string text = "caf\xE9 noir";
  write("bytes", "63 61 66 e9 20 6e 6f 69 72");
  error = new_error();
  write_error(sotto_tokenize(model.model, text.data(), text.size(), 0, nullptr, 0, &size, &error), error);

  begin("bad_parameter");
  Session session(model);
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  params.temperature = -1;
  write_number("temperature", params.temperature);
  error = new_error();
  write_error(sotto_session_set_sampler(session.session, &params, &error), error);
}

void bad_model(const std::string& bytes) {
  begin("bad_model");
  const size_t kept = 1000;  // of the demo model's bytes
  write("kept_bytes", std::to_string(kept));
  const Memory file = allocate(kept);
  std::memcpy(file.get(), bytes.data(), kept);
  sotto_error error = new_error();
  size_t size = 0;
  write_error(sotto_model_memory_size(file.get(), kept, nullptr, &size, &error), error);
}

// Executes the calls of the case `calls`. They show when a text ends, and which calls continue it.
class Calls {
 public:
  explicit Calls(const Model& model) : model_(model), session_(model) { begin("calls"); }

  void call(const std::string& line) {
    write_text("call", line);
    const size_t space = std::min(line.find(' '), line.size());
    text_.clear();
    const sotto_status status = execute(line.substr(0, space), line.substr(std::min(space + 1, line.size())));
    sotto_session_info info{};
    info.struct_size = sizeof info;
    check(sotto_session_get_info(session_.session, &info), new_error());
    write_text("result", std::to_string(status < 0 ? status : info.stop) + " " + text_);
  }

 private:
  sotto_status execute(const std::string& name, const std::string& argument) {
    sotto_session* session = session_.session;
    if (name == "prefill") {
      const auto tokens = model_.tokenize(argument);
      return sotto_session_prefill(session, tokens.data(), tokens.size());
    }
    if (name == "next") return next();
    if (name == "generate") return generate(std::stoull(argument), SIZE_MAX);
    if (name == "callback") return generate(SIZE_MAX, std::stoull(argument));
    if (name == "limit") return sotto_session_set_limit(session, std::stoull(argument));
    if (name == "stops") return set_stops(argument);
    if (name == "allow") return allow(argument);
    if (name == "grammar") return set_grammar(argument);
    if (name == "score") {
      const auto tokens = model_.tokenize(argument);
      sotto_score score{};
      score.struct_size = sizeof score;
      return sotto_session_score(session, tokens.data(), tokens.size(), nullptr, &score);
    }
    if (name == "embed") {
      const auto tokens = model_.tokenize(argument);
      std::vector<float> embedding(model_.info().embedding_size);
      return sotto_session_embed(session, tokens.data(), tokens.size(), SOTTO_POOL_MEAN, embedding.data());
    }
    if (name == "rewind") return sotto_session_rewind(session, std::stoull(argument));
    if (name == "restore") return restore();
    if (name == "cancel") {
      sotto_session_cancel(session);
    } else if (name == "reset") {
      sotto_session_reset(session);
    } else {
      std::fprintf(stderr, "unknown call: %s\n", name.c_str());
      std::exit(1);
    }
    return SOTTO_OK;
  }

  sotto_status next() {
    const sotto_piece* piece = nullptr;
    const sotto_status status = sotto_session_next(session_.session, &piece);
    if (status >= 0) text_.assign(piece->text, piece->text_size);
    return status;
  }

  sotto_status generate(size_t max_tokens, size_t max_pieces) {
    rest_ = max_pieces;
    const auto on_piece = [](void* user_data, const sotto_piece* piece) {
      auto* self = static_cast<Calls*>(user_data);
      self->text_.append(piece->text, piece->text_size);
      return --self->rest_ == 0 ? 1 : 0;
    };
    return sotto_session_generate(session_.session, nullptr, 0, max_tokens, on_piece, this);
  }

  sotto_status set_stops(const std::string& argument) {
    sotto_stop_params params;
    sotto_stop_params_init(&params, sizeof params);
    const size_t space = std::min(argument.find(' '), argument.size());
    const std::string name = argument.substr(0, space);
    const std::string value = argument.substr(std::min(space + 1, argument.size()));
    const sotto_text text{value.data(), value.size()};
    const sotto_token token = name == "stop_token" ? std::stoi(value) : 0;
    if (name == "stop_string") params.stop_strings = &text, params.stop_string_count = 1;
    if (name == "banned_string") params.banned_strings = &text, params.banned_string_count = 1;
    if (name == "stop_token") params.stop_tokens = &token, params.stop_token_count = 1;
    if (name == "max_time_ns") params.max_time_ns = std::stoull(value);
    if (name == "repetition_limit") params.repetition_limit = std::stof(value);
    return sotto_session_set_stops(session_.session, &params, nullptr);
  }

  sotto_status allow(const std::string& argument) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.temperature = 0;
    const sotto_token token = argument.empty() ? 0 : std::stoi(argument);
    params.allowed_tokens = &token;
    params.allowed_token_count = argument.empty() ? 0 : 1;
    return sotto_session_set_sampler(session_.session, &params, nullptr);
  }

  sotto_status set_grammar(const std::string& regex) {
    if (regex.empty()) return sotto_session_set_matcher(session_.session, nullptr, nullptr);
    sotto_grammar_params params;
    sotto_grammar_params_init(&params, sizeof params);
    params.language = SOTTO_GRAMMAR_REGEX;
    auto matcher = std::make_unique<Matcher>(model_, regex, params);
    const sotto_status status = sotto_session_set_matcher(session_.session, matcher->matcher, nullptr);
    matcher_ = std::move(matcher);
    return status;
  }

  sotto_status restore() {
    size_t size = 0;
    check(sotto_session_saved_size(session_.session, &size), new_error());
    std::string state(size, '\0');
    check(sotto_session_save(session_.session, state.data(), size, &size), new_error());
    return sotto_session_restore(session_.session, state.data(), size, nullptr);
  }

  const Model& model_;
  std::unique_ptr<Matcher> matcher_;
  Session session_;
  std::string text_;
  size_t rest_ = 0;
};

void calls(const Model& model) {
  const std::string end_of_text = std::to_string(model.info().end_of_text_token);
  const std::string comma = std::to_string(model.tokenize(",")[0]);
  const std::string prompt = "prefill Once upon a time";
  const std::vector<std::string> lines = {
      "allow", "next", prompt, "next",
      // SOTTO_STOP_MAX_TOKENS
      "limit 1", "next", "next", "next", "limit 2", "next", "prefill", "next", "generate 3", "next", "score was",
      "next", "generate 2", "embed was", "next", "generate 2", "next", "rewind 9", "next", "generate 2", "restore",
      "next", "generate 0", "reset", "next",
      // Withheld text at a stop
      prompt, "stops stop_string , but", "limit 1", "next", "next", "next", "stops", "next",
      // SOTTO_STOP_TIME
      "limit 9", "stops max_time_ns 1", "next", "next", "stops", "next",
      // SOTTO_STOP_STRING
      "stops stop_string the", "generate 30", "next", "prefill", "next", "generate 30", "next", "limit 2", "next",
      // SOTTO_STOP_TOKEN
      "stops stop_token " + comma, "generate 30", "next", "stops", "next",
      // SOTTO_STOP_END_OF_TEXT
      "allow " + end_of_text, "next", "next", prompt, "next", "allow", "next",
      // SOTTO_STOP_BANNED
      "stops banned_string ,", "allow " + comma, "next", "next", "allow", "next", "stops", "next",
      // SOTTO_STOP_REPETITION
      "stops repetition_limit 0.5", "generate 100", "next", "stops", "next",
      // SOTTO_STOP_GRAMMAR
      "grammar yes|no", "generate 9", "next", "grammar", "next", "grammar yes|no", "generate 9", prompt, "next",
      "reset", prompt, "generate 9", "grammar",
      // SOTTO_STOP_CALLBACK
      "callback 2", "next", "next",
      // SOTTO_STOP_CANCELLED, also after the text has ended
      "cancel", "next", "next", "generate 2", "cancel", "next", "next", "cancel", prompt, "next",
      // SOTTO_STOP_CONTEXT_FULL
      "generate 300", "next", "rewind 250", "next", "generate 300", "reset"};
  Calls calls(model);
  for (const std::string& line : lines) calls.call(line);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string bytes = argc > 1 ? read(argv[1]) : "";
  const Model model(bytes);
  const std::string text = "Don't panic: 42 na\xC3\xAFve caf\xC3\xA9s\n";
  begin("tokenize");
  write_text("text", text);
  write_tokens("tokens", model.tokenize(text));
  plain(model, "greedy", {.prompt = "Once upon a time", .temperature = 0, .max_tokens = 48});
  plain(model, "sampled",
        {.prompt = "It was a dark night,",
         .temperature = 0.9f,
         .top_p = 0.9f,
         .repetition_penalty = 1.1f,
         .top_k = 50,
         .seed = 42,
         .max_tokens = 64});
  example(model);
  stop_string(model);
  grammar(model);
  search(model);
  embedding(model);
  errors(model);
  bad_model(bytes);
  calls(model);
  if (argc < 3) {
    return std::fwrite(written.data(), 1, written.size(), stdout) == written.size() ? 0 : 1;
  }
  const std::string expected = read(argv[2]);
  if (expected != written) {
    size_t at = 0;
    while (at < expected.size() && at < written.size() && expected[at] == written[at]) ++at;
    const size_t line = written.rfind('\n', at) + 1;
    std::printf("%s is otherwise from:\n%.*s\n", argv[2], 200, written.c_str() + line);
    return 1;
  }
  return 0;
}
