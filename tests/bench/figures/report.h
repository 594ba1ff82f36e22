// The figures as a human-readable table and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/figures/plan.h"

namespace sotto::bench {

struct Report {
  nlohmann::ordered_json machine;
  nlohmann::ordered_json model;
  nlohmann::ordered_json settings;
  Samples limits;  // the limits themselves, in bytes or multiply-adds per second
  std::vector<Figure> figures;
};

std::string report_table(const Report& report);
nlohmann::ordered_json report_json(const Report& report);

}  // namespace sotto::bench
