#include "platforms/cli/options/base.h"

#include <string>

#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Reads the object "parameters" of --json, and writes to the objects of the options.
struct ParametersReader {
  SamplerOptions& sampler;
  StopOptions& stops;
  SessionParams& session;
  int64_t& token_limit;

  // Reads a parameter that is not one of the sampler. Returns false if there is none with this name.
  bool read(const std::string& name, const Json& value) const {
    if (name == "threads" || name == "batch_tokens" || name == "isa") return true;  // they do not change the text
    if (name == "max_tokens") {
      token_limit = to_integer(value, name);
    } else if (name == "max_time") {
      stops.max_seconds = static_cast<double>(to_float(value, name));
    } else if (name == "stop" || name == "banned_strings") {
      auto& texts = name == "stop" ? stops.params.stop_strings : stops.params.banned_strings;
      for (const Json& text : to_list(value, name)) texts.push_back(Json(to_text(text, name)).dump());
    } else if (name == "stop_tokens") {
      for (const Token token : to_tokens(value, name)) stops.stop_tokens.push_back(std::to_string(token));
    } else if (const Parameter* of_stops = find_parameter(kStopParameters, name)) {
      sotto_stop_params& c_params = stops.params;
      read_parameter(*of_stops, value, name, &c_params);
    } else if (const Parameter* of_session = find_parameter(kSessionParameters, name)) {
      sotto_session_params& c_params = session;
      read_parameter(*of_session, value, name, &c_params);
    } else if (name == "search" || name == "grammar" || name == "guide" || name == "draft") {
      throw Failure(name + " is not read by --params; remove it, and give its options");
    } else if (name == "token_healing") {
      if (to_bool(value, name)) throw Failure("token_healing is not read by --params; set it to false");
    } else {
      return false;
    }
    return true;
  }

  // Returns the parameters of the sampler in `object`, which are read too.
  Json read_object(const Json& object) const {
    if (!object.is_object()) throw Failure("is not an object with parameters");
    Json rest = Json::object();
    for (const auto& [name, value] : object.members()) {
      if (!value.is_null() && !read(name, value)) rest.add(name, value);
    }
    read_sampler_json(rest, sampler.params);
    sampler.has_seed = sampler.has_seed || rest.contains("seed");
    return rest;
  }

  void read_file(const std::string& path) const {
    try {
      const Json all = parse_json(read_all(path));
      const Json* object = all.is_object() ? all.find("parameters") : nullptr;
      read_object(object == nullptr ? all : *object);
    } catch (const Failure& failure) {
      const std::string message = failure.what();
      throw Failure(message.starts_with(path) ? message : path + ": " + message);
    }
  }
};

}  // namespace

void add_base_options(Command& command, SamplerOptions& sampler, StopOptions& stops, SessionParams& session,
                      int64_t& token_limit) {
  const auto set_preset = [&sampler](const std::string& name) {
    const std::optional<int32_t> preset = find_value(kPresetNames, name);
    if (!preset) reject("--preset", '"' + name + "\" is not one of " + listed(kPresetNames));
    sampler.params = SamplerParams(*preset);
  };
  command
      .add_option("--preset", set_preset,
                  "Sampling options for a purpose, which other options change: " + listed(kPresetNames))
      .metavar("NAME")
      .completes(printed_names(kPresetNames))
      .excludes("--params")
      .group("Sampling");
  const ParametersReader reader = {sampler, stops, session, token_limit};
  command
      .add_option(
          "--params", [reader](const std::string& path) { reader.read_file(path); },
          "The parameters of a run that --json wrote, or a JSON object of parameters; other options change them")
      .metavar("FILE")
      .check(check_file_name)
      .group("Sampling");
}

void read_params_json(const Json& object, SamplerOptions& sampler, StopOptions& stops, SessionParams& session,
                      int64_t& token_limit) {
  if (!object.is_object()) throw Failure("params is not an object");
  const Json read = ParametersReader{sampler, stops, session, token_limit}.read_object(object);
  for (const auto& [name, value] : read.members()) {
    if (const Parameter* parameter = find_parameter(kSamplerParameters, name)) {
      sampler.given.push_back(parameter->json_name());
    }
  }
}

}  // namespace sotto::cli
