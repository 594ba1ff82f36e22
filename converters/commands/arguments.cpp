#include "converters/commands/arguments.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "converters/file.h"
#include "converters/packing.h"
#include "converters/readers/synthetic.h"

namespace sotto {

namespace {

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

constexpr char kFooter[] =
    "The tokenizer is read from the same directory or file. Without a tokenizer, the model works\n"
    "on token ids only.\n"
    "\n"
    "The output is written under a temporary name and renamed at the end. An existing .sotto file is\n"
    "replaced atomically, and any other existing file only with --force.\n"
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
    "--simulate rounds every weight to the nearest of 2^bits - 1 multiples of a scale, which 32 weights\n"
    "share, and prints mean squared error, largest error and signal-to-noise ratio: for all weights,\n"
    "and with the most important ones, those of the largest magnitude, kept exact (--keep). Each bit\n"
    "adds about 6 dB. int4 and int8 are the formats of model files, without calibration.\n"
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
    "  sotto-convert gpt2/ --simulate --keep 0.5\n"
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
  add("--vocabulary-size", shape.vocabulary_size, "Number of tokens");
  add("--positions", shape.position_count, "Number of positions, which limits the context");
  add("--embedding", shape.embedding_size, "Width of the embedding");
  add("--heads", shape.head_count, "Number of attention heads, a divisor of the width");
  add("--layers", shape.layer_count, "Number of layers");
  add("--feed-forward", shape.feed_forward_size, "Width of the feed-forward part (default: 4 x embedding)");
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

cli::Option& add_path(cli::Command& command, const char* names, std::filesystem::path& path, const char* help) {
  return command.add_option(
      names, [&path](const std::string& text) { path = text; }, help);
}

// Declares an option whose value, a path, also chooses the task.
cli::Option& add_task(cli::Command& command, const char* name, Arguments& arguments, Task task,
                      std::filesystem::path& path, const char* help) {
  return command.add_option(
      name,
      [&arguments, &path, task](const std::string& text) {
        arguments.task = task;
        path = text;
      },
      help);
}

void add_evaluation_options(cli::Command& command, Arguments& arguments) {
  add_task(command, "--evaluate", arguments, Task::kEvaluate, arguments.evaluation_text,
           "Write no file; compare the quantized model with float32 on this text")
      .metavar("FILE")
      .excludes("--output,--name,--source,--pack,--force,--quiet");
  add_task(command, "--compare", arguments, Task::kCompare, arguments.evaluation_text,
           "Evaluate every width of weights and every calibration, in one table")
      .metavar("FILE")
      .excludes("--evaluate,--output,--name,--source,--weights,--head,--pack,--force,--quiet");
  cli::add_value(command, "--windows", arguments.window_limit, "Maximum number of windows of the text to use", "N")
      .shown_default("")
      .needs("--evaluate,--compare");
}

void add_checkpoint_options(cli::Command& command, Arguments& arguments) {
  command.add_option("--name", arguments.name, "Name of the model (default: the checkpoint's name)").metavar("NAME");
  command.add_option("--source", arguments.source, "Origin of the weights (default: the checkpoint)").metavar("TEXT");
  add_path(command, "--vocab", arguments.vocabulary, "Directory or GGUF file to read the tokenizer from")
      .metavar("PATH");
  const auto set_activation = [&arguments](const std::string& name) {
    arguments.reading.activation = find_activation(name);
    if (!arguments.reading.activation) {
      cli::reject("--activation", '"' + name + "\" is not one of " + activation_names());
    }
  };
  command
      .add_option("--activation", set_activation,
                  "Activation function instead of the checkpoint's: gelu, gelu_new, ...")
      .metavar("NAME");
  command
      .add_option(
          "--lora",
          [&arguments](const std::string& text) { arguments.reading.adapters.push_back(parse_adapter(text)); },
          "Merge a LoRA adapter of PEFT, scaled by SCALE; repeatable", cli::Values::kRepeated)
      .metavar("DIR[:SCALE]");
  command.add_flag("--keep-score", arguments.reading.keeps_score,
                   "Keep the head of a reward or classification model, for sotto score --reward");
}

void add_kind(cli::Command& command, const char* name, WeightKind& kind, const char* help) {
  const auto set = [&kind](const std::string& text) { kind = text == "int4" ? WeightKind::kInt4 : WeightKind::kInt8; };
  command.add_option(name, set, help).metavar("KIND").choices({"int8", "int4"});
}

void add_weight_options(cli::Command& command, Arguments& arguments) {
  add_kind(command, "--weights", arguments.weights,
           "Weights of the layers: int8 (default), or int4 (smaller and faster)");
  add_kind(command, "--head", arguments.head, "Weights of the head and the token embeddings: int8 (default) or int4");
  cli::add_value(
      command, "--calibrate", arguments.calibration,
      "Calibration: outliers, model (also compensates rounding, using generated text), a file of text, or none",
      "TEXT");
  cli::add_value(command, "--pack", arguments.pack, "Instruction set to pack the weights for: native, none, or a name",
                 "ISA")
      .choices(pack_choices());
}

void add_synthetic_options(cli::Command& command, Arguments& arguments) {
  std::vector<std::string> shapes = published_shape_names();
  shapes.push_back("custom");
  command.add_option("--synthetic", arguments.synthetic, "Random weights instead of a checkpoint: " + listed(shapes))
      .metavar("SHAPE")
      .choices(shapes)
      .excludes("CHECKPOINT,--activation,--lora,--keep-score,--calibrate");
  cli::add_value(command, "--seed", arguments.seed, "Seed of the random weights", "N").needs("--synthetic");
}

void add_simulation_options(cli::Command& command, Arguments& arguments) {
  command
      .add_flag(
          "--simulate", [&arguments] { arguments.task = Task::kSimulate; },
          "Write no file; print the errors of all weights at 2, 3, 4, 5, 6 and 8 bits, and of both formats")
      .excludes(
          "--output,--name,--source,--vocab,--weights,--head,--calibrate,--pack,--dry-run,--evaluate,--compare,"
          "--export,--verify,--report,--force,--quiet");
  cli::add_value(command, "--keep", arguments.kept_percent,
                 "With --simulate: the share of the largest weights that are also simulated as exact", "PERCENT")
      .needs("--simulate");
}

void add_export_and_verify_options(cli::Command& command, Arguments& arguments) {
  const auto set_format = [&arguments](const std::string& format) {
    arguments.task = Task::kExport;
    arguments.export_format = format;
  };
  command
      .add_option("--export", set_format,
                  "Write another format, from a checkpoint or a .sotto file: safetensors (a directory) or gguf")
      .metavar("FORMAT")
      .choices({"safetensors", "gguf"})
      .needs("--output")
      .excludes("--source,--weights,--head,--pack,--json,--evaluate,--compare");
  add_task(command, "--verify", arguments, Task::kVerify, arguments.verified,
           "Write no file; compare this .sotto file with the checkpoint")
      .metavar("MODEL")
      .check(cli::check_file_name)
      .completes({}, ".sotto")
      .excludes(
          "--output,--name,--source,--vocab,--weights,--head,--pack,--force,--json,--evaluate,--compare,--export");
}

// The order is that of the help text.
void add_options(cli::Command& command, Arguments& arguments) {
  add_path(command, "CHECKPOINT", arguments.checkpoint, "Directory or file to convert");
  add_path(command, "-o,--output", arguments.output, "The .sotto file to write")
      .metavar("FILE")
      .check(cli::check_file_name);
  add_evaluation_options(command, arguments);
  add_checkpoint_options(command, arguments);
  add_weight_options(command, arguments);
  add_synthetic_options(command, arguments);
  command.add_flag("--dry-run", arguments.dry_run, "Quantize and print the summary, but write no file")
      .excludes("--output,--evaluate,--compare,--export,--verify");
  add_simulation_options(command, arguments);
  add_path(command, "--report", arguments.picture, "Also write the signal-to-noise ratios of the tensors as a picture")
      .metavar("FILE.svg")
      .check(cli::check_file_name)
      .excludes("--evaluate,--compare,--export,--verify");
  add_export_and_verify_options(command, arguments);
  command.add_flag("--force", arguments.force, "Replace an output file that is not a .sotto file");
  command.add_flag("--json", arguments.json, "Print the summary as JSON").excludes("--quiet");
  command.add_flag("--quiet", arguments.quiet, "Print nothing but errors");
  add_shape_options(command, arguments.synthetic_shape);
}

// Throws a UsageError for options that contradict each other.
void validate(const cli::Command& command, Arguments& arguments) {
  if (cli::first_given(command, {"CHECKPOINT", "--synthetic"}).empty()) {
    throw cli::UsageError("CHECKPOINT or --synthetic is required");
  }
  if (cli::first_given(command, {"--output", "--dry-run", "--simulate", "--evaluate", "--compare", "--verify"})
          .empty()) {
    throw cli::UsageError("--output, --dry-run, --simulate, --evaluate, --compare or --verify is required");
  }
  if (!(arguments.kept_percent >= 0 && arguments.kept_percent <= 100)) {
    cli::reject("--keep", "is " + cli::number_text(arguments.kept_percent) + "; it must be from 0 to 100");
  }
  resolve_shape(command, arguments);
  if (!arguments.synthetic.empty()) arguments.calibration = "none";  // random weights have no outliers to calibrate
}

}  // namespace

void add_arguments(cli::Command& command, Arguments& arguments) {
  command.set_footer("CHECKPOINT is a directory, or the file of its weights. Formats:\n  " +
                     checkpoint_formats("\n  ") + "\n\n" + kFooter);
  add_options(command, arguments);
  command.on_parsed([&] { validate(command, arguments); });
}

}  // namespace sotto
