// The functions of sotto_sampler.h: the sampler of a session, samplers without a session, watermark detection.
#include "runtime/sampling/sampler.h"
#include "capi/generated/params.h"
#include "runtime/base/range_check.h"
#include "runtime/sampling/watermark/watermark_detect.h"

using sotto::SampleInput;
using sotto::SamplerParams;
using sotto::StandaloneSampler;
using sotto::Status;
using sotto::TokenMask;
using sotto::capi::ErrorOut;
using sotto::capi::read_params;
using sotto::capi::to_handle;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

constexpr sotto_sampler_input kNoInput = {sizeof(sotto_sampler_input), 0, nullptr, nullptr, nullptr, 0, 0, 0};

// A validated sotto_sampler_input, for one call of sotto_sampler_sample() or sotto_sampler_apply().
struct StepInput {
  std::span<const float> logits;
  TokenMask mask;
  SampleInput input;
};

sotto_status read_input(const StandaloneSampler& sampler, const sotto_sampler_input* params, StepInput* step,
                        ErrorOut* out) {
  if (params == nullptr) return out->null_argument("input");
  if (params->struct_size == 0) return out->bad_struct("input");
  const sotto_sampler_input given = sotto::capi::read(params, kNoInput);
  const size_t vocabulary = sampler.vocabulary_size();
  if (given.logits == nullptr) return out->null_argument("logits");
  if (given.history == nullptr && given.history_count != 0) return out->null_argument("history");
  if (given.generated_count > given.history_count) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "generated_count is ", given.generated_count,
                     "; it must be at most history_count, ", given.history_count));
  }
  const std::span<const int32_t> history(given.history, given.history_count);
  const Status status = sotto::check_tokens("history", history, vocabulary, out->get());
  if (status != Status::kOk) return wrap(status);
  if (given.allowed != nullptr) {
    step->mask = {given.allowed, vocabulary};
    if (!step->mask.allows_any()) {
      return wrap(
          fail(out->get(), Status::kInvalidArgument, "allowed has no bit set; it must allow at least one token"));
    }
  }
  step->logits = {given.logits, vocabulary};
  step->input.history = sotto::TokenHistory({}, history);
  step->input.place = given.history_count;
  step->input.sequence = given.sequence;
  step->input.generated_count = given.generated_count;
  step->input.token_limit = given.token_limit;
  return SOTTO_OK;
}

}  // namespace

sotto_status sotto_session_set_sampler(sotto_session* session, const sotto_sampler_params* c_params,
                                       sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  SamplerParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(unwrap(session)->set_sampler(params, out.get()));
}

sotto_status sotto_sampler_memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* memory_size,
                                       sotto_error* error) {
  ErrorOut out(error);
  if (memory_size == nullptr) return out.null_argument("memory_size");
  return wrap(StandaloneSampler::memory_size(vocabulary_size, list_bytes, memory_size, out.get()));
}

sotto_status sotto_sampler_init(const sotto_model* handle, size_t vocabulary_size, uint32_t list_bytes, void* memory,
                                size_t memory_size, sotto_sampler** c_sampler, sotto_error* error) {
  ErrorOut out(error);
  if (memory == nullptr) return out.null_argument("memory");
  if (c_sampler == nullptr) return out.null_argument("sampler");
  const sotto::Model* model = unwrap(handle);
  if (model != nullptr && model->config().vocabulary_size != vocabulary_size) {
    return wrap(fail(out.get(), Status::kInvalidArgument, "vocabulary_size is ", vocabulary_size,
                     "; it must be the model's, ", model->config().vocabulary_size));
  }
  sotto::SamplerContext context;
  if (model != nullptr) context = sotto::make_sampler_context(*model);
  context.vocabulary_size = vocabulary_size;
  context.list_bytes = list_bytes;
  StandaloneSampler* sampler = nullptr;
  const Status status =
      StandaloneSampler::init(*sotto::find_vector_kernels(), context, memory, memory_size, &sampler, out.get());
  if (status == Status::kOk) *c_sampler = to_handle<sotto_sampler>(sampler);
  return wrap(status);
}

sotto_status sotto_sampler_set(sotto_sampler* sampler, const sotto_sampler_params* c_params, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(sampler), "sampler"));
  SamplerParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(unwrap(sampler)->set_params(params, out.get()));
}

sotto_status sotto_sampler_sample(sotto_sampler* handle, const sotto_sampler_input* input, sotto_token* token,
                                  sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(handle), "sampler"));
  if (token == nullptr) return out.null_argument("token");
  StandaloneSampler& sampler = *unwrap(handle);
  StepInput step;
  SOTTO_TRY_C(read_input(sampler, input, &step, &out));
  return wrap(sampler.sample(step.logits, step.mask, step.input, token, out.get()));
}

sotto_status sotto_sampler_apply(sotto_sampler* handle, const sotto_sampler_input* input, sotto_token* tokens,
                                 float* probabilities, size_t capacity, size_t* count, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(handle), "sampler"));
  if (count == nullptr) return out.null_argument("count");
  if (capacity != 0 && tokens == nullptr) return out.null_argument("tokens");
  if (capacity != 0 && probabilities == nullptr) return out.null_argument("probabilities");
  StandaloneSampler& sampler = *unwrap(handle);
  StepInput step;
  SOTTO_TRY_C(read_input(sampler, input, &step, &out));
  const sotto::Candidates* applied = nullptr;
  const Status status = sampler.apply(step.logits, step.mask, step.input, &applied, out.get());
  if (status != Status::kOk) return wrap(status);
  const sotto::Candidates& candidates = *applied;
  *count = candidates.count();
  if (candidates.count() > capacity) {
    return wrap(fail(out.get(), Status::kBufferTooSmall, "capacity is ", capacity,
                     "; it must be at least the number of remaining tokens, ", candidates.count()));
  }
  for (size_t i = 0; i < candidates.count(); ++i) tokens[i] = candidates.id(i);
  sotto::write_probabilities(candidates, probabilities);
  return SOTTO_OK;
}

sotto_status sotto_watermark_detect(const sotto_watermark_params* c_params, size_t vocabulary_size,
                                    const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                    sotto_error* error) {
  ErrorOut out(error);
  if (tokens == nullptr && count != 0) return out.null_argument("tokens");
  if (result == nullptr) return out.null_argument("result");
  if (result->struct_size == 0) return out.bad_struct("result");
  sotto::WatermarkParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  sotto::WatermarkResult found;
  const Status status = sotto::detect_watermark(params, {tokens, count}, vocabulary_size, &found, out.get());
  if (status != Status::kOk) return wrap(status);
  sotto_watermark_result filled = {};
  filled.is_marked = found.is_marked ? 1 : 0;
  filled.token_count = found.token_count;
  filled.score = found.score;
  filled.z = found.z;
  filled.p_value = found.p_value;
  sotto::capi::fill(result, filled);
  return SOTTO_OK;
}
