#include "converters/quantize/int8_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace sotto {
namespace {

void check(sotto_status status, const sotto_error& error) {
  if (status == SOTTO_OK) return;
  throw RuntimeFailure(status, error.message);
}

void check(sotto_status status) {
  if (status != SOTTO_OK) throw RuntimeFailure(status, sotto_status_text(status));
}

sotto_error empty_error() {
  sotto_error error = {};
  error.struct_size = sizeof error;
  return error;
}

}  // namespace

void FreeAligned::operator()(uint8_t* bytes) const { std::free(bytes); }

AlignedBytes allocate_aligned(size_t size) {
  constexpr size_t kAlignment = SOTTO_MEMORY_ALIGNMENT;
  const size_t rounded = (std::max<size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  AlignedBytes bytes(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  if (bytes == nullptr) throw std::bad_alloc();
  return bytes;
}

Int8Model::Int8Model(std::span<const uint8_t> file, sotto_isa isa) : file_(allocate_aligned(file.size())) {
  std::copy(file.begin(), file.end(), file_.get());
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = isa;
  sotto_error error = empty_error();
  size_t size = 0;
  check(sotto_model_memory_size(file_.get(), file.size(), &params, &size, &error), error);
  memory_ = allocate_aligned(size);
  check(sotto_model_init(file_.get(), file.size(), &params, memory_.get(), size, &model_, &error), error);
  info_.struct_size = sizeof info_;
  check(sotto_model_get_info(model_, &info_));
}

std::vector<sotto_token> Int8Model::tokenize(std::string_view text) const {
  std::vector<sotto_token> tokens(text.size());
  sotto_error error = empty_error();
  size_t count = 0;
  check(sotto_tokenize(model_, text.data(), text.size(), 0, tokens.data(), tokens.size(), &count, &error), error);
  tokens.resize(count);
  return tokens;
}

sotto_session_params default_session_params() {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  return params;
}

Int8Session::Int8Session(const Int8Model& model, const sotto_session_params& params) {
  sotto_error error = empty_error();
  size_t size = 0;
  check(sotto_session_memory_size(model.get(), &params, &size, &error), error);
  memory_ = allocate_aligned(size);
  check(sotto_session_init(model.get(), &params, memory_.get(), size, &session_, &error), error);
}

sotto_session_info Int8Session::info() const {
  sotto_session_info info = {};
  info.struct_size = sizeof info;
  check(sotto_session_get_info(session_, &info));
  return info;
}

void Int8Session::prefill(std::span<const sotto_token> tokens) {
  check(sotto_session_prefill(session_, tokens.data(), tokens.size()));
}

std::span<const float> Int8Session::logits() {
  const float* logits = nullptr;
  size_t count = 0;
  check(sotto_session_logits(session_, &logits, &count));
  return {logits, count};
}

}  // namespace sotto
