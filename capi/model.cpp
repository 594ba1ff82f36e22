// The functions of sotto_model.h: models, tokenization and detokenization.
#include <algorithm>

#include "capi/generated/params.h"
#include "runtime/grammar/vocabulary/model_vocabulary.h"
#include "runtime/model/model_counts.h"
#include "runtime/text/tokenizer.h"

using sotto::Model;
using sotto::ModelConfig;
using sotto::ModelParams;
using sotto::TokenizerView;
using sotto::capi::ErrorOut;
using sotto::capi::read_params;
using sotto::capi::to_handle;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

void log_model(const ModelParams& params, const Model& model) {
  if (params.log == nullptr) return;
  sotto::Error text;
  sotto::MessageWriter writer(&text);
  writer.add("model ready: isa ");
  writer.add(sotto::isa_name(model.isa()));
  writer.add(model.packs_at_load()       ? ", weights packed into memory"
             : model.uses_file_packing() ? ", weights used from the file"
                                         : ", weights copied to memory");
  params.log(params.log_user_data, SOTTO_LOG_INFO, text.message);
}

}  // namespace

sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* c_params,
                                     size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if (file == nullptr) return out.null_argument("file");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  ModelParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(Model::memory_size(file, file_size, params, memory_size, out.get()));
}

sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* c_params, void* memory,
                              size_t memory_size, sotto_model** c_model, sotto_error* error) {
  ErrorOut out(error);
  if (file == nullptr) return out.null_argument("file");
  if (memory == nullptr) return out.null_argument("memory");
  if (c_model == nullptr) return out.null_argument("model");
  ModelParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  Model* model = nullptr;
  const sotto::Status status = Model::init(file, file_size, params, memory, memory_size, &model, out.get());
  if (status != sotto::Status::kOk) return wrap(status);
  log_model(params, *model);
  *c_model = to_handle<sotto_model>(model);
  return SOTTO_OK;
}

void sotto_model_deinit(sotto_model*) {}  // nothing outside the caller's memory has to be released

sotto_status sotto_model_get_info(const sotto_model* c_model, sotto_model_info* info) {
  if (c_model == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  const Model& model = *unwrap(c_model);
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
  filled.packed_in_place = model.uses_file_packing();
  filled.parameter_count = count_parameters(model.view());
  filled.weight_bytes = count_weight_bytes(model.view());
  filled.layer_weight_bits = max_layer_weight_bits(model.view());
  filled.head_weight_bits = weight_bits(model.head());
  filled.reward_count = config.reward_count;
  filled.end_of_text_count = static_cast<uint32_t>(model.view().end_of_text_tokens().size());
  const sotto::SamplingDefaults& defaults = model.view().sampling_defaults();
#define FILL(type, name, ...) filled.default_##name = defaults.name;
  SOTTO_RECOMMENDED_PARAMETERS(FILL)
#undef FILL
  sotto::VocabularySection vocabulary;
  if (model.view().find_vocabulary(&vocabulary) && vocabulary.version == sotto::kPreparedVersion) {
    filled.vocabulary_bytes = vocabulary.arrays.size;
  }
  sotto::capi::fill(info, filled);
  return SOTTO_OK;
}

sotto_status sotto_model_text(const sotto_model* model, sotto_model_text_kind kind, const char** text, size_t* size) {
  if (model == nullptr || text == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  const sotto::ModelView& view = unwrap(model)->view();
  switch (kind) {
    case SOTTO_MODEL_TEXT_NAME:
      *text = view.name();
      break;
    case SOTTO_MODEL_TEXT_SOURCE:
      *text = view.source();
      break;
    case SOTTO_MODEL_TEXT_LICENSE:
      *text = view.license();
      break;
    case SOTTO_MODEL_TEXT_CHAT_TEMPLATE:
      *text = view.chat_template();
      break;
    case SOTTO_MODEL_TEXT_CHAT_FORMAT:
      *text = view.chat_format();
      break;
    default:
      return SOTTO_INVALID_ARGUMENT;
  }
  *size = std::strlen(*text);
  return SOTTO_OK;
}

sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                            sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error) {
  ErrorOut out(error);
  if (model == nullptr) return out.null_argument("model");
  if (text == nullptr && text_size != 0) return out.null_argument("text");
  if (tokens == nullptr && capacity != 0) return out.null_argument("tokens");
  if (count == nullptr) return out.null_argument("count");
  if ((flags & ~uint32_t{SOTTO_TOKENIZE_SPECIAL}) != 0) {
    return wrap(fail(out.get(), sotto::Status::kInvalidArgument, "flags is ", flags, "; it must be 0 or ",
                     uint32_t{SOTTO_TOKENIZE_SPECIAL}));
  }
  const TokenizerView* tokenizer = unwrap(model)->tokenizer();
  if (tokenizer == nullptr) {
    return wrap(fail(out.get(), sotto::Status::kTokenizerMissing, "the model has no tokenizer"));
  }
  return wrap(sotto::encode(*tokenizer, {text, text_size}, {(flags & SOTTO_TOKENIZE_SPECIAL) != 0}, {tokens, capacity},
                            count, out.get()));
}

sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size) {
  if (model == nullptr || bytes == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  const TokenizerView* tokenizer = unwrap(model)->tokenizer();
  if (tokenizer == nullptr) return SOTTO_TOKENIZER_MISSING;
  if (static_cast<uint32_t>(token) >= tokenizer->token_count) return SOTTO_INVALID_ARGUMENT;
  const auto found = tokenizer->bytes_of(static_cast<uint32_t>(token));
  *bytes = found.data();
  *size = found.size();
  return SOTTO_OK;
}

sotto_status sotto_token_flags(const sotto_model* c_model, sotto_token token, uint32_t* flags) {
  if (c_model == nullptr || flags == nullptr) return SOTTO_INVALID_ARGUMENT;
  const Model& model = *unwrap(c_model);
  if (static_cast<uint32_t>(token) >= model.config().vocabulary_size) return SOTTO_INVALID_ARGUMENT;
  // In the order of TokenKind.
  constexpr uint32_t kKinds[] = {0, SOTTO_TOKEN_ADDED, SOTTO_TOKEN_SPECIAL, SOTTO_TOKEN_UNUSED};
  const auto ends = model.view().end_of_text_tokens();
  *flags = std::find(ends.begin(), ends.end(), token) != ends.end() ? uint32_t{SOTTO_TOKEN_END_OF_TEXT} : 0;
  if (const TokenizerView* tokenizer = model.tokenizer(); tokenizer != nullptr) {
    *flags |= kKinds[static_cast<size_t>(tokenizer->token_kinds[static_cast<size_t>(token)])];
  }
  return SOTTO_OK;
}

sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                              size_t capacity, size_t* size) {
  if (model == nullptr || size == nullptr) return SOTTO_INVALID_ARGUMENT;
  if ((tokens == nullptr && count != 0) || (bytes == nullptr && capacity != 0)) {
    return SOTTO_INVALID_ARGUMENT;
  }
  const TokenizerView* tokenizer = unwrap(model)->tokenizer();
  if (tokenizer == nullptr) return SOTTO_TOKENIZER_MISSING;
  size_t needed = 0;
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<uint32_t>(tokens[i]) >= tokenizer->token_count) return SOTTO_INVALID_ARGUMENT;
    const size_t size_of_token = tokenizer->bytes_of(static_cast<uint32_t>(tokens[i])).size();
    if (__builtin_add_overflow(needed, size_of_token, &needed)) needed = SIZE_MAX;
  }
  *size = needed;
  if (needed > capacity) return SOTTO_BUFFER_TOO_SMALL;
  for (size_t i = 0; i < count; ++i) {
    const auto piece = tokenizer->bytes_of(static_cast<uint32_t>(tokens[i]));
    if (!piece.empty()) std::memcpy(bytes, piece.data(), piece.size());
    bytes += piece.size();
  }
  return SOTTO_OK;
}
