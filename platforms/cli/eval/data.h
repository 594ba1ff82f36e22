// The data sets of `sotto eval` and their results. A data set has lines of JSON; messages name the file and the line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/support/json.h"

namespace sotto::cli {

struct DataOptions {
  std::string path = "-";
  bool json = false;
};

// Adds FILE and --json. `options` must outlive `command`.
void add_data_options(Command& command, DataOptions& options);

// Calls `evaluate` for each line, a JSON object, and adds the member "id" of the line to the result. Returns the
// results. Throws a Failure that names the line, also if there is none.
std::vector<Json> evaluate_lines(const DataOptions& options, const std::function<Json(const Json& line)>& evaluate);

// Returns a member, and throws a Failure if it is missing or has another type.
const Json& required(const Json& object, const std::string& name);
const std::string& required_text(const Json& object, const std::string& name);
std::vector<std::string> required_texts(const Json& object, const std::string& name);  // at least one

// Returns the mean of a number in all results.
double mean_of(const std::vector<Json>& results, std::string_view name);

// Prints the totals with --json, and the results as "lines", or otherwise `rows`: the names of totals with their
// values.
using Rows = std::vector<std::pair<std::string, std::string>>;
void print_totals(const DataOptions& options, Json totals, const std::vector<Json>& results, const Rows& rows);

}  // namespace sotto::cli
