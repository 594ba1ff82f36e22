// The options of speculative decoding: where drafts come from, and how they fared.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/support/json_values.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

constexpr char kDraftGroup[] = "Speculation";

struct DraftOptions {
  sotto_speculation_params params;   // sources 0: only what a grammar forces
  std::vector<std::string> sources;  // as given
  std::string model;                 // path of a model that drafts; empty: none
  uint32_t token_count = 7;

  DraftOptions();
  bool is_on() const { return params.sources != 0; }
};

// `options` must live as long as `command`.
void add_draft_options(CLI::App& command, DraftOptions& options);
// Sets session.draft_tokens where drafts are of use.
void settle_draft_options(const CLI::App& command, bool has_search, bool has_grammar, DraftOptions& options,
                          sotto_session_params& session);

// What drafts for a session; it must outlive that one.
class Drafter {
 public:
  // `params` are those of the session to draft for.
  Drafter(const DraftOptions& options, const ModelOptions& model_options, sotto_session_params params);

  // From here on `session` speculates.
  void lead(sotto_session* session) const;

 private:
  sotto_speculation_params params_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Session> session_;
};

sotto_speculation_info speculation_info(const Session& session);
Json draft_json(const DraftOptions& options);
Json speculation_json(const sotto_speculation_info& info);

}  // namespace sotto::cli
