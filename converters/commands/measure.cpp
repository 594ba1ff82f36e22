// --evaluate and --compare: compares quantized models with float32 on a text.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>

#include "converters/commands/commands.h"
#include "converters/commands/progress.h"
#include "converters/file.h"
#include "converters/quantize/evaluate.h"

namespace sotto {

namespace {

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
  if (arguments.task == Task::kEvaluate) {
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

}  // namespace

void measure(const Arguments& arguments) {
  std::vector<std::string> notes;
  const auto checkpoint = open_input(arguments);
  const auto tokenizer = read_tokenizer(arguments, checkpoint->info(), notes);
  if (!tokenizer) {
    const std::string option = arguments.task == Task::kCompare ? "--compare" : "--evaluate";
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
  const std::string text = read_text_file(arguments.evaluation_text, kMaxTextBytes);

  Evaluation evaluation;
  {
    const Progress progress(true);
    EvaluationOptions evaluation_options;
    evaluation_options.window_limit = arguments.window_limit;
    evaluation_options.thread_count = options.thread_count;
    evaluation_options.on_window = [&](size_t done, size_t total) {
      progress.show(static_cast<double>(done) / static_cast<double>(total));
    };
    evaluation = evaluate(load_float_model(*checkpoint), quantized, text, evaluation_options);
  }
  print(arguments.json ? evaluation_json(evaluation) : evaluation_table(evaluation));
}

}  // namespace sotto
