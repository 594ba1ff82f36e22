// The program sotto-convert.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "converters/command_line.h"
#include "converters/file.h"
#include "converters/model_writer.h"
#include "converters/quantize/evaluate.h"
#include "converters/quantize/packing.h"
#include "converters/quantize/report.h"
#include "converters/readers/hugging_face.h"
#include "converters/synthetic.h"
#include "converters/tokenizers/reader.h"
#include "runtime/model/file_header.h"

namespace sotto {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) { interrupted = 1; }

// SA_RESTART stays unset, so that a blocked system call returns.
void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// A progress bar on standard error if that is a terminal. The destructor removes it.
class ProgressBar {
 public:
  explicit ProgressBar(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(double fraction) const {
    constexpr int kWidth = 40;
    if (!shown_) return;
    const std::string filled(static_cast<size_t>(fraction * kWidth), '#');
    std::fprintf(stderr, "\r[%-*s] %3d%%", kWidth, filled.c_str(), static_cast<int>(fraction * 100));
  }

 private:
  bool shown_;
};

bool is_model_file(const std::filesystem::path& path) {
  const InputFile file(path);
  uint8_t magic[sizeof FileHeader::kMagic];
  if (file.size() < sizeof magic) return false;
  file.read_at(0, magic, sizeof magic);
  return std::memcmp(magic, FileHeader::kMagic, sizeof magic) == 0;
}

void check_output(const Command& command) {
  if (!std::filesystem::exists(command.output)) return;
  if (!std::filesystem::is_regular_file(command.output)) {
    throw std::runtime_error(command.output.string() + ": exists and is not a regular file");
  }
  if (!command.force && !is_model_file(command.output)) {
    throw std::runtime_error(command.output.string() + ": exists and is not a .sotto file; use --force to replace it");
  }
}

void print(const std::string& text) {
  std::cout << text << std::flush;
  if (std::cout) return;
  throw std::runtime_error(std::string("standard output: ") + std::strerror(errno));
}

std::unique_ptr<Checkpoint> open_checkpoint(const Command& command, std::vector<std::string>& notes) {
  if (!command.synthetic.empty()) {
    return std::make_unique<SyntheticCheckpoint>("synthetic " + command.synthetic, command.synthetic_shape,
                                                 command.seed);
  }
  auto checkpoint = std::make_unique<HuggingFaceCheckpoint>(command.checkpoint);
  notes = checkpoint->notes();
  return checkpoint;
}

std::optional<TokenizerData> read_tokenizer(const Command& command, const CheckpointInfo& info,
                                            std::vector<std::string>& notes) {
  const auto& directory = command.vocabulary.empty() ? command.checkpoint : command.vocabulary;
  if (directory.empty()) return std::nullopt;
  auto tokenizer = read_tokenizer_directory(directory, info.shape.vocabulary_size);
  if (!tokenizer && !command.vocabulary.empty()) {
    throw std::runtime_error(command.vocabulary.string() + ": contains no tokenizer");
  }
  if (tokenizer) notes.insert(notes.end(), tokenizer->notes.begin(), tokenizer->notes.end());
  return tokenizer;
}

void convert(const Command& command) {
  check_output(command);
  ConversionSummary summary;
  const auto checkpoint = open_checkpoint(command, summary.notes);
  if (!command.name.empty()) checkpoint->rename(command.name);
  const auto tokenizer = read_tokenizer(command, checkpoint->info(), summary.notes);
  std::optional<Packer> packer;
  if (command.pack != "none") packer.emplace(command.pack);

  WriteOptions options;
  options.tokenizer = tokenizer ? &*tokenizer : nullptr;
  options.packer = packer ? &*packer : nullptr;
  options.layers = command.weights;
  options.head = command.head;
  {
    const ProgressBar bar(!command.quiet);
    options.progress = [&](double fraction) {
      if (interrupted != 0) throw std::runtime_error("interrupted");
      bar.show(fraction);
    };
    summary.written = write_model(*checkpoint, command.output, options);
  }
  summary.info = checkpoint->info();
  summary.output = command.output.string();
  summary.has_tokenizer = tokenizer.has_value();
  if (tokenizer && summary.written.vocabulary_size == 0) {
    summary.notes.push_back("a token is longer than 255 bytes, so grammars cannot be used");
  }
  if (packer && summary.written.packed_size == 0) {
    summary.notes.push_back("4-bit weights need no packing: every CPU uses them in place");
  } else if (packer) {
    summary.packed_isa = packer->isa();
  }
  if (command.quiet) return;
  if (command.json) return print(summary_json(summary));
  for (const std::string& note : summary.notes) {
    std::cerr << "sotto-convert: note: " << note << '\n';
  }
  print(summary_table(summary));
}

void measure(const Command& command) {
  std::vector<std::string> notes;
  const auto checkpoint = open_checkpoint(command, notes);
  const auto tokenizer = read_tokenizer(command, checkpoint->info(), notes);
  if (!tokenizer) throw std::runtime_error("--evaluate needs the checkpoint's tokenizer");
  WriteOptions options;
  options.tokenizer = &*tokenizer;
  const Int8Model int8(convert_to_bytes(*checkpoint, options));
  std::vector<QuantizedModel> quantized = {{"int8", &int8}};
  std::optional<Int8Model> int4;
  if (command.weights == WeightKind::kInt4 || command.head == WeightKind::kInt4) {
    options.layers = command.weights;
    options.head = command.head;
    int4.emplace(convert_to_bytes(*checkpoint, options));
    quantized.push_back({"int4", &*int4});
  }
  constexpr uint64_t kTextLimit = uint64_t{1} << 30;
  const auto tokens = int8.tokenize(read_text_file(command.evaluation_text, kTextLimit));

  Evaluation evaluation;
  {
    const ProgressBar bar(true);
    EvaluationOptions evaluation_options;
    evaluation_options.window_limit = command.window_limit;
    evaluation_options.thread_count = std::max(1u, std::thread::hardware_concurrency());
    evaluation_options.on_window = [&](size_t done, size_t total) {
      if (interrupted != 0) throw std::runtime_error("interrupted");
      bar.show(static_cast<double>(done) / static_cast<double>(total));
    };
    evaluation = evaluate(load_float_model(*checkpoint), quantized, tokens, evaluation_options);
  }
  print(command.json ? evaluation_json(evaluation) : evaluation_table(evaluation));
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  int exit_code = 0;
  const auto command = sotto::parse_command_line(argc, argv, &exit_code);
  if (!command) return exit_code;
  sotto::catch_interrupts();
  try {
    if (command->output.empty()) {
      sotto::measure(*command);
    } else {
      sotto::convert(*command);
    }
  } catch (const std::exception& error) {
    std::cerr << "sotto-convert: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
