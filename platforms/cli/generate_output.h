// What `sotto generate` prints: the text as it comes, then timings or one JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/generate_options.h"
#include "platforms/cli/model.h"

namespace sotto::cli {

// What a run produced.
struct Generation {
  std::string prompt;
  std::vector<sotto_token> prompt_tokens;
  // Kept for --json only: a stream may go on for ever.
  std::string text;
  std::vector<sotto_token> tokens;
  std::vector<float> log_probabilities;  // one a token, if asked for
  sotto_status stop = SOTTO_OK;
  double load_seconds = 0.0;
  double first_token_seconds = -1.0;  // from the start of the prefill; -1: there was none
  double total_seconds = 0.0;
};

// Standard output, flushed piece by piece. Throws a Failure when it cannot be written.
class TextStream {
 public:
  TextStream();
  void write_prompt(std::string_view text);  // in bold on a terminal
  void write(std::string_view text);
  void end_line();  // unless the text ended one

 private:
  void write_bytes(std::string_view bytes);

  bool is_terminal_;
  bool use_colour_;
  bool at_line_start_ = true;
};

const char* stop_name(sotto_status stop);

void print_timings(const Generation& generation, const GenerateOptions& options,
                   const Model& model, const Session& session);
void print_json(const Generation& generation, const GenerateOptions& options, const Model& model,
                const Session& session);

}  // namespace sotto::cli
