// The options of a second session that guides the first: a negative prompt, or a weaker model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/json_values.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

constexpr char kGuideGroup[] = "Guidance";

struct GuideOptions {
  sotto_guide_params params;  // mode OFF: no guide
  std::string negative_prompt;
  std::string amateur;  // path of a model

  GuideOptions();
  bool is_on() const { return params.mode != SOTTO_GUIDE_OFF; }
};

// `options` must live as long as `command`.
void add_guide_options(CLI::App& command, GuideOptions& options);
void settle_guide_options(const CLI::App& command, GuideOptions& options);

// The guide itself; it must outlive the session that it guides.
class Guide {
 public:
  // `prompt` is the prompt of the session to be guided, `params` are that session's.
  Guide(const GuideOptions& options, const Model& model, const ModelOptions& model_options, sotto_session_params params,
        const Tokens& prompt);

  // From here on it follows `session`, which has evaluated its prompt.
  void lead(sotto_session* session) const;

 private:
  sotto_guide_params params_;
  std::unique_ptr<Model> amateur_;
  std::unique_ptr<Session> session_;
};

Json guide_json(const GuideOptions& options);

}  // namespace sotto::cli
