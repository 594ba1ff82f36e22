// The program sotto-convert.
#include <unistd.h>

#include <CLI/CLI.hpp>
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

#include "converters/file.h"
#include "converters/model_writer.h"
#include "converters/quantize/evaluate.h"
#include "converters/quantize/packing.h"
#include "converters/quantize/report.h"
#include "converters/readers/checkpoint.h"
#include "converters/readers/synthetic.h"
#include "converters/tokenizers/reader.h"
#include "platforms/cli/options/help.h"
#include "runtime/model/file_header.h"

namespace sotto {
namespace {

// The arguments.
struct Command {
  std::filesystem::path checkpoint;  // empty with --synthetic
  std::string synthetic;             // name of the shape of a synthetic model
  ModelShape synthetic_shape;
  uint64_t seed = 0;
  std::filesystem::path output;  // empty with --evaluate
  std::filesystem::path evaluation_text;
  uint32_t window_limit = 0;         // 0 means all of the text
  std::filesystem::path vocabulary;  // if empty, the directory of the checkpoint
  std::string name;                  // if empty, the name of the checkpoint
  std::string source;                // if empty, the file or directory
  ReadOptions reading;
  WeightKind weights = WeightKind::kInt8;
  WeightKind head = WeightKind::kInt8;
  std::string pack = "none";
  bool force = false;
  bool json = false;
  bool quiet = false;
};

std::vector<std::string> pack_choices() {
  std::vector<std::string> choices = {"none", "native"};
  for (const Isa isa : packing_isas()) choices.push_back(isa_name(isa));
  return choices;
}

constexpr char kDescription[] =
    "Converts a GPT-2 checkpoint to a .sotto model file: int8 or 4-bit weights, the tokenizer\n"
    "and optionally int8 weights packed for one kind of CPU.\n";

constexpr char kFooter[] =
    "\nCHECKPOINT is a directory as transformers' save_pretrained() writes it: config.json,\n"
    "model.safetensors (or shards with model.safetensors.index.json; F32, F16, BF16 or F64) and\n"
    "the tokenizer's files. Without these files the model works on token ids only. It may also be\n"
    "a GGUF file, a model of llm.c, or the directory of a TensorFlow checkpoint.\n"
    "\n"
    "The output file appears only when it is complete. An existing .sotto file is replaced\n"
    "atomically; any other existing file only with --force.\n"
    "\n"
    "The summary on standard output gives the signal-to-noise ratio of the quantized weights:\n"
    "the lowest and the mean over the tensors of a kind. --json adds every single tensor.\n"
    "\n"
    "--weights int4 uses 4.25 bits per weight: little more than half the memory, nearly twice\n"
    "the speed of generation, and some loss of quality, most of it in the head, which --head\n"
    "int8 keeps at 8 bits. Every CPU uses these weights in place, without packing.\n"
    "\n"
    "--evaluate converts in memory and runs the float32 and the quantized model over the text,\n"
    "in windows of the whole context: perplexity, KL divergence, agreement and error of the\n"
    "logits. With --weights int4 it also reports int8.\n"
    "\n"
    "Examples:\n"
    "  sotto-convert gpt2/ -o gpt2.sotto\n"
    "  sotto-convert gpt2/ -o gpt2.sotto --pack native    # loads faster on this kind of CPU\n"
    "  sotto-convert gpt2/ -o gpt2.sotto --weights int4\n"
    "  sotto-convert gpt2/ --evaluate text.txt --windows 8 --weights int4\n"
    "  sotto-convert --synthetic gpt2-xl -o xl.sotto      # random weights, for benchmarks\n"
    "  sotto-convert --synthetic custom --layers 2 --embedding 64 --heads 4 --positions 128 \\\n"
    "                --vocabulary-size 512 -o tiny.sotto\n"
    "\n"
    "Exit status: 0 done; 1 the input cannot be converted or the output not written; 2 wrong\n"
    "usage.\n";

struct ShapeOptions {
  CLI::Option* vocabulary;
  CLI::Option* positions;
  CLI::Option* embedding;
  CLI::Option* heads;
  CLI::Option* layers;
  CLI::Option* feed_forward;

  std::vector<CLI::Option*> all() const { return {vocabulary, positions, embedding, heads, layers, feed_forward}; }
};

ShapeOptions add_shape_options(CLI::App& app, ModelShape& shape) {
  const auto add = [&](const char* flag, uint32_t& value, const char* description) {
    return app.add_option(flag, value, description)->group("Shape of --synthetic custom");
  };
  return {.vocabulary = add("--vocabulary-size", shape.vocabulary_size, "tokens in the vocabulary"),
          .positions = add("--positions", shape.position_count, "positions, the longest context"),
          .embedding = add("--embedding", shape.embedding_size, "width of the embedding"),
          .heads = add("--heads", shape.head_count, "attention heads, a divisor of the width"),
          .layers = add("--layers", shape.layer_count, "layers"),
          .feed_forward = add("--feed-forward", shape.feed_forward_size,
                              "width of the feed-forward part (default: 4 x embedding)")};
}

// Resolves the shape of --synthetic. Throws CLI::ValidationError.
void resolve_shape(Command& command, const ShapeOptions& options) {
  if (command.synthetic == "custom") {
    for (const CLI::Option* option : options.all()) {
      if (option == options.feed_forward || option->count() > 0) continue;
      throw CLI::ValidationError("--synthetic custom", "needs " + option->get_name());
    }
    ModelShape& shape = command.synthetic_shape;
    if (options.feed_forward->count() == 0) shape.feed_forward_size = 4 * shape.embedding_size;
    return;
  }
  for (const CLI::Option* option : options.all()) {
    if (option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(), "requires --synthetic custom");
  }
  if (const auto shape = find_published_shape(command.synthetic)) command.synthetic_shape = *shape;
}

// Returns nullopt if the program must end with `*exit_code`; help or the error has been printed.
std::optional<Command> parse_command_line(int argc, char** argv, int* exit_code) {
  Command command;
  CLI::App app(kDescription, "sotto-convert");
  app.footer(kFooter);
  app.formatter(std::make_shared<cli::HelpFormatter>());
  auto* checkpoint = app.add_option("CHECKPOINT", command.checkpoint, "directory or file to convert");
  auto* output = app.add_option("-o,--output", command.output, "the .sotto file to write");
  auto* evaluate =
      app.add_option("--evaluate", command.evaluation_text, "write no file; compare with float32 on this text")
          ->excludes(output);
  app.add_option("--windows", command.window_limit, "maximum number of windows that --evaluate uses")->needs(evaluate);
  app.add_option("--name", command.name, "name of the model (default: that of the checkpoint)")->excludes(evaluate);
  app.add_option("--source", command.source, "where the weights come from (default: the checkpoint)")
      ->excludes(evaluate);
  app.add_option("--vocab", command.vocabulary, "directory or GGUF file to read the tokenizer from");
  const auto set_activation = [&command](const std::string& name) {
    command.reading.activation = find_activation(name);
    if (command.reading.activation) return;
    throw CLI::ValidationError("--activation", '"' + name + "\" is not one of " + activation_names());
  };
  auto* activation =
      app.add_option_function<std::string>("--activation", set_activation,
                                           "activation function, if not the checkpoint's: gelu, gelu_new, ...")
          ->type_name("NAME");
  const auto add_kind = [&app](const std::string& option, WeightKind& kind, const char* help) {
    const auto set = [option, &kind](const std::string& name) {
      if (name != "int8" && name != "int4") {
        throw CLI::ValidationError(option, '"' + name + "\" is not one of int8, int4");
      }
      kind = name == "int4" ? WeightKind::kInt4 : WeightKind::kInt8;
    };
    return app.add_option_function<std::string>(option, set, help)->type_name("KIND");
  };
  add_kind("--weights", command.weights, "int8 (default), or int4: smaller and faster");
  auto* head = add_kind("--head", command.head, "kind of the head and token embeddings (default: --weights)");
  app.add_option("--pack", command.pack, "instruction set to pack the weights for: native, none, or a name")
      ->check(CLI::IsMember(pack_choices()).description(""))
      ->type_name("ISA")
      ->excludes(evaluate)
      ->capture_default_str();
  auto* synthetic =
      app.add_option(
             "--synthetic", command.synthetic,
             "random weights instead of a checkpoint: distilgpt2, gpt2, gpt2-medium, gpt2-large, gpt2-xl, custom")
          ->check(
              CLI::IsMember({"distilgpt2", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "custom"}).description(""))
          ->type_name("SHAPE")
          ->excludes(checkpoint)
          ->excludes(activation);
  app.add_option("--seed", command.seed, "seed of the random weights")->capture_default_str()->needs(synthetic);
  app.add_flag("--force", command.force, "replace an output file that is not a .sotto file")->excludes(evaluate);
  auto* json = app.add_flag("--json", command.json, "print the summary as JSON");
  app.add_flag("--quiet", command.quiet, "print nothing but errors")->excludes(evaluate)->excludes(json);
  const ShapeOptions shape = add_shape_options(app, command.synthetic_shape);
  try {
    app.parse(argc, argv);
    if (checkpoint->count() + synthetic->count() == 0) {
      throw CLI::RequiredError("CHECKPOINT or --synthetic");
    }
    if (output->count() + evaluate->count() == 0) {
      throw CLI::RequiredError("--output or --evaluate");
    }
    if (output->count() > 0 && command.output.empty()) {
      throw CLI::ValidationError("--output", "is empty");
    }
    resolve_shape(command, shape);
    if (head->count() == 0) command.head = command.weights;
  } catch (const CLI::ParseError& error) {
    *exit_code = cli::report_usage(app, error);
    return std::nullopt;
  }
  return command;
}

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

std::unique_ptr<Checkpoint> open_input(const Command& command) {
  if (command.synthetic.empty()) return open_checkpoint(command.checkpoint, command.reading);
  return std::make_unique<SyntheticCheckpoint>("synthetic " + command.synthetic, command.synthetic_shape, command.seed);
}

std::optional<TokenizerData> read_tokenizer(const Command& command, const CheckpointInfo& info,
                                            std::vector<std::string>& notes) {
  const auto& source = command.vocabulary.empty() ? command.checkpoint : command.vocabulary;
  if (source.empty()) return std::nullopt;
  auto tokenizer = read_checkpoint_tokenizer(source, info.shape.vocabulary_size);
  if (!tokenizer && !command.vocabulary.empty()) {
    throw std::runtime_error(command.vocabulary.string() + ": contains no tokenizer");
  }
  if (tokenizer) notes.insert(notes.end(), tokenizer->notes.begin(), tokenizer->notes.end());
  return tokenizer;
}

void convert(const Command& command) {
  check_output(command);
  ConversionSummary summary;
  const auto checkpoint = open_input(command);
  summary.notes = checkpoint->notes();
  const auto given = [](const std::string& text, const std::string& known) { return text.empty() ? known : text; };
  checkpoint->relabel(given(command.name, checkpoint->info().name), given(command.source, checkpoint->info().source));
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
  const auto checkpoint = open_input(command);
  const auto tokenizer = read_tokenizer(command, checkpoint->info(), notes);
  if (!tokenizer) throw std::runtime_error("--evaluate needs the checkpoint's tokenizer");
  WriteOptions options;
  options.tokenizer = &*tokenizer;
  std::vector<QuantizedFile> quantized = {{"int8", convert_to_bytes(*checkpoint, options)}};
  if (command.weights == WeightKind::kInt4 || command.head == WeightKind::kInt4) {
    options.layers = command.weights;
    options.head = command.head;
    quantized.push_back({"int4", convert_to_bytes(*checkpoint, options)});
  }
  constexpr uint64_t kTextLimit = uint64_t{1} << 30;
  const std::string text = read_text_file(command.evaluation_text, kTextLimit);

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
    evaluation = evaluate(load_float_model(*checkpoint), quantized, text, evaluation_options);
  }
  print(command.json ? evaluation_json(evaluation) : evaluation_table(evaluation));
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  using namespace sotto;
  try {
    int exit_code = 0;
    const auto command = parse_command_line(argc, argv, &exit_code);
    if (!command) return exit_code;
    catch_interrupts();
    if (command->output.empty()) {
      measure(*command);
    } else {
      convert(*command);
    }
  } catch (const std::exception& error) {
    std::cerr << "sotto-convert: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
