// The options of a second session that guides the first: a negative prompt, or a weaker model.
#include "platforms/cli/options/guide_options.h"

#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

// Without a negative prompt: the prompt's last token alone, as transformers has it.
Tokens guide_prompt(const GuideOptions& options, const Model& model, const Tokens& prompt) {
  if (options.params.mode == SOTTO_GUIDE_CONTRAST) return prompt;
  if (options.negative_prompt.empty()) return {prompt.back()};
  return model.tokenize(options.negative_prompt, false, "--negative-prompt");
}

void check_vocabulary(const Model& amateur, const Model& model) {
  const uint32_t own = model.info().vocabulary_size;
  const uint32_t other = amateur.info().vocabulary_size;
  if (other == own) return;
  throw Failure("--amateur: vocabulary_size is " + std::to_string(other) + ", that of the model is " +
                std::to_string(own));
}

}  // namespace

GuideOptions::GuideOptions() {
  sotto_guide_params_init(&params, sizeof params);
  params.mode = SOTTO_GUIDE_OFF;
}

void add_guide_options(CLI::App& command, GuideOptions& options) {
  add_value(command, "--guidance-scale,--cfg-scale", options.params.scale,
            "Classifier-free guidance: how far to move away from the negative prompt; 1: not at "
            "all",
            "X")
      ->group(kGuideGroup);
  add_value(command, "--negative-prompt,--cfg-negative-prompt", options.negative_prompt,
            "What to move away from; the prompt's last token if only the scale is given", "TEXT")
      ->group(kGuideGroup);
  add_value(command, "--amateur", options.amateur,
            "Contrastive decoding against this weaker model with the same vocabulary", "FILE")
      ->check(file_name())
      ->group(kGuideGroup);
  add_value(command, "--contrast-alpha,--amateur-alpha", options.params.alpha,
            "Tokens with p below this share of the largest go", "X")
      ->group(kGuideGroup);
  add_value(command, "--contrast-beta,--amateur-beta", options.params.beta, "How much the weaker model counts", "X")
      ->group(kGuideGroup);
}

void settle_guide_options(const CLI::App& command, GuideOptions& options) {
  refuse_with(command, "--amateur", {"--guidance-scale", "--negative-prompt"});
  require_with(command, "--contrast-alpha", {"--amateur"});
  require_with(command, "--contrast-beta", {"--amateur"});
  if (is_given(command, "--amateur")) {
    options.params.mode = SOTTO_GUIDE_CONTRAST;
  } else if (!first_given(command, {"--guidance-scale", "--negative-prompt"}).empty()) {
    options.params.mode = SOTTO_GUIDE_CFG;
  }
}

Guide::Guide(const GuideOptions& options, const Model& model, const ModelOptions& model_options,
             sotto_session_params params, const Tokens& prompt)
    : params_(options.params) {
  if (params_.mode == SOTTO_GUIDE_CONTRAST) {
    ModelOptions amateur = model_options;
    amateur.path = options.amateur;
    amateur_ = std::make_unique<Model>(amateur);
    check_vocabulary(*amateur_, model);
  }
  params.features = 0;
  params.sequence_count = 0;
  params.sequence_tokens = 0;
  session_ = std::make_unique<Session>(amateur_ ? *amateur_ : model, params);
  const Tokens tokens = guide_prompt(options, model, prompt);
  const sotto_status status = sotto_session_prefill(session_->get(), tokens.data(), tokens.size());
  check(status, "guide");
  if (status == SOTTO_STOP_CONTEXT_FULL) {
    throw Failure("guide: " + std::to_string(tokens.size()) + " tokens do not fit the context");
  }
}

void Guide::lead(sotto_session* session) const {
  sotto_error error = no_error();
  check(sotto_session_set_guide(session, session_->get(), &params_, &error), error, "guide");
}

Json guide_json(const GuideOptions& options) {
  Json object = {{"mode", name_of(guide_names(), options.params.mode)}};
  if (options.params.mode == SOTTO_GUIDE_CFG) {
    object["scale"] = number_json(options.params.scale);
    object["negative_prompt"] = options.negative_prompt;
  } else {
    object["amateur"] = options.amateur;
    object["alpha"] = number_json(options.params.alpha);
    object["beta"] = number_json(options.params.beta);
  }
  return object;
}

}  // namespace sotto::cli
