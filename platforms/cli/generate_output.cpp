// What `sotto generate` prints.
#include "platforms/cli/generate_output.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "platforms/cli/failure.h"
#include "platforms/cli/text.h"

namespace sotto::cli {
namespace {

using Json = nlohmann::ordered_json;

double seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

uint64_t peak_resident_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

// The double nearest to the shortest decimal form of `value`: 0.8, not 0.800000011920929.
double shortest(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  return std::strtod(text, nullptr);
}

void print_phase(const char* name, uint64_t tokens, uint64_t nanoseconds) {
  const double time = seconds(nanoseconds);
  std::fprintf(stderr, "%-12s %8s tokens %10s   %s\n", name, with_thousands(tokens).c_str(),
               duration(time).c_str(), rate(tokens, time).c_str());
}

Json phase(uint64_t tokens, uint64_t nanoseconds) {
  const double time = seconds(nanoseconds);
  const bool has_rate = tokens > 0 && time > 0.0;
  return {{"tokens", tokens},
          {"seconds", time},
          {"tokens_per_second", has_rate ? Json(static_cast<double>(tokens) / time) : Json()}};
}

Json parameters_json(const GenerateOptions& options, const Model& model,
                     const sotto_session_info& session) {
  const sotto_sampler_params& sampler = options.sampler;
  return {{"max_tokens", options.token_limit},
          {"temperature", shortest(sampler.temperature)},
          {"top_k", sampler.top_k},
          {"top_p", shortest(sampler.top_p)},
          {"min_p", shortest(sampler.min_p)},
          {"repetition_penalty", shortest(sampler.repetition_penalty)},
          {"repetition_window", sampler.repetition_window},
          {"seed", sampler.seed},
          {"context_tokens", session.context_tokens},
          {"batch_tokens", session.batch_tokens},
          {"threads", session.thread_count},
          {"overflow", overflow_name(options.session.overflow)},
          {"sink_tokens", session.sink_tokens},
          {"isa", sotto_isa_text(model.info().isa)}};
}

Json timings_json(const Generation& generation, const sotto_session_timings& timings) {
  const double first = generation.first_token_seconds;
  return {{"load_seconds", generation.load_seconds},
          {"first_token_seconds", first >= 0.0 ? Json(first) : Json()},
          {"total_seconds", generation.total_seconds},
          {"prefill", phase(timings.prefill_tokens, timings.prefill_ns)},
          {"decode", phase(timings.decode_tokens, timings.decode_ns)},
          {"sample", phase(timings.sample_count, timings.sample_ns)},
          {"reanchor", phase(timings.reanchor_tokens, timings.reanchor_ns)}};
}

}  // namespace

TextStream::TextStream()
    : is_terminal_(isatty(STDOUT_FILENO) != 0),
      use_colour_(is_terminal_ && std::getenv("NO_COLOR") == nullptr) {}

void TextStream::write_prompt(std::string_view text) {
  if (use_colour_) write_bytes("\x1b[1m");
  write(text);
  if (use_colour_) write_bytes("\x1b[0m");
}

void TextStream::write(std::string_view text) {
  if (text.empty()) return;
  write_bytes(is_terminal_ ? for_terminal(text) : std::string(text));
  at_line_start_ = text.back() == '\n';
}

void TextStream::end_line() {
  if (!at_line_start_) write("\n");
}

void TextStream::write_bytes(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
      std::fflush(stdout) != 0) {
    throw Failure(std::string("standard output: ") + std::strerror(errno));
  }
}

const char* stop_name(sotto_status stop) {
  switch (stop) {
    case SOTTO_STOP_END_OF_TEXT: return "end_of_text";
    case SOTTO_STOP_MAX_TOKENS: return "max_tokens";
    case SOTTO_STOP_CONTEXT_FULL: return "context_full";
    case SOTTO_STOP_CANCELLED: return "cancelled";
    default: return "unknown";
  }
}

void print_timings(const Generation& generation, const GenerateOptions& options,
                   const Model& model, const Session& session) {
  const sotto_session_timings timings = session.timings();
  std::fprintf(stderr, "\n");
  print_phase("prefill", timings.prefill_tokens, timings.prefill_ns);
  print_phase("decode", timings.decode_tokens, timings.decode_ns);
  if (timings.reanchor_tokens > 0) {
    print_phase("re-anchor", timings.reanchor_tokens, timings.reanchor_ns);
  }
  if (generation.first_token_seconds >= 0.0) {
    std::fprintf(stderr, "%-12s %s after the prompt, model loaded in %s\n", "first token",
                 duration(generation.first_token_seconds).c_str(),
                 duration(generation.load_seconds).c_str());
  }
  std::fprintf(stderr, "%-12s %s model, %s session, %s resident at most\n", "memory",
               byte_size(model.memory_size()).c_str(),
               byte_size(session.info().memory_bytes).c_str(),
               byte_size(peak_resident_bytes()).c_str());
  std::fprintf(stderr, "%-12s %s; the seed was %llu\n", "stopped by", stop_name(generation.stop),
               static_cast<unsigned long long>(options.sampler.seed));
}

void print_json(const Generation& generation, const GenerateOptions& options, const Model& model,
                const Session& session) {
  const sotto_session_info info = session.info();
  Json object = {{"model", to_utf8(model.path())},
                 {"prompt", generation.prompt},
                 {"prompt_tokens", generation.prompt_tokens},
                 {"text", generation.text},
                 {"tokens", generation.tokens}};
  if (options.log_probabilities) {
    Json& values = object["log_probabilities"] = Json::array();
    for (const float value : generation.log_probabilities) values.push_back(shortest(value));
  }
  object["stop"] = stop_name(generation.stop);
  object["timings"] = timings_json(generation, session.timings());
  object["memory"] = {{"model_bytes", model.memory_size()},
                      {"session_bytes", info.memory_bytes},
                      {"kv_bytes", info.kv_bytes},
                      {"peak_resident_bytes", peak_resident_bytes()}};
  object["parameters"] = parameters_json(options, model, info);
  TextStream().write(object.dump() + '\n');
}

}  // namespace sotto::cli
