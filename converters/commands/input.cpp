// Functions that several commands share: they open the checkpoint and its tokenizer, make text for calibration, check
// the output and print.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include "converters/commands/commands.h"
#include "converters/file.h"
#include "converters/quantize/calibration_text.h"
#include "converters/quantize/evaluate.h"
#include "converters/readers/synthetic.h"

namespace sotto {

void check_output(const Arguments& arguments) {
  if (!std::filesystem::exists(arguments.output)) return;
  if (arguments.export_format == "safetensors") {
    const bool is_directory = std::filesystem::is_directory(arguments.output);
    if (is_directory && (arguments.force || std::filesystem::is_empty(arguments.output))) return;
    throw std::runtime_error(arguments.output.string() +
                             ": exists and is not an empty directory; use --force to write into a directory");
  }
  if (!std::filesystem::is_regular_file(arguments.output)) {
    throw std::runtime_error(arguments.output.string() + ": exists and is not a regular file");
  }
  if (!arguments.force && !is_model_file(arguments.output)) {
    throw std::runtime_error(arguments.output.string() +
                             ": exists and is not a .sotto file; use --force to replace it");
  }
}

void print(const std::string& text) {
  std::cout << text << std::flush;
  if (std::cout) return;
  throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::cerr << "sotto-convert: note: " << note << '\n';
}

std::unique_ptr<Checkpoint> open_input(const Arguments& arguments) {
  if (arguments.synthetic.empty()) return open_checkpoint(arguments.checkpoint, arguments.reading);
  return std::make_unique<SyntheticCheckpoint>("synthetic " + arguments.synthetic, arguments.synthetic_shape,
                                               arguments.seed);
}

std::optional<TokenizerData> read_tokenizer(const Arguments& arguments, const CheckpointInfo& info,
                                            std::vector<std::string>& notes) {
  const auto& source = arguments.vocabulary.empty() ? arguments.checkpoint : arguments.vocabulary;
  if (source.empty()) return std::nullopt;
  auto tokenizer = read_checkpoint_tokenizer(source, info.shape.vocabulary_size);
  if (!tokenizer && !arguments.vocabulary.empty()) {
    throw std::runtime_error(arguments.vocabulary.string() + ": contains no tokenizer");
  }
  if (tokenizer) notes.insert(notes.end(), tokenizer->notes.begin(), tokenizer->notes.end());
  return tokenizer;
}

CalibrationEffort effort_of(const std::string& calibration) {
  return calibration == "outliers" ? CalibrationEffort::kOutliers : CalibrationEffort::kFull;
}

std::vector<TokenWindow> calibration_windows(const std::string& calibration, const Checkpoint& checkpoint,
                                             const WriteOptions& options) {
  if (calibration == "none") return {};
  if (calibration == "outliers") return {random_tokens(checkpoint.info())};
  if (calibration == "model") return write_calibration_text(checkpoint, options);
  if (options.tokenizer == nullptr) throw std::runtime_error("--calibrate TEXT needs the checkpoint's tokenizer");
  return cut_calibration_text(checkpoint, options, read_text_file(calibration, kMaxTextBytes));
}

}  // namespace sotto
