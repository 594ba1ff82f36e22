// Reads tests/golden/data/bindings.txt, the golden figures that every binding must reproduce.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace golden {

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set");
  return value;
}

using Case = std::multimap<std::string, std::string>;

inline std::map<std::string, Case> read() {
  std::ifstream file(environment("SOTTO_GOLDEN"));
  std::map<std::string, Case> cases;
  Case* current = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    if (key == "case") {
      current = &cases[value];
    } else {
      current->emplace(key, value);
    }
  }
  return cases;
}

inline std::string text(const Case& from, const std::string& key) {
  const auto found = from.find(key);
  if (found == from.end()) throw std::runtime_error(key + " is not in the case");
  std::string text;
  for (size_t i = 0; i < found->second.size(); ++i) {
    const char c = found->second[i];
    text += c != '\\' ? c : found->second[++i] == 'n' ? '\n' : '\\';
  }
  return text;
}

inline std::vector<int32_t> tokens(const std::string& list) {
  std::istringstream in(list);
  std::vector<int32_t> tokens;
  for (int32_t token; in >> token;) tokens.push_back(token);
  return tokens;
}

inline std::vector<int32_t> tokens(const Case& from, const std::string& key) { return tokens(text(from, key)); }

inline long long number(const Case& from, const std::string& key) { return std::stoll(text(from, key)); }
inline float real(const Case& from, const std::string& key) { return std::stof(text(from, key)); }

}  // namespace golden
