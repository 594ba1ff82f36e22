// Native methods of samplers without a session, and of the detection of watermarks.
#include <cstdlib>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

bool sotto_jni::read_sampler_params(JNIEnv* env, jobject from, const LogitsCalls& calls, Arena* arena,
                                    sotto_sampler_params* params) {
  if (!read_params(env, from, arena, params)) return false;
  params->logits_callback = calls.has_callback ? on_logits : nullptr;
  params->logits_processor = calls.has_processor ? on_processor : nullptr;
  params->logits_user_data = params->processor_user_data = calls.callbacks;
  return true;
}

namespace {

void destroy(JNIEnv* env, Sampler* sampler) {
  sotto_posix_free(&sampler->memory);
  if (sampler->callbacks != nullptr) env->DeleteGlobalRef(sampler->callbacks);
  std::free(sampler);
}

bool init(JNIEnv* env, const sotto_model* model, jint list_bytes, Sampler* sampler) {
  size_t size = 0;
  sotto_error error = new_error();
  const auto lists = static_cast<uint32_t>(list_bytes);
  sotto_status status = sotto_sampler_memory_size(sampler->vocabulary_size, lists, &size, &error);
  if (!check(env, status, &error)) return false;
  if (!allocate(env, size, &sampler->memory)) return false;
  status = sotto_sampler_init(model, sampler->vocabulary_size, lists, sampler->memory.bytes, size, &sampler->sampler,
                              &error);
  return check(env, status, &error);
}

// Java has checked that logits and words fit the vocabulary.
bool read_input(JNIEnv* env, jfloatArray logits, jlongArray allowed, jintArray history, Arena* arena,
                sotto_sampler_input* input) {
  *input = {};
  input->struct_size = sizeof *input;
  const jsize count = env->GetArrayLength(logits);
  auto* values = arena->array<float>(env, static_cast<size_t>(count));
  if (values == nullptr) return false;
  env->GetFloatArrayRegion(logits, 0, count, values);
  input->logits = values;
  if (allowed != nullptr) {
    const jsize word_count = env->GetArrayLength(allowed);
    auto* words = arena->array<jlong>(env, static_cast<size_t>(word_count));
    if (words == nullptr) return false;
    env->GetLongArrayRegion(allowed, 0, word_count, words);
    input->allowed = reinterpret_cast<const uint64_t*>(words);
  }
  return read_tokens(env, history, arena, &input->history, &input->history_count);
}

}  // namespace

NATIVE(jlong, samplerNew)
(JNIEnv* env, jclass, jlong model, jint vocabulary_size, jint list_bytes, jobject callbacks) {
  auto* sampler = static_cast<Sampler*>(std::calloc(1, sizeof(Sampler)));
  if (sampler == nullptr) {
    throw_out_of_memory(env);
    return 0;
  }
  sampler->vocabulary_size = vocabulary_size < 0 ? 0 : static_cast<size_t>(vocabulary_size);
  sampler->callbacks = env->NewGlobalRef(callbacks);
  const sotto_model* used = model == 0 ? nullptr : as<Model>(model)->model;
  if (init(env, used, list_bytes, sampler)) return handle_of(sampler);
  destroy(env, sampler);
  return 0;
}

NATIVE(void, samplerFree)(JNIEnv* env, jclass, jlong sampler) { destroy(env, as<Sampler>(sampler)); }

NATIVE(void, samplerSet)
(JNIEnv* env, jclass, jlong sampler, jobject from, jboolean has_callback, jboolean has_processor) {
  Arena arena;
  sotto_sampler_params params;
  sotto_error error = new_error();
  const LogitsCalls calls = {as<Sampler>(sampler)->callbacks, has_callback != 0, has_processor != 0};
  if (!read_sampler_params(env, from, calls, &arena, &params)) return;
  check(env, sotto_sampler_set(as<Sampler>(sampler)->sampler, &params, &error), &error);
}

NATIVE(jint, samplerSample)
(JNIEnv* env, jclass, jlong sampler, jfloatArray logits, jlongArray allowed, jintArray history, jlong generated_count,
 jlong token_limit, jint sequence) {
  Arena arena;
  sotto_sampler_input input;
  if (!read_input(env, logits, allowed, history, &arena, &input)) return 0;
  input.generated_count = static_cast<uint64_t>(generated_count);
  input.token_limit = static_cast<uint64_t>(token_limit);
  input.sequence = static_cast<uint32_t>(sequence);
  sotto_token token = 0;
  sotto_error error = new_error();
  check(env, sotto_sampler_sample(as<Sampler>(sampler)->sampler, &input, &token, &error), &error);
  return token;
}

// Returns the remaining tokens and writes their probabilities to `probabilities`, which has one element per token of
// the vocabulary.
NATIVE(jintArray, samplerApply)
(JNIEnv* env, jclass, jlong sampler, jfloatArray logits, jlongArray allowed, jintArray history, jlong generated_count,
 jlong token_limit, jint sequence, jfloatArray probabilities) {
  Arena arena;
  sotto_sampler_input input;
  if (!read_input(env, logits, allowed, history, &arena, &input)) return nullptr;
  input.generated_count = static_cast<uint64_t>(generated_count);
  input.token_limit = static_cast<uint64_t>(token_limit);
  input.sequence = static_cast<uint32_t>(sequence);
  const size_t capacity = as<Sampler>(sampler)->vocabulary_size;
  auto* tokens = arena.array<sotto_token>(env, capacity);
  auto* values = tokens == nullptr ? nullptr : arena.array<float>(env, capacity);
  if (values == nullptr) return nullptr;
  size_t count = 0;
  sotto_error error = new_error();
  const sotto_status status =
      sotto_sampler_apply(as<Sampler>(sampler)->sampler, &input, tokens, values, capacity, &count, &error);
  if (!check(env, status, &error)) return nullptr;
  env->SetFloatArrayRegion(probabilities, 0, static_cast<jsize>(count), values);
  return new_ints(env, tokens, count);
}

NATIVE(void, watermarkDetect)
(JNIEnv* env, jclass, jobject from, jint vocabulary_size, jintArray written, jobject to) {
  Arena arena;
  sotto_watermark_params params;
  const sotto_token* tokens;
  size_t count;
  if (!read_params(env, from, &arena, &params)) return;
  if (!read_tokens(env, written, &arena, &tokens, &count)) return;
  sotto_watermark_result result = {};
  result.struct_size = sizeof result;
  sotto_error error = new_error();
  const size_t size = vocabulary_size < 0 ? 0 : static_cast<size_t>(vocabulary_size);
  const sotto_status status = sotto_watermark_detect(&params, size, tokens, count, &result, &error);
  if (check(env, status, &error)) write_fields(env, &result, kWatermarkResultFields, to);
}
