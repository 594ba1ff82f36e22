#include "tests/unit/sampling/truncation_oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto::oracle {

namespace {

using Numbers = std::vector<long double>;

// The relative error of single precision, for an exponent of at most 87 times the unit, and for sums.
constexpr long double kSlack = 3e-5L;

// The probabilities in sorted order.
struct Sorted {
  std::vector<size_t> order;
  Numbers p;
  Numbers logits;
};

Sorted sort(const Set& set, const Numbers& p) {
  Sorted all;
  all.order = sorted(set);
  for (const size_t place : all.order) {
    all.p.push_back(p[place]);
    all.logits.push_back(set.logits[place]);
  }
  return all;
}

size_t count_from(const Numbers& p, long double least) {
  size_t count = 0;
  while (count < p.size() && p[count] >= least) ++count;
  return count;
}

size_t top_p_count(const Numbers& p, long double mass) {
  long double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    sum += p[i];
    if (sum >= mass) return i + 1;
  }
  return p.size();
}

long double surprise(long double p) { return p > 0 ? -p * std::log(p) : 0; }

size_t top_h_count(const Numbers& p, long double most) {
  long double sum = 0;
  size_t count = 0;
  while (count < p.size() && sum + surprise(p[count]) <= most) sum += surprise(p[count++]);
  return count;
}

size_t tail_free_count(const Numbers& p, long double z) {
  Numbers bends;
  for (size_t i = 0; i + 2 < p.size(); ++i) {
    bends.push_back(std::fabs((p[i] - p[i + 1]) - (p[i + 1] - p[i + 2])));
  }
  const long double whole = std::accumulate(bends.begin(), bends.end(), 0.0L);
  long double sum = 0;
  size_t count = 0;
  while (count < bends.size() && sum + bends[count] <= z * whole) sum += bends[count++];
  return count;
}

long double sigma(const Numbers& logits) {
  Numbers finite;
  for (const long double l : logits) {
    if (std::isfinite(l)) finite.push_back(l);
  }
  if (finite.empty()) return 0;
  const auto n = static_cast<long double>(finite.size());
  const long double mean = std::accumulate(finite.begin(), finite.end(), 0.0L) / n;
  long double squares = 0;
  for (const long double l : finite) squares += (l - mean) * (l - mean);
  return std::sqrt(squares / n);
}

// Returns how many tokens of the sorted order stay, with the setting shifted by rounding: `sign` is 1 for more, -1 for
// fewer.
size_t prefix_count(Mode mode, const Sorted& all, long double setting, int sign) {
  const long double less = 1 - sign * kSlack, more = 1 + sign * kSlack;
  const Numbers& p = all.p;
  switch (mode) {
    case Mode::kTopK:
      return static_cast<size_t>(setting);
    case Mode::kTopP:
      return top_p_count(p, std::min(setting * more, 1.0L));
    case Mode::kMinP:
      return count_from(p, setting * p[0] * less);
    case Mode::kTopA:
      return count_from(p, setting * p[0] * p[0] * less);
    case Mode::kEpsilon:
      return count_from(p, setting * less);
    case Mode::kEta:
      return count_from(p, std::min(setting, std::sqrt(setting) * std::exp(-entropy(p))) * less);
    case Mode::kTopNSigma: {
      const long double spread = setting * sigma(all.logits);
      const long double slack = sign * 1e-6L * (std::fabs(all.logits[0]) + spread);
      return count_from(all.logits, std::isfinite(all.logits[0]) ? all.logits[0] - spread - slack : all.logits[0]);
    }
    case Mode::kTopH:
      return top_h_count(p, setting * entropy(p) * more + sign * 1e-9L);
    case Mode::kTailFree: {
      // Differences of neighbours amplify the rounding of their operands.
      const long double noise = 1e-3L + 1e-6L / p[0];
      return tail_free_count(p, setting + sign * noise);
    }
    default:
      return 0;
  }
}

std::vector<int32_t> ids_of(const Set& set, const std::vector<size_t>& order, size_t count) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(set.ids[order[i]]);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string judge_prefix(Mode mode, const Set& set, const Numbers& p, double setting, size_t min_keep,
                         const std::vector<int32_t>& kept) {
  const Sorted all = sort(set, p);
  const auto bound = [&](int sign) {
    const size_t count = prefix_count(mode, all, setting, sign);
    return std::min(std::max(count, min_keep), set.ids.size());
  };
  if (kept.size() < bound(-1)) return "too few: " + std::to_string(bound(-1)) + " must stay";
  if (kept.size() > bound(1)) return "too many: " + std::to_string(bound(1)) + " may stay";
  if (kept != ids_of(set, all.order, kept.size())) return "not the likeliest";
  return "";
}

std::string judge_typical(const Set& set, const Numbers& p, double mass, size_t min_keep,
                          const std::vector<int32_t>& kept) {
  const long double h = entropy(p);
  Numbers distance;
  for (const long double x : p) distance.push_back(std::fabs(-std::log(x) - h));
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return distance[a] < distance[b]; });
  Numbers nearest;
  for (const size_t place : order) nearest.push_back(p[place]);
  const auto border = [&](int sign) {
    const size_t count = top_p_count(nearest, std::min(mass * (1 + sign * kSlack), 1.0L));
    return distance[order[std::max(count, std::min(min_keep, p.size())) - 1]];
  };
  if (kept.size() < std::min(min_keep, p.size())) return "fewer than min_keep";
  const std::set<int32_t> stays(kept.begin(), kept.end());
  const long double low = border(-1), high = border(1);
  for (size_t i = 0; i < p.size(); ++i) {
    const long double slack = kSlack * (1 + std::fabs(std::log(std::max(p[i], 1e-30L))));
    const bool in = stays.count(set.ids[i]) != 0;
    if (!in && distance[i] < low - slack) return "lacks " + std::to_string(set.ids[i]);
    if (in && distance[i] > high + slack) return "has " + std::to_string(set.ids[i]);
  }
  // Of equal logits, the lower ids come first.
  for (const size_t a : order) {
    if (stays.count(set.ids[a]) == 0) continue;
    for (size_t b = 0; b < a && p.size() < 300; ++b) {
      if (set.logits[a] == set.logits[b] && stays.count(set.ids[b]) == 0) return "ties";
    }
  }
  return "";
}

std::string judge_xtc(const Set& set, const Numbers& p, double threshold, size_t min_keep,
                      const std::vector<int32_t>& kept) {
  const Sorted all = sort(set, p);
  for (const int sign : {-1, 0, 1}) {
    const size_t likely = count_from(all.p, threshold * (1 + sign * kSlack));
    std::vector<size_t> order = all.order;
    if (likely >= 2 && p.size() - (likely - 1) >= min_keep) {
      order.erase(order.begin(), order.begin() + static_cast<ptrdiff_t>(likely - 1));
    }
    if (kept == ids_of(set, order, order.size())) return "";
  }
  return "not what a threshold leaves";
}

}  // namespace

const char* mode_name(Mode mode) {
  constexpr const char* kNames[] = {"top_k",   "top_p", "min_p",       "top_a", "tail_free", "typical",
                                    "epsilon", "eta",   "top_n_sigma", "top_h", "xtc"};
  return kNames[static_cast<size_t>(mode)];
}

long double entropy(const Numbers& p) {
  long double sum = 0;
  for (const long double x : p) sum += surprise(x);
  return sum;
}

SamplerParams params_of(Mode mode, double setting, uint32_t min_keep) {
  const auto value = static_cast<float>(setting);
  SamplerParams params = plain();
  params.min_keep = min_keep;
  switch (mode) {
    case Mode::kTopK:
      params.top_k = static_cast<uint32_t>(setting);
      break;
    case Mode::kTopP:
      params.top_p = value;
      break;
    case Mode::kMinP:
      params.min_p = value;
      break;
    case Mode::kTopA:
      params.top_a = value;
      break;
    case Mode::kTailFree:
      params.tail_free = value;
      break;
    case Mode::kTypical:
      params.typical_p = value;
      break;
    case Mode::kEpsilon:
      params.epsilon = value;
      break;
    case Mode::kEta:
      params.eta = value;
      break;
    case Mode::kTopNSigma:
      params.top_n_sigma = value;
      break;
    case Mode::kTopH:
      params.top_h = value;
      break;
    default:
      params.xtc_threshold = value;
      params.xtc_probability = 1;
  }
  return params;
}

std::string judge(Mode mode, const Set& set, float temperature, double setting, size_t min_keep,
                  const std::vector<int32_t>& kept) {
  if (kept.empty()) return "nothing stays";
  const Numbers p = probabilities(set, temperature);
  if (p.empty() && mode != Mode::kTopK) return kept == set.ids ? "" : "dropped of nothing";
  if (mode == Mode::kTypical) return judge_typical(set, p, setting, min_keep, kept);
  if (mode == Mode::kXtc) return judge_xtc(set, p, setting, min_keep, kept);
  if (mode == Mode::kTailFree) {
    const bool straight = p.size() <= 2 || sort(set, p).p.front() == sort(set, p).p.back();
    if (straight && kept == set.ids) return "";
  }
  const Numbers any = p.empty() ? Numbers(set.ids.size(), 1.0L) : p;
  return judge_prefix(mode, set, any, setting, std::max<size_t>(min_keep, 1), kept);
}

}  // namespace sotto::oracle
