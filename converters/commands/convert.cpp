// Converts a checkpoint: quantizes it, writes a .sotto file and prints the summary. Also --dry-run.
#include <algorithm>
#include <optional>
#include <thread>

#include "converters/commands/commands.h"
#include "converters/commands/progress.h"
#include "converters/file.h"
#include "converters/packing.h"
#include "converters/report.h"

namespace sotto {

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
    const Progress progress(!arguments.quiet);
    options.progress = [&](double fraction) { progress.show(fraction); };
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
  print_notes(summary.notes);
  print(summary_table(summary));
}

}  // namespace sotto
