// Typed access to the members of a JSON object from an untrusted file, such as the configuration of a model. A member
// that is null counts as absent. Errors are std::runtime_error and name the file and the member.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "converters/readers/checkpoint.h"

namespace sotto {

// An object of the file, or one of its members that are objects.
class Config {
 public:
  explicit Config(const std::filesystem::path& path);
  // Messages begin with `where`.
  Config(std::string where, nlohmann::json root);

  const std::string& where() const { return where_; }
  const nlohmann::json& root() const { return root_; }
  [[noreturn]] void fail(const std::string& key, const std::string& message) const;

  // Returns the member `key`, or else the member `alias`, or null if both are absent.
  const nlohmann::json* find(const char* key, const char* alias = nullptr) const;
  // Returns a member that is an object. Throws if it is anything else.
  Config object(const char* key) const;

  // The next functions return `otherwise` if the member is absent, and throw if it is of another type.
  uint32_t count(const char* key, const char* alias, uint32_t otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const char* otherwise) const;
  double number(const char* key, double otherwise) const;
  // Returns the epsilon of layer norms, a number in (0, 1].
  float epsilon(const char* key, float otherwise) const;
  // Returns the activation whose name in transformers is the value of the member.
  Activation activation(const char* key, const char* otherwise) const;
  // Adds the end-of-text token, or the tokens of a list, to `info`. The vocabulary size there must be known, because a
  // token outside the vocabulary only adds a remark to `notes`. Returns whether the member is present.
  bool read_end_of_text(CheckpointInfo& info, std::vector<std::string>& notes) const;

 private:
  std::string where_;
  nlohmann::json root_;
};

}  // namespace sotto
