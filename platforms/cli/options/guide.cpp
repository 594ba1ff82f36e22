// The options of a second session that guides the first: a negative prompt, or a weaker model.
#include <optional>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/options/generate.h"

namespace sotto::cli {
namespace {

constexpr char kGuideGroup[] = "Guidance";

// Without a negative prompt: only the last token of the prompt, as in transformers.
TokenList guide_prompt(const GuideOptions& options, const LoadedModel& model, const TokenList& prompt) {
  if (options.params.mode == SOTTO_GUIDE_CONTRAST) return prompt;
  if (options.negative_prompt.empty()) return {prompt.back()};
  return model.tokenize(options.negative_prompt, false, "--negative-prompt");
}

void check_vocabulary(const LoadedModel& weaker, const LoadedModel& model) {
  const uint32_t expected = model.info().vocabulary_size;
  const uint32_t size = weaker.info().vocabulary_size;
  if (size == expected) return;
  throw Failure("--contrastive-model: vocabulary_size is " + std::to_string(size) + "; it must be " +
                std::to_string(expected) + ", as in the model");
}

}  // namespace

void add_guide_options(CLI::App& command, GuideOptions& options) {
  sotto_guide_params& c_params = options.params;
  const auto add = [&](const char* name) {
    add_parameter(command, *find_parameter(kGuideParameters, name), &c_params);
  };
  add("scale");
  add_value(command, "--negative-prompt,--cfg-negative-prompt", options.negative_prompt,
            "The text to move away from; only the last token of the prompt if just the scale is given", "TEXT")
      ->group(kGuideGroup);
  add_value(command, "--contrastive-model", options.contrastive_model,
            "Contrastive decoding against this weaker model with the same vocabulary", "FILE")
      ->check(file_name())
      ->group(kGuideGroup);
  add("alpha");
  add("beta");
}

void validate_guide_options(const CLI::App& command, GuideOptions& options) {
  reject_with(command, "--contrastive-model", {"--guidance-scale", "--negative-prompt"});
  require_needed_options(command, kGuideParameters);
  if (is_given(command, "--contrastive-model")) {
    options.params.mode = SOTTO_GUIDE_CONTRAST;
  } else if (!first_given(command, {"--guidance-scale", "--negative-prompt"}).empty()) {
    options.params.mode = SOTTO_GUIDE_CFG;
  }
}

Session new_guide(const GenerateOptions& options, const LoadedModel& model, const TokenList& prompt) {
  SessionParams params = options.session;
  params.features = 0;
  params.sequence_count = 0;
  params.sequence_tokens = 0;
  std::optional<LoadedModel> weaker;
  if (options.guide.params.mode == SOTTO_GUIDE_CONTRAST) {
    ModelOptions weaker_options = options.model;
    weaker_options.path = options.guide.contrastive_model;
    weaker.emplace(weaker_options);
    check_vocabulary(*weaker, model);
  }
  Session guide = (weaker ? *weaker : model).new_session(params);
  const TokenList tokens = guide_prompt(options.guide, model, prompt);
  call("guide", [&] { return guide.prefill(tokens); });
  return guide;
}

Json guide_json(const GuideOptions& options) {
  Json object = {{"mode", name_of(kGuideModeNames, options.params.mode)}};
  if (options.params.mode == SOTTO_GUIDE_CFG) {
    object["scale"] = number_json(options.params.scale);
    object["negative_prompt"] = options.negative_prompt;
  } else {
    object["contrastive_model"] = options.contrastive_model;
    object["alpha"] = number_json(options.params.alpha);
    object["beta"] = number_json(options.params.beta);
  }
  return object;
}

}  // namespace sotto::cli
