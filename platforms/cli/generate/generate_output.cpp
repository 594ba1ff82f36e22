// What `sotto generate` prints for people.
#include "platforms/cli/generate/generate_output.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

void print_phase(const char* name, uint64_t tokens, uint64_t nanoseconds) {
  const double time = static_cast<double>(nanoseconds) * 1e-9;
  std::fprintf(stderr, "%-12s %8s tokens %10s   %s\n", name, with_thousands(tokens).c_str(), duration(time).c_str(),
               rate(tokens, time).c_str());
}

std::string heading(size_t number, const Continuation& sequence) {
  char text[160];
  std::snprintf(text, sizeof text, "[%zu] score %.5g, ln p %.5g, %zu tokens, %s\n", number, sequence.score,
                sequence.log_probability, sequence.tokens.size(), name_of(stop_names(), sequence.stop));
  return text;
}

void print_scores(const Continuation& sequence, const Model& model, TextStream& stream) {
  for (size_t i = 0; i < sequence.tokens.size(); ++i) {
    const sotto_token token = sequence.tokens[i];
    stream.write(score_line(token, sequence.log_probabilities[i], model.text_of({token})) + '\n');
  }
}

}  // namespace

uint64_t peak_resident_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<uint64_t>(usage.ru_maxrss);
#else
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

TextStream::TextStream()
    : is_terminal_(isatty(STDOUT_FILENO) != 0), use_colour_(is_terminal_ && std::getenv("NO_COLOR") == nullptr) {}

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
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0) {
    throw Failure(std::string("standard output: ") + std::strerror(errno));
  }
}

std::string score_line(sotto_token token, float log_probability, const std::string& bytes) {
  char columns[64];
  std::snprintf(columns, sizeof columns, "%7d %10.5f  ", token, static_cast<double>(log_probability));
  return columns + in_quotes(bytes);
}

void print_prompt_scores(const Generation& generation, const Model& model, TextStream& stream) {
  for (size_t i = 0; i < generation.prompt_tokens.size(); ++i) {
    const sotto_token token = generation.prompt_tokens[i];
    stream.write(score_line(token, generation.prompt_log_probabilities[i], model.text_of({token})) + '\n');
  }
  stream.write("\n");
}

void print_sequences(const Generation& generation, const GenerateOptions& options, const Model& model,
                     TextStream& stream) {
  const bool are_several = options.search.params.return_count > 1;
  if (!options.hide_prompt && !options.log_probabilities) {
    stream.write_prompt(generation.prompt);
    if (are_several) stream.end_line();
  }
  if (options.scores_prompt) print_prompt_scores(generation, model, stream);
  for (size_t i = 0; i < generation.sequences.size(); ++i) {
    const Continuation& sequence = generation.sequences[i];
    if (are_several) stream.write((i == 0 ? "" : "\n") + heading(i + 1, sequence));
    if (options.log_probabilities) {
      print_scores(sequence, model, stream);
    } else {
      stream.write(sequence.text);
      stream.end_line();
    }
  }
  stream.end_line();
}

void print_timings(const Generation& generation, const GenerateOptions& options, const Model& model,
                   const Session& session) {
  const sotto_session_timings timings = session.timings();
  std::fprintf(stderr, "\n");
  print_phase("prefill", timings.prefill_tokens, timings.prefill_ns);
  print_phase("decode", timings.decode_tokens, timings.decode_ns);
  print_phase("sample", timings.sample_count, timings.sample_ns);
  if (timings.reanchor_tokens > 0) {
    print_phase("re-anchor", timings.reanchor_tokens, timings.reanchor_ns);
  }
  if (generation.first_token_seconds >= 0.0) {
    std::fprintf(stderr, "%-12s %s after the prompt, model loaded in %s\n", "first token",
                 duration(generation.first_token_seconds).c_str(), duration(generation.load_seconds).c_str());
  }
  std::fprintf(stderr, "%-12s %s model, %s session, %s resident at most\n", "memory",
               byte_size(model.memory_size()).c_str(), byte_size(session.info().memory_bytes).c_str(),
               byte_size(peak_resident_bytes()).c_str());
  if (options.grammar.is_on()) {
    std::fprintf(stderr, "%-12s %s, matcher %s\n", "grammar", byte_size(generation.grammar_bytes).c_str(),
                 byte_size(generation.matcher_bytes).c_str());
  }
  if (options.session.draft_tokens > 0) {
    const sotto_speculation_info info = speculation_info(session);
    std::fprintf(stderr, "%-12s %8s of %s accepted, %s of them forced by the grammar\n", "drafts",
                 with_thousands(info.accepted_count).c_str(), with_thousands(info.proposed_count).c_str(),
                 with_thousands(info.forced_accepted_count).c_str());
  }
  const auto seed = static_cast<unsigned long long>(options.sampler.settings.params.seed);
  std::fprintf(stderr, "%-12s %s; the seed was %llu\n", "stopped by", name_of(stop_names(), generation.stop), seed);
}

}  // namespace sotto::cli
