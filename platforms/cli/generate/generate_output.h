// What `sotto generate` prints for people: the text as it comes, then timings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platforms/cli/generate/generation.h"
#include "platforms/cli/options/generate_options.h"

namespace sotto::cli {

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

// "    318   -1.23456  \" was\""
std::string score_line(sotto_token token, float log_probability, const std::string& bytes);

// The prompt's tokens with their log probabilities.
void print_prompt_scores(const Generation& generation, const Model& model, TextStream& stream);

// What a search found: one text behind its prompt, several with numbers.
void print_sequences(const Generation& generation, const GenerateOptions& options, const Model& model,
                     TextStream& stream);

void print_timings(const Generation& generation, const GenerateOptions& options, const Model& model,
                   const Session& session);

uint64_t peak_resident_bytes();

}  // namespace sotto::cli
