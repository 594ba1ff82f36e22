// `sotto sample` shows which tokens of given logits a chain of stages keeps. It needs no model.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/common.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct SampleOptions {
  ModelOptions model;
  std::string path = "-";
};

// A request {"logits" or "probs", "history", "generated", "mask", "params", "draws"}.
struct SampleRequest {
  std::vector<float> logits;
  TokenList history;
  uint64_t generated_count = 0;
  uint64_t token_limit = 0;
  std::vector<uint64_t> allowed;  // one bit per token; empty to allow all
  uint32_t draw_count = 0;
  SamplerParams params;  // parameters that the request does not give are off
};

constexpr size_t kMaxVocabulary = size_t{1} << 22;

std::vector<float> read_logits(const Json& object) {
  const bool are_logits = object.contains("logits");
  if (are_logits == object.contains("probs")) throw Failure("give either \"logits\" or \"probs\"");
  const std::string name = are_logits ? "logits" : "probs";
  std::vector<float> logits;
  for (const Json& value : to_list(*object.find(name), name)) {
    const float number = to_float(value, name);
    if (!are_logits && !(number >= 0.0f && std::isfinite(number))) {
      throw Failure("probs contains " + value.dump() + ", which is not a probability");
    }
    logits.push_back(are_logits ? number : std::log(number));
  }
  if (logits.empty() || logits.size() > kMaxVocabulary) {
    throw Failure(name + " contains " + std::to_string(logits.size()) + " numbers; it must contain 1 to 4194304");
  }
  return logits;
}

std::vector<uint64_t> read_mask(const Json& value, size_t vocabulary_size) {
  const Json::List& list = to_list(value, "mask");
  if (list.size() != vocabulary_size) {
    throw Failure("mask contains " + std::to_string(list.size()) + " entries for " + std::to_string(vocabulary_size) +
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
  reject_other_members(object, {"logits", "probs", "history", "generated", "mask", "params", "draws", "id"});
}

// Reads the parameters. The token limit is part of the sampler's input, not a parameter.
void read_params(Json params, SampleRequest& request) {
  if (params.is_object()) {
    for (const char* name : {"max_tokens", "max_new_tokens", "num_predict"}) {
      const Json* limit = params.find(name);
      if (limit == nullptr) continue;
      if (!limit->is_null()) request.token_limit = to_count(*limit, name);
      params.erase(name);
    }
  }
  read_sampler_json(params, request.params);
}

std::string in_line(const std::string& message, uint64_t number) {
  return to_utf8("line " + std::to_string(number) + ": " + message);
}

// Reads a request. Throws a Failure that names the invalid member.
SampleRequest read_request(const Json& object) {
  check_names(object);
  SampleRequest request;
  request.params.temperature = 1.0f;
  request.params.top_k = 0;
  request.params.top_p = 1.0f;
  request.params.min_p = 0.0f;
  request.logits = read_logits(object);
  if (const Json* value = object.find("history")) request.history = to_tokens(*value, "history");
  if (const Json* value = object.find("generated")) request.generated_count = to_count(*value, "generated");
  if (const Json* value = object.find("mask")) request.allowed = read_mask(*value, request.logits.size());
  if (const Json* value = object.find("draws")) request.draw_count = to_count(*value, "draws");
  if (const Json* value = object.find("params")) read_params(*value, request);
  return request;
}

// Runs a chain on the logits of requests. The sampler is created again when a request needs another size.
class ChainRunner {
 public:
  explicit ChainRunner(const ModelOptions& options) {
    if (!options.path.empty()) model_.emplace(options);
  }

  // Returns {"kept": {id: p}}, and with draws also {"counts": {id: n}}.
  Json run(const SampleRequest& request) {
    fit(request.logits.size(), list_bytes(request.params));
    call("params", [&] { sampler_->set(request.params); });
    SamplerInput input;
    input.logits = request.logits;
    input.allowed = request.allowed;
    input.history = request.history;
    input.generated_count = request.generated_count;
    input.token_limit = request.token_limit;
    Json answer = {{"kept", kept(input)}};
    if (request.draw_count > 0) answer["counts"] = counts(input, request.draw_count);
    return answer;
  }

 private:
  void fit(size_t vocabulary_size, uint32_t list_bytes) {
    if (sampler_ && vocabulary_size == vocabulary_size_ && list_bytes <= list_bytes_) return;
    if (model_ && model_->info().vocabulary_size != vocabulary_size) {
      throw Failure("sampler: vocabulary_size is " + std::to_string(vocabulary_size) + "; it must be the model's, " +
                    std::to_string(model_->info().vocabulary_size));
    }
    sampler_ = call("sampler", [&] {
      return model_ ? Sampler::create(model_->get(), list_bytes) : Sampler::create(vocabulary_size, list_bytes);
    });
    vocabulary_size_ = vocabulary_size;
    list_bytes_ = list_bytes;
  }

  Json kept(const SamplerInput& input) {
    const std::vector<Candidate> candidates = call("sampler", [&] { return sampler_->apply(input); });
    Json object = Json::object();
    for (const Candidate& candidate : candidates) {
      if (candidate.probability == 0.0f) continue;  // kept by the chain, but never selected
      object.add(std::to_string(candidate.token), number_json(candidate.probability));
    }
    return object;
  }

  Json counts(SamplerInput input, uint32_t draw_count) {
    std::map<Token, uint64_t> counts;
    for (uint32_t draw = 0; draw < draw_count; ++draw) {
      input.sequence = draw;  // each draw uses its own random number stream
      ++counts[call("sampler", [&] { return sampler_->sample(input); })];
    }
    Json object = Json::object();
    for (const auto& [token, count] : counts) object.add(std::to_string(token), count);
    return object;
  }

  std::optional<LoadedModel> model_;
  std::optional<Sampler> sampler_;
  size_t vocabulary_size_ = 0;
  uint32_t list_bytes_ = 0;
};

int run_sample(const SampleOptions& options) {
  ChainRunner runner(options.model);
  const auto sample = [&](const std::string& line) {
    const Json object = parse_python_json(line);
    Json answer = runner.run(read_request(object));
    if (const Json* id = object.find("id")) answer["id"] = *id;
    return answer;
  };
  const auto reject_line = [](const std::string& message, uint64_t number) {
    return Json{{"error", in_line(message, number)}, {"line", number}};
  };
  return answer_lines(options.path, sample, reject_line) ? kExitOk : kExitFailure;
}

}  // namespace

void declare_sample(Command& command, Run& run) {
  auto options = std::make_shared<SampleOptions>();
  command
      .add_option(
          "--jsonl", [options](const std::string& path) { options->path = path; },
          "Lines of JSON from FILE; -: standard input", Values::kOptional)
      .metavar("[FILE]")
      .implicit_value("-")
      .shown_default("-");
  add_optional_model(command, options->model,
                     "A model that defines the texts of tokens and the end of text; by default tokens have no text");
  command.set_footer(
      "A line: {\"logits\": [...], \"history\": [...], \"params\": {...}}; its answer:\n"
      "{\"kept\": {id: probability}}, the distribution that the chain leaves.\n"
      "  logits or probs  a number for each token; logits may be null, \"-inf\", \"nan\"\n"
      "  history          the tokens before; \"generated\": how many of them, at the end, were\n"
      "                   generated [0]\n"
      "  mask             true for each token that is allowed, otherwise false\n"
      "  params           the options of sotto generate, with _ for -; parameters that are not given\n"
      "                   are off (temperature 1, no truncation)\n"
      "  draws            number of tokens to draw; adds {\"counts\": {id: number}} to the answer\n"
      "  id               is repeated in the answer\n"
      "The answer to an invalid line is {\"error\":...,\"line\":N}, and the exit code is then 1.\n"
      "\n"
      "Examples:\n"
      "  echo '{\"probs\":[0.1,0.2,0.3,0.4],\"params\":{\"top_p\":0.8}}' | sotto sample\n"
      "  sotto sample --jsonl cases.jsonl > kept.jsonl");
  command.on_parsed([&run, options] { run = [options] { return run_sample(*options); }; });
}

}  // namespace sotto::cli
