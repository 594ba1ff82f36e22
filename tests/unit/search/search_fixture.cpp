#include "tests/unit/search/search_fixture.h"

#include <algorithm>

#include "runtime/base/random.h"

namespace sotto {
namespace {

void* align(std::vector<uint8_t>& storage, size_t size) {
  storage.assign(size + kMemoryAlignment, 0xA5);
  const auto address = reinterpret_cast<uintptr_t>(storage.data());
  return storage.data() + (kMemoryAlignment - address % kMemoryAlignment);
}

}  // namespace

std::vector<float> scrambled_logits(const Tokens& tokens, size_t vocabulary, uint64_t seed, float spread) {
  uint64_t hash = seed;
  for (const int32_t token : tokens) hash = random_bits(hash, static_cast<uint64_t>(token) + 1);
  std::vector<float> logits(vocabulary);
  for (size_t i = 0; i < vocabulary; ++i) {
    logits[i] = spread * static_cast<float>(random_bits(hash, 1000 + i) >> 40) * 0x1p-24f;
  }
  return logits;
}

bool ToyGrammar::allows(int state, int32_t token) const {
  if (token == end_token_) return may_end_[static_cast<size_t>(state)];
  return next(state, token) != kDead;
}

bool ToyGrammar::complete(int state) const {
  for (int32_t token = 0; token < static_cast<int32_t>(vocabulary()); ++token) {
    if (token != end_token_ && allows(state, token)) return false;
  }
  return true;
}

Status ToyGrammar::mask(uint32_t sequence, TokenMask* mask) {
  words_.assign(TokenMask::word_count(vocabulary()), 0);
  for (size_t token = 0; token < vocabulary(); ++token) {
    if (!allows(states_.at(sequence), static_cast<int32_t>(token))) continue;
    words_[token / 64] |= uint64_t{1} << (token % 64);
  }
  *mask = {words_.data(), vocabulary()};
  return Status::kOk;
}

Status ToyGrammar::accept_token(uint32_t sequence, int32_t token) {
  if (!allows(states_.at(sequence), token)) throw std::runtime_error("masked token accepted");
  if (token != end_token_) states_[sequence] = next(states_[sequence], token);
  return Status::kOk;
}

SamplerParams plain_sampler() {
  SamplerParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  return params;
}

SearchFixture::SearchFixture(uint32_t vocabulary, const SearchSizes& shape, int32_t end_token)
    : vocabulary_(vocabulary) {
  Arena measure;
  Search().layout(measure, shape);
  Arena arena(align(search_storage_, measure.size()));
  search_.layout(arena, shape);
  constexpr size_t kListBytes = 4096;
  for (uint32_t token = 0; token < vocabulary; ++token) {
    token_bytes_.push_back(static_cast<char>(token));
    token_offsets_.push_back(token);
  }
  token_offsets_.push_back(vocabulary);
  tokenizer_.token_bytes = token_bytes_;
  tokenizer_.token_offsets = token_offsets_;
  Arena stops_arena(align(stops_storage_, kListBytes));
  stops_.layout(stops_arena, {vocabulary, /*context_tokens=*/1024, /*has_text=*/true, kListBytes});
  SamplerContext sampler_context = {};
  sampler_context.vocabulary_size = vocabulary;
  set_end_token(end_token);
  sampler_context.end_tokens = input_.end_tokens;
  sampler_context.list_bytes = kListBytes;
  Arena sampler_measure;
  Sampler().layout(sampler_measure, sampler_context);
  Arena sampler_arena(align(sampler_storage_, sampler_measure.size()));
  sampler_.layout(sampler_arena, sampler_context);
  sampler_.init(reference_kernels());
  set_sampler(plain_sampler());
  input_.kernels = &reference_kernels();
  input_.sampler = &sampler_;
  input_.stops = &stops_;
  input_.tokenizer = &tokenizer_;
  input_.cancellation = &cancellation_;
  input_.token_count = 1;
}

void SearchFixture::set_end_token(int32_t token) {
  end_token_ = token;
  input_.end_tokens = {&end_token_, token < 0 ? size_t{0} : size_t{1}};
}

void SearchFixture::set_sampler(const SamplerParams& params) {
  Error error;
  if (sampler_.set_params(params, &error) != Status::kOk) throw std::runtime_error(error.message);
  input_.sampler_state = sampler_.initial_state();
}

void SearchFixture::set_stops(const StopParams& params) {
  Error error;
  if (stops_.set(params, &error) != Status::kOk) throw std::runtime_error(error.message);
}

std::vector<SearchSequence> SearchFixture::run(const SequenceModel& model, const SearchParams& params,
                                               Status expected) {
  Error error;
  std::span<const SearchSequence> sequences;
  const Status status = search(model, params, &sequences, &error);
  if (status != expected) {
    throw std::runtime_error("status " + std::to_string(static_cast<int>(status)) + " " + error.message);
  }
  return {sequences.begin(), sequences.end()};
}

std::string SearchFixture::refusal(const SequenceModel& model, const SearchParams& params, Status expected) {
  Error error;
  std::span<const SearchSequence> sequences;
  const Status status = search(model, params, &sequences, &error);
  if (status != expected || !sequences.empty()) return "not refused";
  return error.message;
}

Status SearchFixture::search(const SequenceModel& model, const SearchParams& params,
                             std::span<const SearchSequence>* sequences, Error* error) {
  input_.model = model;
  SearchParams resolved;
  SOTTO_TRY(search_.resolve(input_, vocabulary_, params, &resolved, error));
  return search_.run(input_, resolved, sequences, error);
}

}  // namespace sotto
