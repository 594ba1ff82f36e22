// The program sotto-convert.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "converters/export.h"
#include "converters/file.h"
#include "converters/model_writer.h"
#include "converters/packing.h"
#include "converters/quantize/calibration_text.h"
#include "converters/quantize/evaluate.h"
#include "converters/readers/checkpoint.h"
#include "converters/readers/model_file.h"
#include "converters/readers/synthetic.h"
#include "converters/report.h"
#include "converters/tokenizers/reader.h"
#include "converters/verify.h"
#include "platforms/command_line/help.h"

namespace sotto {
namespace {

constexpr uint64_t kTextLimit = uint64_t{1} << 30;

// The parsed command line.
struct Arguments {
  std::filesystem::path checkpoint;  // empty with --synthetic
  std::string synthetic;             // name of the shape of a synthetic model
  ModelShape synthetic_shape;
  uint64_t seed = 0;
  std::filesystem::path output;   // empty with --dry-run, --evaluate, --compare and --verify
  std::filesystem::path picture;  // of the summary, as SVG, or empty
  std::filesystem::path evaluation_text;
  bool compares_all = false;         // --compare: evaluate every width and calibration
  uint32_t window_limit = 0;         // 0 means all of the text
  std::filesystem::path vocabulary;  // if empty, the directory of the checkpoint
  std::string name;                  // if empty, the name of the checkpoint
  std::string source;                // if empty, the file or directory
  ReadOptions reading;
  WeightKind weights = WeightKind::kInt8;
  WeightKind head = WeightKind::kInt8;
  std::string calibration = "outliers";  // "outliers", "model", "none", or a file of text
  std::string pack = "none";
  std::string export_format;       // "safetensors" or "gguf", or empty
  std::filesystem::path verified;  // the .sotto file to verify, or empty
  bool dry_run = false;
  bool force = false;
  bool json = false;
  bool quiet = false;
};

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::vector<std::string> pack_choices() {
  std::vector<std::string> choices = {"none", "native"};
  for (const Isa isa : packing_isas()) choices.push_back(isa_name(isa));
  return choices;
}

constexpr char kDescription[] =
    "Converts a GPT-2 checkpoint to a .sotto model file: int8 or 4-bit weights, the tokenizer\n"
    "and optionally int8 weights packed for one kind of CPU.";

constexpr char kFooter[] =
    "The tokenizer is read from the same directory or file. Without a tokenizer, the model works\n"
    "on token ids only.\n"
    "\n"
    "The output file gets its name only when it is complete. An existing .sotto file is replaced\n"
    "atomically; any other existing file is replaced only with --force.\n"
    "\n"
    "The summary on standard output gives the lowest and the mean signal-to-noise ratio of the\n"
    "quantized weights, per kind of tensor. --json adds the figures of every tensor.\n"
    "\n"
    "--weights int4 uses 4.25 bits per weight of the layers and keeps the head at 8 bits.\n"
    "--head int4 gives an even smaller and faster model, but causes most of the loss of quality.\n"
    "Every CPU uses 4-bit weights in place, without packing.\n"
    "\n"
    "Outlier channels of activations are folded into the weights. This does not change the\n"
    "output of the model, and quantization keeps the precision of the other channels.\n"
    "--calibrate model also compensates rounding errors, using text that the model generates, and\n"
    "--calibrate FILE using the text of a file. Both are more exact, take about 100 times as long,\n"
    "and give files that cannot be exported. --calibrate none only rounds the weights.\n"
    "\n"
    "--evaluate converts in memory, runs the float32 and the quantized model on a text, and\n"
    "reports perplexity, KL divergence, agreement and error of the logits. With --weights int4 it\n"
    "also reports int8. --compare reports every combination of width and calibration.\n"
    "\n"
    "--verify compares a .sotto file with the checkpoint: it runs both in float32 on random\n"
    "tokens. The exit status is 0 if the file was quantized from this checkpoint.\n"
    "\n"
    "Examples:\n"
    "  sotto-convert gpt2/ -o gpt2.sotto\n"
    "  sotto-convert gpt2/ -o gpt2.sotto --pack native    # loads faster on this kind of CPU\n"
    "  sotto-convert gpt2/ -o gpt2.sotto --weights int4\n"
    "  sotto-convert gpt2/ --lora adapter/ --lora style/:0.5 -o tuned.sotto\n"
    "  sotto-convert out/ckpt.pt --vocab gpt2/ -o nano.sotto\n"
    "  sotto-convert gpt2/ --evaluate text.txt --windows 8 --weights int4\n"
    "  sotto-convert gpt2/ --compare text.txt --windows 8\n"
    "  sotto-convert gpt2/ --dry-run --report report.svg\n"
    "  sotto-convert gpt2/ --verify gpt2.sotto\n"
    "  sotto-convert gpt2.sotto --export safetensors -o gpt2-again/\n"
    "  sotto-convert gpt2.sotto --export gguf -o gpt2.Q8_0.gguf\n"
    "  sotto-convert --synthetic gpt2-xl -o xl.sotto      # random weights, for benchmarks\n"
    "  sotto-convert --synthetic custom --layers 2 --embedding 64 --heads 4 --positions 128 \\\n"
    "                --vocabulary-size 512 -o tiny.sotto\n"
    "\n"
    "Exit status: 0 success; 1 the input cannot be converted or the output cannot be written;\n"
    "2 wrong usage.";

constexpr const char* kShapeOptions[] = {"--vocabulary-size", "--positions", "--embedding", "--heads", "--layers"};

void add_shape_options(cli::Command& command, ModelShape& shape) {
  const auto add = [&](const char* name, uint32_t& value, const char* description) {
    cli::add_value(command, name, value, description, "N").shown_default("").group("Shape of --synthetic custom");
  };
  add("--vocabulary-size", shape.vocabulary_size, "number of tokens");
  add("--positions", shape.position_count, "number of positions, which limits the context");
  add("--embedding", shape.embedding_size, "width of the embedding");
  add("--heads", shape.head_count, "number of attention heads, a divisor of the width");
  add("--layers", shape.layer_count, "number of layers");
  add("--feed-forward", shape.feed_forward_size, "width of the feed-forward part (default: 4 x embedding)");
}

// Resolves the shape of --synthetic. Throws a UsageError.
void resolve_shape(const cli::Command& command, Arguments& arguments) {
  const bool is_custom = arguments.synthetic == "custom";
  for (const char* option : kShapeOptions) {
    if (is_custom && !cli::is_given(command, option)) cli::reject("--synthetic custom", std::string("needs ") + option);
  }
  for (const auto& option : command.options()) {
    const bool is_shape = option->heading().starts_with("Shape");
    if (is_shape && option->is_given() && !is_custom) cli::reject(option->name(), "requires --synthetic custom");
  }
  ModelShape& shape = arguments.synthetic_shape;
  if (is_custom && !cli::is_given(command, "--feed-forward")) shape.feed_forward_size = 4 * shape.embedding_size;
  if (is_custom) return;
  if (const auto published = find_published_shape(arguments.synthetic)) shape = *published;
}

// Parses DIR[:SCALE]. Throws a UsageError.
Adapter parse_adapter(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text};
  char* end = nullptr;
  const double scale = std::strtod(text.c_str() + colon + 1, &end);
  if (end == text.c_str() + colon + 1 || *end != '\0') return {text};  // the colon belongs to the directory
  const std::string directory = text.substr(0, colon);
  if (!std::isfinite(scale)) {
    cli::reject("--lora",
                "the scale of " + in_quotes(directory) + " is " + text.substr(colon + 1) + "; it must be finite");
  }
  return {directory, scale};
}

void add_options(cli::Command& command, Arguments& arguments) {
  const auto add_path = [&](const char* names, std::filesystem::path& path, const char* help) -> cli::Option& {
    return command.add_option(
        names, [&path](const std::string& text) { path = text; }, help);
  };
  const auto add_kind = [&](const char* name, WeightKind& kind, const char* help) {
    const auto set = [&kind](const std::string& text) {
      kind = text == "int4" ? WeightKind::kInt4 : WeightKind::kInt8;
    };
    command.add_option(name, set, help).metavar("KIND").check(cli::one_of({"int8", "int4"}));
  };
  add_path("CHECKPOINT", arguments.checkpoint, "directory or file to convert");
  add_path("-o,--output", arguments.output, "the .sotto file to write").metavar("FILE").check(cli::check_file_name);
  add_path("--evaluate", arguments.evaluation_text,
           "write no file; compare the quantized model with float32 on this text")
      .metavar("FILE")
      .excludes("--output,--name,--source,--pack,--force,--quiet");
  const auto set_compared = [&arguments](const std::string& text) {
    arguments.evaluation_text = text;
    arguments.compares_all = true;
  };
  command.add_option("--compare", set_compared, "evaluate every width of weights and every calibration, in one table")
      .metavar("FILE")
      .excludes("--evaluate,--output,--name,--source,--weights,--head,--pack,--force,--quiet");
  cli::add_value(command, "--windows", arguments.window_limit, "maximum number of windows of the text to use", "N")
      .shown_default("")
      .needs("--evaluate,--compare");
  command.add_option("--name", arguments.name, "name of the model (default: the checkpoint's name)").metavar("NAME");
  command.add_option("--source", arguments.source, "origin of the weights (default: the checkpoint)").metavar("TEXT");
  add_path("--vocab", arguments.vocabulary, "directory or GGUF file to read the tokenizer from").metavar("PATH");
  const auto set_activation = [&arguments](const std::string& name) {
    arguments.reading.activation = find_activation(name);
    if (!arguments.reading.activation) {
      cli::reject("--activation", '"' + name + "\" is not one of " + activation_names());
    }
  };
  command
      .add_option("--activation", set_activation,
                  "activation function instead of the checkpoint's: gelu, gelu_new, ...")
      .metavar("NAME");
  command
      .add_option(
          "--lora",
          [&arguments](const std::string& text) { arguments.reading.adapters.push_back(parse_adapter(text)); },
          "merge a LoRA adapter of PEFT, scaled by SCALE; repeatable", cli::Values::kRepeated)
      .metavar("DIR[:SCALE]");
  add_kind("--weights", arguments.weights, "weights of the layers: int8 (default), or int4 (smaller and faster)");
  add_kind("--head", arguments.head, "weights of the head and the token embeddings: int8 (default) or int4");
  cli::add_value(
      command, "--calibrate", arguments.calibration,
      "calibration: outliers, model (also compensates rounding, using generated text), a file of text, or none",
      "TEXT");
  cli::add_value(command, "--pack", arguments.pack, "instruction set to pack the weights for: native, none, or a name",
                 "ISA")
      .check(cli::one_of(pack_choices()));
  std::vector<std::string> shapes = published_shape_names();
  shapes.push_back("custom");
  command.add_option("--synthetic", arguments.synthetic, "random weights instead of a checkpoint: " + listed(shapes))
      .metavar("SHAPE")
      .check(cli::one_of(shapes))
      .excludes("CHECKPOINT,--activation,--lora,--calibrate");
  cli::add_value(command, "--seed", arguments.seed, "seed of the random weights", "N").needs("--synthetic");
  command.add_flag("--dry-run", arguments.dry_run, "quantize and print the summary, but write no file")
      .excludes("--output,--evaluate,--compare,--export,--verify");
  add_path("--report", arguments.picture, "also write the signal-to-noise ratios of the tensors as a picture")
      .metavar("FILE.svg")
      .check(cli::check_file_name)
      .excludes("--evaluate,--compare,--export,--verify");
  command
      .add_option("--export", arguments.export_format,
                  "write another format, from a checkpoint or a .sotto file: safetensors (a directory) or gguf")
      .metavar("FORMAT")
      .check(cli::one_of({"safetensors", "gguf"}))
      .needs("--output")
      .excludes("--source,--weights,--head,--pack,--json,--evaluate,--compare");
  add_path("--verify", arguments.verified, "write no file; compare this .sotto file with the checkpoint")
      .metavar("MODEL")
      .check(cli::check_file_name)
      .excludes(
          "--output,--name,--source,--vocab,--weights,--head,--pack,--force,--json,--evaluate,--compare,--export");
  command.add_flag("--force", arguments.force, "replace an output file that is not a .sotto file");
  command.add_flag("--json", arguments.json, "print the summary as JSON").excludes("--quiet");
  command.add_flag("--quiet", arguments.quiet, "print nothing but errors");
  add_shape_options(command, arguments.synthetic_shape);
}

// Throws a UsageError for options that contradict each other.
void validate(const cli::Command& command, Arguments& arguments) {
  if (cli::first_given(command, {"CHECKPOINT", "--synthetic"}).empty()) {
    throw cli::UsageError("CHECKPOINT or --synthetic is required");
  }
  if (cli::first_given(command, {"--output", "--dry-run", "--evaluate", "--compare", "--verify"}).empty()) {
    throw cli::UsageError("--output, --dry-run, --evaluate, --compare or --verify is required");
  }
  resolve_shape(command, arguments);
  if (!arguments.synthetic.empty()) arguments.calibration = "none";  // random weights have nothing to calibrate
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

// `calibration` is a value of --calibrate.
CalibrationEffort effort_of(const std::string& calibration) {
  return calibration == "outliers" ? CalibrationEffort::kOutliers : CalibrationEffort::kFull;
}

std::vector<TokenWindow> calibration_windows(const std::string& calibration, const Checkpoint& checkpoint,
                                             const WriteOptions& options) {
  if (calibration == "none") return {};
  if (calibration == "outliers") return {random_tokens(checkpoint.info())};
  if (calibration == "model") return write_calibration_text(checkpoint, options);
  if (options.tokenizer == nullptr) throw std::runtime_error("--calibrate TEXT needs the checkpoint's tokenizer");
  return cut_calibration_text(checkpoint, options, read_text_file(calibration, kTextLimit));
}

void convert(const Arguments& arguments) {
  if (!arguments.dry_run) check_output(arguments);
  ConversionSummary summary;
  const auto checkpoint = open_input(arguments);
  summary.notes = checkpoint->notes();
  const auto given = [](const std::string& text, const std::string& known) { return text.empty() ? known : text; };
  checkpoint->relabel(given(arguments.name, checkpoint->info().name),
                      given(arguments.source, checkpoint->info().source));
  const auto tokenizer = read_tokenizer(arguments, checkpoint->info(), summary.notes);
  std::optional<Packer> packer;
  if (arguments.pack != "none") packer.emplace(arguments.pack);

  WriteOptions options;
  options.tokenizer = tokenizer ? &*tokenizer : nullptr;
  options.packer = packer ? &*packer : nullptr;
  options.layers = arguments.weights;
  options.head = arguments.head;
  options.is_dry_run = arguments.dry_run;
  {
    const ProgressBar bar(!arguments.quiet);
    options.progress = [&](double fraction) {
      if (interrupted != 0) throw std::runtime_error("interrupted");
      bar.show(fraction);
    };
    const std::vector<TokenWindow> windows = calibration_windows(arguments.calibration, *checkpoint, options);
    options.calibration = windows;
    options.effort = effort_of(arguments.calibration);
    options.thread_count = std::max(1u, std::thread::hardware_concurrency());
    summary.written = write_model(*checkpoint, arguments.output, options);
  }
  summary.info = checkpoint->info();
  summary.output = arguments.dry_run ? "dry run" : arguments.output.string();
  summary.has_tokenizer = tokenizer.has_value();
  if (tokenizer && summary.written.vocabulary_size == 0) {
    summary.notes.push_back("a token is longer than 255 bytes, so grammars cannot be used");
  }
  if (packer && summary.written.packed_size == 0) {
    summary.notes.push_back("4-bit weights need no packing: every CPU uses them in place");
  } else if (packer) {
    summary.packed_isa = packer->isa();
  }
  if (!arguments.picture.empty()) write_text_file(arguments.picture, summary_svg(summary));
  if (arguments.quiet) return;
  if (arguments.json) return print(summary_json(summary));
  for (const std::string& note : summary.notes) {
    std::cerr << "sotto-convert: note: " << note << '\n';
  }
  print(summary_table(summary));
}

void export_model(const Arguments& arguments) {
  check_output(arguments);
  std::vector<std::string> notes;
  std::unique_ptr<Checkpoint> checkpoint;
  std::optional<TokenizerData> data;
  std::optional<TokenizerView> view;
  if (is_model_file(arguments.checkpoint)) {
    auto file = std::make_unique<ModelFile>(arguments.checkpoint);
    if (file->tokenizer() != nullptr) view = *file->tokenizer();
    checkpoint = std::move(file);
  } else {
    checkpoint = open_input(arguments);
    notes = checkpoint->notes();
    data = read_tokenizer(arguments, checkpoint->info(), notes);
    if (data) view = data->view();
  }
  if (!arguments.name.empty()) checkpoint->relabel(arguments.name, checkpoint->info().source);
  if (!arguments.quiet) {
    for (const std::string& note : notes) std::cerr << "sotto-convert: note: " << note << '\n';
  }
  const ProgressBar bar(!arguments.quiet);
  ExportOptions options;
  options.tokenizer = view ? &*view : nullptr;
  options.progress = [&](double fraction) {
    if (interrupted != 0) throw std::runtime_error("interrupted");
    bar.show(fraction);
  };
  (arguments.export_format == "gguf" ? export_gguf : export_safetensors)(*checkpoint, arguments.output, options);
}

// Compares the file with the checkpoint and prints the result. Returns whether it was converted from these weights.
bool verify_model(const Arguments& arguments) {
  const auto checkpoint = open_input(arguments);
  const Verification result =
      verify(ModelFile(arguments.verified), *checkpoint, std::max(1u, std::thread::hardware_concurrency()));
  if (!arguments.quiet) print(verification_text(result));
  return result.is_same();
}

// A combination of width and calibration for --compare.
struct Variant {
  std::string name;
  WeightKind layers;
  WeightKind head;
  std::string calibration;
};

std::vector<Variant> variants_to_measure(const Arguments& arguments) {
  constexpr WeightKind kInt8 = WeightKind::kInt8, kInt4 = WeightKind::kInt4;
  const std::string& given = arguments.calibration;
  if (!arguments.compares_all) {
    std::vector<Variant> variants = {{"int8", kInt8, kInt8, given}};
    if (arguments.weights == kInt4 || arguments.head == kInt4) {
      variants.push_back({"int4", arguments.weights, arguments.head, given});
    }
    return variants;
  }
  const bool is_text = given != "none" && given != "outliers";
  std::vector<Variant> variants;
  for (const std::string& calibration : {std::string("none"), std::string("outliers"), is_text ? given : "model"}) {
    variants.push_back({"int8, " + calibration, kInt8, kInt8, calibration});
    variants.push_back({"int4, " + calibration, kInt4, kInt8, calibration});
    variants.push_back({"int4, head int4, " + calibration, kInt4, kInt4, calibration});
  }
  return variants;
}

void measure(const Arguments& arguments) {
  std::vector<std::string> notes;
  const auto checkpoint = open_input(arguments);
  const auto tokenizer = read_tokenizer(arguments, checkpoint->info(), notes);
  if (!tokenizer) {
    const std::string option = arguments.compares_all ? "--compare" : "--evaluate";
    throw std::runtime_error(option + " needs the checkpoint's tokenizer");
  }
  WriteOptions options;
  options.tokenizer = &*tokenizer;
  options.thread_count = std::max(1u, std::thread::hardware_concurrency());
  std::map<std::string, std::vector<TokenWindow>> windows;  // calibration text, by its --calibrate value
  std::vector<QuantizedFile> quantized;
  for (const Variant& variant : variants_to_measure(arguments)) {
    const auto [entry, is_new] = windows.try_emplace(variant.calibration);
    if (is_new) entry->second = calibration_windows(variant.calibration, *checkpoint, options);
    options.calibration = entry->second;
    options.effort = effort_of(variant.calibration);
    options.layers = variant.layers;
    options.head = variant.head;
    WriteReport report;
    std::vector<uint8_t> bytes = convert_to_bytes(*checkpoint, options, &report);
    quantized.push_back({variant.name, std::move(bytes), report.lowest_snr_db()});
  }
  const std::string text = read_text_file(arguments.evaluation_text, kTextLimit);

  Evaluation evaluation;
  {
    const ProgressBar bar(true);
    EvaluationOptions evaluation_options;
    evaluation_options.window_limit = arguments.window_limit;
    evaluation_options.thread_count = options.thread_count;
    evaluation_options.on_window = [&](size_t done, size_t total) {
      if (interrupted != 0) throw std::runtime_error("interrupted");
      bar.show(static_cast<double>(done) / static_cast<double>(total));
    };
    evaluation = evaluate(load_float_model(*checkpoint), quantized, text, evaluation_options);
  }
  print(arguments.json ? evaluation_json(evaluation) : evaluation_table(evaluation));
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  using namespace sotto;
  try {
    Arguments arguments;
    cli::Command command("sotto-convert", kDescription);
    command.set_footer("CHECKPOINT is a directory, or the file of its weights. Formats:\n  " +
                       checkpoint_formats("\n  ") + "\n\n" + kFooter);
    add_options(command, arguments);
    command.on_parsed([&] { validate(command, arguments); });
    if (const auto exit_code = cli::parse_command_line(command, argc, argv)) return *exit_code;
    if (!arguments.verified.empty()) return verify_model(arguments) ? 0 : 1;
    catch_interrupts();
    if (!arguments.export_format.empty()) {
      export_model(arguments);
    } else if (!arguments.evaluation_text.empty()) {
      measure(arguments);
    } else {
      convert(arguments);
    }
  } catch (const std::exception& error) {
    std::cerr << "sotto-convert: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
