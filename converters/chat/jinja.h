// A subset of Jinja, the language of the chat templates of checkpoints, with the settings of transformers
// (`trim_blocks` and `lstrip_blocks`). README.md lists what it contains.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sotto::jinja {

// Values keep the order of members. The value of an undefined name is discarded (`is_discarded()`).
using Value = nlohmann::ordered_json;

// An error in a template, or in rendering it. The message begins with "line N: ".
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The template has called raise_exception(), to reject the variables.
class RaisedException : public TemplateError {
 public:
  using TemplateError::TemplateError;
};

class Scope;

// A parsed template. Parsing and rendering take bounded time and memory, also for hostile templates.
class Template {
 public:
  // Throws TemplateError if the text is no template or uses a construct outside the subset.
  explicit Template(std::string_view text);

  // Renders the template with the members of the object `variables`. Throws TemplateError.
  std::string render(const Value& variables) const;

 private:
  std::function<void(Scope&)> body_;
};

}  // namespace sotto::jinja
