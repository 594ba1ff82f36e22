#include "runtime/search/similarity.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

std::span<const int32_t> tokens_of(const SearchSequence& sequence) { return {sequence.tokens, sequence.token_count}; }

// -1, 0, 1 as the n-grams at two places compare.
int compare(const int32_t* a, const int32_t* b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

// The n-grams of a sequence in sorted order.
class SortedNgrams {
 public:
  SortedNgrams(std::span<const int32_t> tokens, std::span<const uint32_t> order, size_t n)
      : tokens_(tokens), order_(order), n_(n) {
    skip_short();
  }

  bool done() const { return at_ == order_.size(); }
  const int32_t* get() const { return tokens_.data() + order_[at_]; }
  void next() {
    ++at_;
    skip_short();
  }

 private:
  void skip_short() {
    while (!done() && order_[at_] + n_ > tokens_.size()) ++at_;
  }

  std::span<const int32_t> tokens_;
  std::span<const uint32_t> order_;
  size_t n_;
  size_t at_ = 0;
};

double similarity_of(const SearchParams& params, const SearchSequence& a, std::span<const uint32_t> a_order,
                     const SearchSequence& b, std::span<const uint32_t> b_order) {
  switch (params.rerank) {
    case Rerank::kExact: {
      const auto x = tokens_of(a), y = tokens_of(b);
      return std::equal(x.begin(), x.end(), y.begin(), y.end()) ? 1 : 0;
    }
    case Rerank::kNgram:
      return ngram_similarity(tokens_of(a), a_order, tokens_of(b), b_order);
    default:
      return params.similarity(params.similarity_user_data, a.tokens, a.token_count, b.tokens, b.token_count);
  }
}

}  // namespace

void sort_ngrams(std::span<const int32_t> tokens, std::span<uint32_t> order) {
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const size_t a_count = std::min(tokens.size() - a, kMaxNgram);
    const size_t b_count = std::min(tokens.size() - b, kMaxNgram);
    const int by_tokens = compare(tokens.data() + a, tokens.data() + b, std::min(a_count, b_count));
    if (by_tokens != 0) return by_tokens < 0;
    return a_count != b_count ? a_count < b_count : a < b;
  });
}

double ngram_similarity(std::span<const int32_t> a, std::span<const uint32_t> a_order, std::span<const int32_t> b,
                        std::span<const uint32_t> b_order) {
  double sum = 0;
  size_t lengths = 0;
  for (size_t n = 1; n <= kMaxNgram && n <= std::max(a.size(), b.size()); ++n, ++lengths) {
    // Equal n-grams lie together in both, so each pair is one that both have.
    SortedNgrams x(a, a_order, n), y(b, b_order, n);
    size_t shared = 0;
    while (!x.done() && !y.done()) {
      const int order = compare(x.get(), y.get(), n);
      if (order == 0) ++shared;
      if (order <= 0) x.next();
      if (order >= 0) y.next();
    }
    const size_t all = (a.size() >= n ? a.size() - n + 1 : 0) + (b.size() >= n ? b.size() - n + 1 : 0);
    sum += 2.0 * static_cast<double>(shared) / static_cast<double>(all);
  }
  return lengths == 0 ? 1 : sum / static_cast<double>(lengths);
}

Status vote(const SearchParams& params, size_t sequence_tokens, uint32_t* order, std::span<SearchSequence> sequences) {
  constexpr double kScale = 0x1p-32;  // the sum of finite similarities is finite
  const auto order_of = [&](size_t i) { return std::span(order + i * sequence_tokens, sequences[i].token_count); };
  if (params.rerank == Rerank::kNgram) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      sort_ngrams(tokens_of(sequences[i]), order_of(i));
    }
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < sequences.size(); ++j) {
      sum += kScale * similarity_of(params, sequences[i], order_of(i), sequences[j], order_of(j));
    }
    sequences[i].score = sum / static_cast<double>(sequences.size()) / kScale;
    if (!std::isfinite(sequences[i].score)) return Status::kInvalidArgument;
  }
  return Status::kOk;
}

}  // namespace sotto
