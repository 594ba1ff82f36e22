// The table of the project's own kernels: every op with its contract. Each instruction
// set fills it with functions that return the same bits as kernels/reference.
//
// What makes the bits equal: integer dot products are exact; every float reduction runs
// in 16 virtual lanes, element i in lane i % 16 in order of i, and the lanes are then
// folded as a tree (lane j + lane j+8, then j+4, j+2, j+1); everything else is done
// element by element with IEEE operations and explicit fma. Products and sums are never
// contracted (-ffp-contract=off). Rounding is to nearest, ties to even.
//
// Inputs are finite unless a comment says otherwise; others give unspecified numbers,
// never a fault. Pointers need no alignment, arrays do not overlap unless said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

// Values as in sotto.h.
enum class Isa : int32_t {
  kAuto = 0,
  kReference = 1,
  kAvx2 = 2,
  kAvx512 = 3,
  kAvx512Vnni = 4,
  kNeon = 5,
  kNeonDotprod = 6,
  kNeonI8mm = 7,
  kAvx512Amx = 8,
};

const char* isa_name(Isa isa);  // "unknown" for other values

// x ~ (q - zero_point) * scale. Laid out as XNNPACK's xnn_quantization_params.
struct RowQuantization {
  int32_t zero_point;
  float scale;
};

// `count` consecutive slots of a KV ring, beginning at `first`.
struct SlotSpan {
  uint32_t first;
  uint32_t count;
};

// One query of one head against the slots it may see.
struct AttentionArgs {
  const float* query;         // (head_size)
  const int8_t* keys;         // (slot, row_stride), zero beyond head_size
  const float* key_scales;    // (slot)
  const int8_t* values;       // (slot, row_stride), zero beyond head_size
  const float* value_scales;  // (slot)
  size_t head_size;           // 1 ... 256
  size_t row_stride;          // head_size rounded up to kHeadAlignment
  float score_scale;          // 1/sqrt(head_size)
  const SlotSpan* spans;      // in order of the tokens' age, oldest first
  size_t span_count;          // at least one
  float* scores;              // scratch, as many floats as the spans have slots
  float* output;              // (head_size)
  // Of what is likely attended to next, in the same spans; null: not known.
  const int8_t* next_keys = nullptr;
};

inline constexpr size_t kHeadAlignment = 16;

// Queries of one head and of consecutive tokens: row r sees slots 0 ... slot_count - 1 + r.
struct AttentionRowsArgs {
  const float* queries;  // (row), query_stride apart
  size_t query_stride;
  size_t row_count;    // 1 ... kAttentionRows
  size_t slot_count;   // at least 1
  const int8_t* keys;  // these as in AttentionArgs
  const float* key_scales;
  const int8_t* values;
  const float* value_scales;
  size_t head_size;
  size_t row_stride;
  float score_scale;
  float* scores;   // scratch: attention_score_count() of the slots that the last row sees
  float* outputs;  // (row), output_stride apart
  size_t output_stride;

  // That row `row` sees.
  size_t slots_of(size_t row) const { return slot_count + row; }
};

// Rows go by groups; the more at once, the better.
inline constexpr size_t kAttentionGroupRows = 16;
inline constexpr size_t kAttentionRows = 3 * kAttentionGroupRows;

constexpr size_t attention_score_count(size_t row_count, size_t slot_count) {
  return (row_count + kAttentionGroupRows - 1) / kAttentionGroupRows * kAttentionGroupRows * slot_count;
}

struct Split {
  uint64_t sum;
  size_t collected;
};

struct FiniteSum {
  double sum;
  size_t count;
};

// Of min_hash: a token x hashes to mix32(m ^ out) >> 8 (kernels/math.h), where m is the least
// of anchors_a ^ mix32(x ^ in) as signed numbers. At least one anchor.
struct MinHash {
  const int32_t* anchors;
  size_t anchor_count;
  uint32_t in;
  uint32_t out;
};

// Of slice_numbers: the shares from 1 down, in sections of as many floats each, and those in
// slices of as many floats each: a section's first slice and how many it has.
inline constexpr size_t kSections = 32;
struct Slices {
  float scale;
  float first[kSections];
  float width[kSections];
};

// Of sort_columns.
inline constexpr size_t kColumns = 16;
inline constexpr size_t kColumnRows = 16;

// Of move_to_columns: a share whose column was full.
struct LeftShare {
  uint32_t column;
  float share;
};

struct Kernels {
  Isa isa;

  // y = (x - mean) / sqrt(variance + epsilon) * gain + bias (Ba et al. 2016):
  // mean = sum(x) / n; variance = sum of fma(d, d, .) over d = x - mean, / n;
  // r = 1 / sqrt(variance + epsilon); y = fma(d * r, gain, bias). y may be x.
  void (*layer_norm)(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y);

  // Asymmetric int8 of one row: lo = min(0, min x), hi = max(0, max x); where lo = hi the
  // scale is 1, else scale = (hi - lo) / 255, inverse = 255 / (hi - lo).
  // zero_point = clamp(round(-128 - lo * inverse), -128, 127);
  // q = round(clamp(x * inverse, -128 - zero_point, 127 - zero_point)) + zero_point.
  // A NaN is taken for the lower bound.
  void (*quantize_row)(const float* x, size_t n, int8_t* q, RowQuantization* quantization);

  // Symmetric int8 of one head: m = max |x|; where m = 0 all q and the result are 0, else
  // q = round(clamp(x * (127 / m), -127, 127)); returns the scale m / 127.
  float (*quantize_symmetric)(const float* x, size_t n, int8_t* q);

  // x = gelu(x) in place. tanh form (Hendrycks and Gimpel 2016): with
  // u = sqrt(2/pi) (x + 0.044715 x^3), x / (1 + exp(-2u)). erf form: x/2 (1 + erf(x/sqrt 2)).
  void (*gelu_tanh)(float* x, size_t n);
  void (*gelu_erf)(float* x, size_t n);

  // y += x.
  void (*add)(const float* x, size_t n, float* y);

  // y = fma(q, scale, position): a token's embedding at a position.
  void (*embed)(const int8_t* q, float scale, const float* position, size_t n, float* y);

  // output = softmax(query . keys * score_scale) . values, with the query quantized
  // by quantize_symmetric to scale s:
  // score_t = float(dot_t) * ((s * score_scale) * key_scale_t); m = max score;
  // p_t = exp(score_t - m); w_t = p_t * value_scale_t;
  // output_d = (sum over t in order, from 0, of fma(w_t, value_t_d, .)) * (1 / sum p).
  // The lanes of sum p count t through all spans. At least one slot.
  void (*attention)(const AttentionArgs& args);

  // attention of every row.
  void (*attention_rows)(const AttentionRowsArgs& args);

  // The largest of x (n > 0), NaN ignored; -infinity if there is no other.
  float (*max)(const float* x, size_t n);

  // The lowest index of the largest of x (n > 0), NaN ignored; 0 if all are NaN.
  size_t (*argmax)(const float* x, size_t n);

  // y_i = exp(x_i - max) and their sum. y may be x, or null: only the sum. -infinity
  // gives 0; x_i <= max.
  float (*exp_shifted)(const float* x, size_t n, float max, float* y);

  // y_i = 1 where x_i = max, else exp((x_i - max) * scale), and the sum of weight_of(y_i)
  // (kernels/math.h). -infinity and NaN give 0. y may be x; no x_i > max.
  uint64_t (*exp_weights)(const float* x, size_t n, float max, float scale, float* y);

  // The same without the sum.
  void (*exp_shares)(const float* x, size_t n, float max, float scale, float* y);

  // Keeps those i, in order, where key_i >= floor (so no NaN): x_i and ids_i, or first_id + i
  // where ids is null. Returns how many. kept_x and kept_ids have room for n, of which what is
  // behind the kept ones may be written, too; they may be x and ids, or key.
  size_t (*keep_from)(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                      float* kept_x, int32_t* kept_ids);

  // Sums integer_of(value_i, base) (kernels/math.h), of values of at most base / 1024, where
  // x_i >= ceiling; of the other i, in order, collects first + i where x_i >= floor. Of
  // between, which has room for n, what is behind the collected ones may be written, too; null
  // where floor >= ceiling. A NaN as ceiling is above all.
  Split (*split)(const float* x, float floor, float ceiling, const float* values, double base, int32_t first, size_t n,
                 int32_t* between);

  // y_i = -|(max - x_i) * scale - center|, where the product is 0 if x_i >= max; -infinity
  // instead of NaN.
  void (*nearness)(const float* x, size_t n, float max, float scale, float center, float* y);

  // The sum of y_i gap_i, where gap_i is 0 if x_i >= max, else (max - x_i) * scale, over the
  // y_i that are not 0: products of floats, added as doubles, element i to sum i % 8 of eight,
  // which are folded as a tree (4, 2, 1 apart). Each y_i is 0 or normal.
  double (*sum_gaps)(const float* x, const float* y, size_t n, float max, float scale);

  // The sum of |(p_i - p_i+1) - (p_i+1 - p_i+2)|, in floats, over i < n, added likewise.
  double (*sum_bends)(const float* p, size_t n);

  // That of the first n bends, and that of the next n, which is faster than each by itself.
  void (*sum_bends_twice)(const float* p, size_t n, double sums[2]);

  // The sum of d_i, or of d_i^2, where d_i = x_i - shift in doubles, over the finite x_i, added
  // likewise, and how many these are; n < 2^24.
  FiniteSum (*sum_finite)(const float* x, size_t n, double shift, bool squares);

  // x_i = max + d d (square + cube d), in doubles, where d = x_i - max; -infinity and NaN become
  // -infinity, and infinity is not there.
  void (*smooth)(float* x, size_t n, float max, double square, double cube);

  // p_i = shares_i * scale, and x_i = 5 - 10 d d / (1 + d), where d = |p_i - goal| * (1 / 0.3);
  // x_i as in smooth.
  void (*aim)(const float* shares, size_t n, float scale, float goal, float* p, float* x);

  // y_i = shares_i * (gap_i + offset), with the gap of sum_gaps, or 0 where shares_i is 0, and
  // the sum of integer_of(y_i, base). Each share is 0 or normal, no y_i more than base / 1024.
  uint64_t (*surprises)(const float* x, const float* shares, size_t n, float max, float scale, float offset,
                        double base, float* y);

  // Collects first + i, in order, where (words_i >> 8) * 2^-24 <= y_i * factor, in floats, none of
  // which is NaN but the product; returns how many. As with split, more may be written.
  size_t (*collect_below)(const uint32_t* words, const float* y, float factor, int32_t first, size_t n, int32_t* below);

  // words_i: the low or the high half of output x of SplitMix64 (kernels/math.h) seeded with
  // `seed`, where x is ids_i, or first_id + i where ids is null.
  void (*mix_words)(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, size_t n, uint32_t* words);

  // The words of mix_words, and sums[the low `bits` of words_i] += p_i, in order of i.
  void (*mix_and_add)(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, uint32_t bits, const float* p,
                      size_t n, uint32_t* words, float* sums);

  // y_i = p_i * (low[b % 32] * high[b / 32]), where b is bits [shift, shift + bits) of words_i,
  // 1 ... 10, or 0 if that is below `least`. Both tables have 32 entries. y may be p.
  void (*scale_by_bits)(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                        float least, size_t n, const float* p, float* y);

  // scale_by_bits, and sums[the next_bits above those of words_i] += y_i, in order of i.
  void (*scale_and_add)(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                        float least, uint32_t next_bits, size_t n, const float* p, float* y, float* sums);

  // Collects first + i, in order, where bits [shift, shift + bits) of words_i are `pattern`;
  // returns how many. As with split, more may be written.
  size_t (*collect_by_bits)(const uint32_t* words, uint32_t shift, uint32_t bits, uint32_t pattern, int32_t first,
                            size_t n, int32_t* collected);

  // numbers_i, which grows as x_i falls: with d = the bits of 1 - the bits of x_i, as a float,
  // t = min(d * scale, 31) and s = floor(t), it is floor(fma(t - s, width_s, first_s)), less than
  // 2^16. Each x_i is 0 ... 1.
  void (*slice_numbers)(const float* x, size_t n, const Slices& slices, uint16_t* numbers);

  // Adds each x_i to the column of its number of slice_numbers, which is less than stride: in order,
  // to table[counts_c * stride + c] of column c, and counts it; where kColumnRows are counted, to
  // `left`, which has room for n. Returns how many are left.
  size_t (*move_to_columns)(const float* x, size_t n, const Slices& slices, float* table, size_t stride,
                            uint8_t* counts, LeftShare* left);

  // Sorts 16 columns, the number in row r of column c being x[r * stride + c], of which
  // column c has counts_c, at most 16, from row 0; none is NaN or less than 0, nor -0. Writes one
  // column behind the other, each from its largest; returns how many numbers. There are 16 rows to
  // be read, and room for 256 numbers, of which what is behind the sorted ones may be written.
  size_t (*sort_columns)(const float* x, size_t stride, const uint8_t* counts, float* sorted);

  // The sum of the bends, as of sum_bends, that begin in such columns, each sorted and put behind
  // its predecessor, which has no smaller number. next[0] and next[1] follow the last, and become
  // the first two of all. Where a column is empty, or the first number exceeds 1.25 next[1],
  // nothing is done, and the result is -1: so all are few multiples of one bit, and no sum
  // rounds. Null where the other ops are as fast.
  double (*sum_column_bends)(const float* x, size_t stride, const uint8_t* counts, float next[2]);

  // hashes_i: of the token ids_i, or first_id + i where ids is null.
  void (*min_hash)(const MinHash& hash, const int32_t* ids, int32_t first_id, size_t n, int32_t* hashes);
};

// The table of one instruction set; kAuto: the best this CPU has. Null where this build or
// CPU lacks it. kReference always exists.
const Kernels* find_kernels(Isa isa);

// For work without linear layers: as kAuto, but never kAvx512Amx, whose kernels are those of
// kAvx512Vnni, and for which the operating system would be asked.
const Kernels* find_vector_kernels();

}  // namespace sotto
