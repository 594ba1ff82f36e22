// `sotto list` lists the models of a directory.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/memory_plan.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMinContext = 16;

struct ListOptions {
  std::string directory = ".";
  uint32_t context_tokens = 0;  // that models must have; 0 for any
  uint64_t budget = 0;          // 0 for none
  bool smallest = false;
  bool json = false;
};

struct Entry {
  std::string file;
  uint64_t file_bytes = 0;
  std::string error;  // if the file cannot be used; the fields below are empty then
  std::string name;
  ModelInfo info = {};
  uint64_t total_bytes = 0;  // with a session of the default parameters, or of --ctx
};

// Reads the structure of a file, without its weights.
Entry read_entry(const fs::path& path, const ListOptions& options) {
  Entry entry;
  entry.file = path.filename().string();
  std::error_code ignored;
  entry.file_bytes = fs::file_size(path, ignored);
  if (ignored) entry.file_bytes = 0;
  ModelOptions model_options;
  model_options.path = path.string();
  model_options.verify_checksums = false;
  try {
    const size_t memory = model_memory_size(model_options);
    model_options.isa = SOTTO_ISA_REFERENCE;  // packs no weights
    const LoadedModel model(model_options);
    entry.name = to_utf8(call(path.string(), [&] { return model.get().text(SOTTO_MODEL_TEXT_NAME); }));
    entry.info = model.info();
    PlannedModel planned = planned_model(entry.info);
    planned.is_packed = memory <= model_object_bytes(planned);
    SessionParams params;
    if (options.context_tokens <= planned.max_context_tokens) params.context_tokens = options.context_tokens;
    entry.total_bytes = plan_memory(planned, resolved_session(planned, params)).total_bytes();
  } catch (const Failure& failure) {
    const std::string message = failure.what();
    const std::string prefix = path.string() + ": ";
    entry.error = to_utf8(message.starts_with(prefix) ? message.substr(prefix.size()) : message);
  }
  return entry;
}

std::vector<Entry> read_directory(const ListOptions& options) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(options.directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".sotto") paths.push_back(at->path());
  }
  if (error) throw Failure(options.directory + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  std::vector<Entry> entries;
  for (const fs::path& path : paths) entries.push_back(read_entry(path, options));
  return entries;
}

// Returns whether a model meets the needs of the options.
bool fits(const ListOptions& options, const Entry& entry) {
  return entry.error.empty() && entry.info.max_context_tokens >= options.context_tokens &&
         (options.budget == 0 || entry.total_bytes <= options.budget);
}

std::string bits_text(const ModelInfo& info) {
  const std::string layers = std::to_string(info.layer_weight_bits);
  return info.layer_weight_bits == info.head_weight_bits ? layers
                                                         : layers + '/' + std::to_string(info.head_weight_bits);
}

Json entry_json(const ListOptions& options, const Entry& entry) {
  Json object = {{"file", to_utf8(entry.file)}, {"file_bytes", entry.file_bytes}};
  if (!entry.error.empty()) {
    object.add("error", entry.error);
    return object;
  }
  object.add("name", entry.name);
  object.add("parameters", entry.info.parameter_count);
  object.add("layer_weight_bits", entry.info.layer_weight_bits);
  object.add("head_weight_bits", entry.info.head_weight_bits);
  object.add("max_context_tokens", entry.info.max_context_tokens);
  object.add("vocabulary_size", entry.info.vocabulary_size);
  object.add("total_bytes", entry.total_bytes);
  object.add("fits", fits(options, entry));
  return object;
}

void print_table(const ListOptions& options, const std::vector<Entry>& entries, OutputWriter& stream) {
  std::vector<Table::Column> columns = {
      {"file", Table::Style::kText}, {"size"}, {"parameters"}, {"bits"}, {"context"}, {"vocabulary"}, {"in memory"}};
  const bool has_need = options.budget != 0 || options.context_tokens != 0;
  if (has_need) columns.push_back({"fits", Table::Style::kText});
  columns.push_back({"name", Table::Style::kText});
  Table table(std::move(columns));
  uint64_t size = 0;
  size_t broken_count = 0;
  for (const Entry& entry : entries) {
    size += entry.file_bytes;
    std::vector<std::string> cells = {for_terminal(to_utf8(entry.file)), byte_size(entry.file_bytes)};
    const bool is_broken = !entry.error.empty();
    if (is_broken) {
      ++broken_count;
      cells.insert(cells.end(), 5, "-");
    } else {
      const ModelInfo& info = entry.info;
      cells.insert(cells.end(),
                   {with_thousands(info.parameter_count), bits_text(info), with_thousands(info.max_context_tokens),
                    with_thousands(info.vocabulary_size), byte_size(entry.total_bytes)});
    }
    if (has_need) cells.push_back(fits(options, entry) ? "yes" : "no");
    cells.push_back(for_terminal(is_broken ? "unusable: " + entry.error : entry.name));
    table.add_row(std::move(cells));
  }
  if (!entries.empty()) table.print(stream);
  stream.write(std::to_string(entries.size()) + (entries.size() == 1 ? " file, " : " files, ") + byte_size(size) +
               (broken_count != 0 ? ", " + std::to_string(broken_count) + " unusable" : "") + '\n');
}

int run_list(const ListOptions& options) {
  const std::vector<Entry> entries = read_directory(options);
  const Entry* smallest = nullptr;
  for (const Entry& entry : entries) {
    const bool is_smaller = smallest == nullptr || entry.total_bytes < smallest->total_bytes;
    if (fits(options, entry) && is_smaller) smallest = &entry;
  }
  OutputWriter stream;
  if (options.json) {
    Json models = Json::array();
    for (const Entry& entry : entries) models.push_back(entry_json(options, entry));
    const Json object = {{"directory", to_utf8(options.directory)},
                         {"models", std::move(models)},
                         {"smallest", smallest != nullptr ? Json(to_utf8(smallest->file)) : Json()}};
    stream.write(object.dump(2) + '\n');
  } else if (!options.smallest) {
    print_table(options, entries, stream);
  } else if (smallest != nullptr) {
    stream.write((fs::path(options.directory) / smallest->file).string() + '\n');
  }
  if (options.smallest && smallest == nullptr) throw Failure(options.directory + ": no model fits");
  return kExitOk;
}

}  // namespace

void declare_list(Command& command, Run& run) {
  auto options = std::make_shared<ListOptions>();
  command.add_option("DIR", options->directory, "The directory; the current one if absent").check(check_file_name);
  add_value(command, "-c,--ctx,--num-ctx,--ctx-size", options->context_tokens,
            "Number of tokens in the KV ring, which models must have", "N")
      .shown_default("each model's maximum");
  add_size(command, "--budget", options->budget, "Memory that a model and a session may take");
  command.add_flag("--smallest", options->smallest,
                   "Print only the path of the model that takes the least memory of those that fit");
  command.add_flag("--json", options->json, "Print one JSON object").excludes("--smallest");
  command.set_footer(
      "Only the structure of each file is read. \"in memory\" is the memory of the weights and a\n"
      "session, as of sotto plan. Bits such as 4/8 are those of the layers and of the head.\n"
      "\n"
      "Examples:\n"
      "  sotto list models/\n"
      "  sotto list models/ --budget 64MiB --ctx 512\n"
      "  sotto generate -m \"$(sotto list models/ --smallest)\" -p \"Once upon a time\"");
  command.on_parsed([&run, options, &command] {
    if (is_given(command, "--ctx") && options->context_tokens < kMinContext) {
      reject("--ctx", "is " + std::to_string(options->context_tokens) + "; it must be at least 16");
    }
    run = [options] { return run_list(*options); };
  });
}

}  // namespace sotto::cli
