// The plan of a run: probes, and the figures that are computed from their samples. Every round runs all probes one
// after the other, so that drift of the machine affects all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sotto::bench {

// Samples by the name of their series, one per round.
using Samples = std::map<std::string, std::vector<double>>;

class Recorder {
 public:
  explicit Recorder(Samples* samples) : samples_(samples) {}
  void record(const std::string& series, double value) { (*samples_)[series].push_back(value); }

 private:
  Samples* samples_;
};

struct Probe {
  std::string name;  // for the progress line
  std::function<void(Recorder&)> measure;
};

// The computation of one figure from the samples.
struct FigureSpec {
  std::string series;
  std::string name;
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  std::string unit = {};
  bool higher_is_better = true;
  std::string limit_name = {};
  bool limit_is_peer = false;                // true if the limit is the speed of another runtime
  std::string limit_series = {};             // series that gives `limit`; empty if it is a constant
  std::function<double(double)> limit = {};  // limit in the unit of the figure; empty if there is none
};

struct Plan {
  std::vector<Probe> probes;
  std::vector<FigureSpec> figures;
};

struct Figure {
  std::string name;
  nlohmann::ordered_json parameters;
  std::string unit;
  bool higher_is_better = true;
  std::vector<double> samples;
  std::string limit_name;
  bool limit_is_peer = false;
  std::vector<double> limits;  // one per sample; empty if there is no limit
};

// Called before each probe; round 0 warms up and is not counted.
using Progress = std::function<void(size_t round, size_t rounds, const std::string& probe)>;

Samples run(const Plan& plan, size_t rounds, const Progress& progress);

std::vector<Figure> make_figures(const Plan& plan, const Samples& samples);

}  // namespace sotto::bench
