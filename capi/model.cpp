#include <algorithm>

#include "capi/generated/params.h"
#include "runtime/grammar/vocabulary/model_vocabulary.h"

using sotto::Model;
using sotto::ModelConfig;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

constexpr bool is_same(sotto::Isa isa, sotto_isa number) { return static_cast<sotto_isa>(isa) == number; }
static_assert(is_same(sotto::Isa::kAuto, SOTTO_ISA_AUTO) && is_same(sotto::Isa::kReference, SOTTO_ISA_REFERENCE) &&
              is_same(sotto::Isa::kAvx2, SOTTO_ISA_AVX2) && is_same(sotto::Isa::kAvx512, SOTTO_ISA_AVX512) &&
              is_same(sotto::Isa::kAvx512Vnni, SOTTO_ISA_AVX512VNNI) && is_same(sotto::Isa::kNeon, SOTTO_ISA_NEON) &&
              is_same(sotto::Isa::kNeonDotprod, SOTTO_ISA_NEON_DOTPROD) &&
              is_same(sotto::Isa::kNeonI8mm, SOTTO_ISA_NEON_I8MM) &&
              is_same(sotto::Isa::kAvx512Amx, SOTTO_ISA_AVX512AMX));

sotto::ModelOptions read_options(const sotto_model_params* params) {
  const sotto_model_params given = sotto::capi::read(params, sotto::capi::kModelDefaults);
  return {static_cast<sotto::Isa>(given.isa), given.verify_checksums != 0, given.copy_weights != 0, given.release,
          given.release_user_data};
}

void log_model(const sotto_model_params* params, const Model& model) {
  if (params == nullptr) return;
  const sotto_model_params given = sotto::capi::read(params, sotto::capi::kModelDefaults);
  if (given.log == nullptr) return;
  sotto::Error text;
  sotto::MessageWriter writer(&text);
  writer.add("model ready: isa ");
  writer.add(sotto::isa_name(model.isa()));
  writer.add(model.packed_in_place() ? ", weights used from the file" : ", weights in memory");
  given.log(given.log_user_data, SOTTO_LOG_INFO, text.message);
}

uint64_t count_parameters(const Model& model) {
  const ModelConfig& config = model.config();
  const uint64_t width = config.embedding_size;
  uint64_t count = width * config.position_count + 2 * width;
  for (size_t i = 0; i < model.view().linear_count(); ++i) {
    const sotto::LinearWeights linear = model.view().linear(i);
    // Tiles hold biases. Layers use them, and heads usually do not.
    const bool is_of_layer = i + 1 < model.view().linear_count();
    const bool has_bias = linear.tiles == nullptr ? linear.bias != nullptr : is_of_layer;
    count += uint64_t{linear.inputs} * linear.outputs + (has_bias ? linear.outputs : 0);
  }
  if (!model.view().has_tied_head()) count += width * config.vocabulary_size;
  return count + 4 * width * config.layer_count;
}

uint64_t count_weight_bytes(const Model& model) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < model.view().linear_count(); ++i) {
    bytes += model.view().linear_bytes(i).size;
  }
  return bytes;
}

uint32_t bits_of(const sotto::LinearWeights& weights) { return weights.tiles == nullptr ? 8 : 4; }

uint32_t most_layer_weight_bits(const Model& model) {
  uint32_t most = 0;
  for (size_t i = 0; i + 1 < model.view().linear_count(); ++i) {
    most = std::max(most, bits_of(model.view().linear(i)));
  }
  return most;
}

}  // namespace

sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* params,
                                     size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if (file == nullptr) return out.null_argument("file");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  if (params != nullptr && params->struct_size == 0) return out.bad_struct("params");
  return wrap(Model::memory_size(file, file_size, read_options(params), memory_size, out.get()));
}

sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* params, void* memory,
                              size_t memory_size, sotto_model** model, sotto_error* error) {
  ErrorOut out(error);
  if (file == nullptr) return out.null_argument("file");
  if (memory == nullptr) return out.null_argument("memory");
  if (model == nullptr) return out.null_argument("model");
  if (params != nullptr && params->struct_size == 0) return out.bad_struct("params");
  Model* made = nullptr;
  const sotto::Status status =
      Model::init(file, file_size, read_options(params), memory, memory_size, &made, out.get());
  if (status != sotto::Status::kOk) return wrap(status);
  log_model(params, *made);
  *model = reinterpret_cast<sotto_model*>(made);
  return SOTTO_OK;
}

void sotto_model_deinit(sotto_model*) {}  // nothing outside the caller's memory has to be released

sotto_status sotto_model_get_info(const sotto_model* handle, sotto_model_info* info) {
  if (handle == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  const Model& model = *unwrap(handle);
  const ModelConfig& config = model.config();
  sotto_model_info filled = {};
  filled.vocabulary_size = config.vocabulary_size;
  filled.max_context_tokens = config.position_count;
  filled.layer_count = config.layer_count;
  filled.head_count = config.head_count;
  filled.embedding_size = config.embedding_size;
  filled.feed_forward_size = config.feed_forward_size;
  filled.end_of_text_token = config.end_of_text_token;
  filled.has_tokenizer = model.tokenizer() != nullptr;
  filled.max_token_bytes = model.tokenizer() == nullptr ? 0 : model.tokenizer()->max_token_bytes;
  filled.isa = static_cast<sotto_isa>(model.isa());
  filled.packed_in_place = model.packed_in_place();
  filled.parameter_count = count_parameters(model);
  filled.weight_bytes = count_weight_bytes(model);
  filled.layer_weight_bits = most_layer_weight_bits(model);
  filled.head_weight_bits = bits_of(model.head());
  sotto::VocabularySection vocabulary;
  if (model.view().find_vocabulary(&vocabulary) && vocabulary.version == sotto::kPreparedVersion) {
    filled.vocabulary_bytes = vocabulary.arrays.size;
  }
  sotto::capi::fill(info, filled);
  return SOTTO_OK;
}
