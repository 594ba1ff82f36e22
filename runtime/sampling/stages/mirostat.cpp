#include "runtime/sampling/stages/mirostat.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/truncation.h"

namespace sotto {

namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// The exponent of Zipf's law over the sorted keys. Infinite where the second token has no
// probability.
double zipf_exponent(Candidates& candidates, std::span<const uint64_t> keys) {
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < keys.size(); ++i) {
    const double gap = static_cast<double>(candidates.gap(key_index(keys[i])));
    const double next = static_cast<double>(candidates.gap(key_index(keys[i + 1])));
    const double t = ln(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    if (!(next <= 1e30)) break;
    products += t * (next - gap);
    squares += t * t;
  }
  return squares > 0 ? products / squares : std::numeric_limits<double>::infinity();
}

double token_count(double s, double mu, double n) {
  const double epsilon = s - 1;
  const double whole = e_to(mu * kLn2);
  // Near 1 the quotient's limit is 1 / ln N.
  const double rate = std::fabs(epsilon) < 1e-9 ? 1 / ln(n) : epsilon / (1 - e_to(-epsilon * ln(n)));
  return power_of(rate * whole, 1 / s);
}

}  // namespace

void cut_mirostat(Candidates& candidates, uint32_t m, float mu) {
  const size_t count = candidates.count();
  if (count < 2 || candidates.max() == Candidates::kLowest) return;
  const std::span<const uint64_t> keys = candidates.sorted_prefix(std::min<size_t>(m, count));
  const double s = zipf_exponent(candidates, keys);
  if (!(s < std::numeric_limits<double>::infinity())) return top_k(candidates, 1);
  if (!(s > 0)) return;  // all equal: the law has no end
  const double k = token_count(s, static_cast<double>(mu), static_cast<double>(count));
  if (k < static_cast<double>(count)) top_k(candidates, k >= 1 ? static_cast<size_t>(k) : 1);
}

void cut_mirostat_v2(Candidates& candidates, float mu) {
  keep_probable(candidates, e_to(-static_cast<double>(mu) * kLn2), 1);
}

float next_mu(Candidates& candidates, size_t picked, const MirostatParams& params, float mu) {
  if (candidates.max() == Candidates::kLowest) return mu;
  const double surprise = -candidates.log_probability(picked) / kLn2;
  const double step = static_cast<double>(params.eta) * (surprise - static_cast<double>(params.tau));
  return static_cast<float>(static_cast<double>(mu) - step);
}

}  // namespace sotto
