// JSON lines through the sampler.
#include "platforms/cli/tools/sample_jsonl.h"

#include <cmath>
#include <map>

#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/json_lines.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr size_t kMaxVocabulary = size_t{1} << 22;

std::vector<float> read_logits(const Json& object) {
  if (object.contains("logits") == object.contains("probs")) {
    throw Failure("give either \"logits\" or \"probs\"");
  }
  const bool are_logits = object.contains("logits");
  const std::string name = are_logits ? "logits" : "probs";
  std::vector<float> logits;
  for (const Json& value : to_list(object[name], name)) {
    const float number = to_float(value, name);
    if (!are_logits && !(number >= 0.0f && std::isfinite(number))) {
      throw Failure("probs holds " + value.dump() + ", which is no probability");
    }
    logits.push_back(are_logits ? number : std::log(number));
  }
  if (logits.empty() || logits.size() > kMaxVocabulary) {
    throw Failure(name + " holds " + std::to_string(logits.size()) + " numbers; 1 to 4194304 are possible");
  }
  return logits;
}

std::vector<uint64_t> read_mask(const Json& list, size_t vocabulary_size) {
  if (to_list(list, "mask").size() != vocabulary_size) {
    throw Failure("mask holds " + std::to_string(list.size()) + " entries for " + std::to_string(vocabulary_size) +
                  " tokens");
  }
  std::vector<uint64_t> words((vocabulary_size + 63) / 64);
  for (size_t i = 0; i < vocabulary_size; ++i) {
    if (to_bool(list[i], "mask")) words[i / 64] |= uint64_t{1} << i % 64;
  }
  return words;
}

void check_names(const Json& object) {
  if (!object.is_object()) throw Failure("a line is an object with \"logits\" or \"probs\"");
  constexpr const char* kKnown[] = {"logits", "probs", "history", "generated", "mask", "params", "draws", "id"};
  for (const auto& item : object.items()) {
    bool is_known = false;
    for (const char* known : kKnown) is_known |= item.key() == known;
    if (!is_known) throw Failure("\"" + item.key() + "\": no such field");
  }
}

// The limit is part of the situation, not of the sampler.
void read_params(Json params, SampleRequest& request) {
  if (params.is_object()) {
    for (const char* name : {"max_tokens", "max_new_tokens", "num_predict"}) {
      if (!params.contains(name)) continue;
      if (!params[name].is_null()) request.token_limit = to_count(params[name], name);
      params.erase(name);
    }
  }
  read_sampler_json(params, request.settings);
}

std::string in_line(const std::string& message, uint64_t number) {
  return to_utf8("line " + std::to_string(number) + ": " + message);
}

}  // namespace

SampleRequest read_request(const Json& object) {
  check_names(object);
  SampleRequest request;
  request.settings.switch_off();
  request.logits = read_logits(object);
  if (object.contains("history")) request.history = to_tokens(object["history"], "history");
  if (object.contains("generated")) {
    request.generated_count = to_count(object["generated"], "generated");
  }
  if (object.contains("mask")) request.allowed = read_mask(object["mask"], request.logits.size());
  if (object.contains("draws")) request.draw_count = to_count(object["draws"], "draws");
  if (object.contains("params")) read_params(object["params"], request);
  return request;
}

void ChainRunner::fit(size_t vocabulary_size, uint32_t list_bytes) {
  if (sampler_ != nullptr && vocabulary_size == vocabulary_size_ && list_bytes <= list_bytes_) {
    return;
  }
  sotto_error error = no_error();
  size_t size = 0;
  check(sotto_sampler_memory_size(vocabulary_size, list_bytes, &size, &error), error, "sampler");
  sampler_ = nullptr;
  memory_ = std::make_unique<Memory>(size);
  check(sotto_sampler_init(model_ != nullptr ? model_->get() : nullptr, vocabulary_size, list_bytes, memory_->bytes(),
                           memory_->size(), &sampler_, &error),
        error, "sampler");
  vocabulary_size_ = vocabulary_size;
  list_bytes_ = list_bytes;
}

Json ChainRunner::kept(const sotto_sampler_input& input) {
  std::vector<sotto_token> tokens(vocabulary_size_);
  std::vector<float> probabilities(vocabulary_size_);
  size_t count = 0;
  sotto_error error = no_error();
  check(sotto_sampler_apply(sampler_, &input, tokens.data(), probabilities.data(), tokens.size(), &count, &error),
        error, "sampler");
  Json object = Json::object();
  auto& entries = object.get_ref<Json::object_t&>();
  entries.reserve(count);  // ordered objects search for a key that is set by name
  for (size_t i = 0; i < count; ++i) {
    if (probabilities[i] == 0.0f) continue;  // in play, but can never come
    entries.emplace_back(std::to_string(tokens[i]), number_json(probabilities[i]));
  }
  return object;
}

Json ChainRunner::counts(sotto_sampler_input input, uint32_t draw_count) {
  std::map<sotto_token, uint64_t> counts;
  for (uint32_t draw = 0; draw < draw_count; ++draw) {
    input.sequence = draw;  // random numbers of its own
    sotto_token token = 0;
    sotto_error error = no_error();
    check(sotto_sampler_pick(sampler_, &input, &token, &error), error, "sampler");
    ++counts[token];
  }
  Json object = Json::object();
  for (const auto& [token, count] : counts) object[std::to_string(token)] = count;
  return object;
}

Json ChainRunner::run(const SampleRequest& request) {
  fit(request.logits.size(), request.settings.list_bytes());
  const SamplerView view(request.settings);
  sotto_error error = no_error();
  check(sotto_sampler_set(sampler_, view.params(), &error), error, "params");
  sotto_sampler_input input = {};
  input.struct_size = sizeof input;
  input.logits = request.logits.data();
  input.allowed = request.allowed.empty() ? nullptr : request.allowed.data();
  input.history = request.history.data();
  input.history_count = request.history.size();
  input.generated_count = request.generated_count;
  input.token_limit = request.token_limit;
  Json answer = {{"kept", kept(input)}};
  if (request.draw_count > 0) answer["counts"] = counts(input, request.draw_count);
  return answer;
}

bool sample_lines(const std::string& path, ChainRunner& runner) {
  const auto sample = [&](const std::string& line) {
    const Json object = parse_python_json(line);
    Json answer = runner.run(read_request(object));
    if (object.contains("id")) answer["id"] = object["id"];
    return answer;
  };
  const auto refuse = [](const std::string& message, uint64_t number) {
    return Json{{"error", in_line(message, number)}, {"line", number}};
  };
  return answer_lines(path, sample, refuse);
}

}  // namespace sotto::cli
