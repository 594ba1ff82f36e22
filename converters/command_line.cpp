#include "converters/command_line.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <vector>

#include "converters/quantize/packing.h"
#include "converters/synthetic.h"

namespace sotto {
namespace {

constexpr int kUsageError = 2;

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
    "the tokenizer's files. Without these files the model works on token ids only.\n"
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

}  // namespace

std::optional<Command> parse_command_line(int argc, char** argv, int* exit_code) {
  Command command;
  CLI::App app(kDescription, "sotto-convert");
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  auto* checkpoint = app.add_option("CHECKPOINT", command.checkpoint, "directory to convert");
  auto* output = app.add_option("-o,--output", command.output, "the .sotto file to write");
  auto* evaluate =
      app.add_option("--evaluate", command.evaluation_text, "write no file; compare with float32 on this text")
          ->excludes(output);
  app.add_option("--windows", command.window_limit, "maximum number of windows that --evaluate uses")->needs(evaluate);
  app.add_option("--name", command.name, "name of the model (default: the directory's name)")->excludes(evaluate);
  app.add_option("--vocab", command.vocabulary, "directory to read the tokenizer from");
  const std::map<std::string, WeightKind> kinds = {{"int8", WeightKind::kInt8}, {"int4", WeightKind::kInt4}};
  app.add_option("--weights", command.weights, "int8 (default), or int4: smaller and faster")
      ->transform(CLI::CheckedTransformer(kinds))
      ->type_name("KIND");
  auto* head = app.add_option("--head", command.head, "kind of the head and token embeddings (default: --weights)")
                   ->transform(CLI::CheckedTransformer(kinds))
                   ->type_name("KIND");
  app.add_option("--pack", command.pack, "instruction set to pack the weights for: native, none, or a name")
      ->check(CLI::IsMember(pack_choices()))
      ->excludes(evaluate)
      ->capture_default_str();
  auto* synthetic = app.add_option("--synthetic", command.synthetic, "random weights instead of a checkpoint")
                        ->check(CLI::IsMember({"distilgpt2", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "custom"}))
                        ->excludes(checkpoint);
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
  } catch (const CLI::Success& success) {
    *exit_code = app.exit(success);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::cerr << "sotto-convert: " << error.what() << "\nTry 'sotto-convert --help'.\n";
    *exit_code = kUsageError;
    return std::nullopt;
  }
  return command;
}

}  // namespace sotto
