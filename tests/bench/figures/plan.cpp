#include "tests/bench/figures/plan.h"

namespace sotto::bench {

Samples run(const Plan& plan, size_t rounds, const Progress& progress) {
  Samples samples;
  for (size_t round = 0; round <= rounds; ++round) {
    for (const Probe& probe : plan.probes) {
      progress(round, rounds, probe.name);
      Recorder recorder(&samples);
      probe.measure(recorder);
    }
    if (round == 0) samples.clear();
  }
  return samples;
}

std::vector<Figure> make_figures(const Plan& plan, const Samples& samples) {
  std::vector<Figure> figures;
  for (const FigureSpec& spec : plan.figures) {
    Figure figure{spec.name,       spec.parameters,    spec.unit, spec.higher_is_better, samples.at(spec.series),
                  spec.limit_name, spec.limit_is_peer, {}};
    for (size_t i = 0; spec.limit && i < figure.samples.size(); ++i) {
      const double base = spec.limit_series.empty() ? 0 : samples.at(spec.limit_series)[i];
      figure.limits.push_back(spec.limit(base));
    }
    figures.push_back(figure);
  }
  return figures;
}

}  // namespace sotto::bench
