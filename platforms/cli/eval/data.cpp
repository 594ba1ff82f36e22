#include "platforms/cli/eval/data.h"

#include <algorithm>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {

void add_data_options(Command& command, DataOptions& options) {
  command.add_option("FILE", options.path, "The lines of JSON; standard input if absent").check(check_file_name);
  command.add_flag("--json", options.json, "Print one JSON object: the totals, and the results of all \"lines\"");
}

std::vector<Json> evaluate_lines(const DataOptions& options, const std::function<Json(const Json& line)>& evaluate) {
  const Input input(options.path);
  std::vector<Json> results;
  std::string line;
  for (uint64_t number = 1; read_line(input, number, line); ++number) {
    try {
      const Json object = parse_json(line);
      if (!object.is_object()) throw Failure("is not an object");
      Json& result = results.emplace_back(evaluate(object));
      if (const Json* id = object.find("id")) result["id"] = *id;
    } catch (const Failure& failure) {
      throw Failure(input.name + ":" + std::to_string(number) + ": " + failure.what());
    }
  }
  if (results.empty()) throw Failure(input.name + ": is empty");
  return results;
}

const Json& required(const Json& object, const std::string& name) {
  const Json* value = object.find(name);
  if (value == nullptr) throw Failure("has no member \"" + name + '"');
  return *value;
}

const std::string& required_text(const Json& object, const std::string& name) {
  return to_text(required(object, name), name);
}

std::vector<std::string> required_texts(const Json& object, const std::string& name) {
  std::vector<std::string> texts;
  for (const Json& text : to_list(required(object, name), name)) texts.push_back(to_text(text, name));
  if (texts.empty()) throw Failure(name + " is empty");
  return texts;
}

double mean_of(const std::vector<Json>& results, std::string_view name) {
  double sum = 0.0;
  for (const Json& result : results) sum += result.find(name)->number();
  return sum / static_cast<double>(results.size());
}

void print_totals(const DataOptions& options, Json totals, const std::vector<Json>& results, const Rows& rows) {
  OutputWriter stream;
  if (options.json) {
    totals["lines"] = results;
    return stream.write(totals.dump() + '\n');
  }
  size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  for (const auto& [name, value] : rows) {
    stream.write(name + std::string(width - name.size() + 2, ' ') + value + '\n');
  }
}

}  // namespace sotto::cli
