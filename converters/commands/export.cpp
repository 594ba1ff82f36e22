// --export writes a .sotto file in another format.
#include "converters/export.h"

#include "converters/commands/commands.h"
#include "converters/commands/progress.h"
#include "converters/file.h"
#include "converters/readers/model_file.h"

namespace sotto {

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
  if (!arguments.quiet) print_notes(notes);
  const Progress progress(!arguments.quiet);
  ExportOptions options;
  options.tokenizer = view ? &*view : nullptr;
  options.progress = [&](double fraction) { progress.show(fraction); };
  (arguments.export_format == "gguf" ? export_gguf : export_safetensors)(*checkpoint, arguments.output, options);
}

}  // namespace sotto
