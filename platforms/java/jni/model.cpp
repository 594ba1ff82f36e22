// Native methods of models.

#include <cstdlib>
#include <cstring>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

namespace {

// Uses the bytes that a function of sotto_posix has mapped, or throws its message.
bool use_mapping(JNIEnv* env, int failure, const char* message, Model* model) {
  if (failure != 0) {
    jclass type = env->FindClass("java/io/IOException");
    if (type != nullptr) env->ThrowNew(type, message);
    return false;
  }
  model->file = model->mapping.bytes;
  model->file_size = model->mapping.size;
  return true;
}

bool map_file(JNIEnv* env, const char* path, Model* model) {
  char message[512];
  const int failure = sotto_posix_map_file(path, &model->mapping, message, sizeof message);
  return use_mapping(env, failure, message, model);
}

bool map_descriptor(JNIEnv* env, jint file, jlong offset, jlong size, Model* model) {
  char message[512];
  const int failure = sotto_posix_map_descriptor(file, static_cast<uint64_t>(offset), static_cast<uint64_t>(size),
                                                 &model->mapping, message, sizeof message);
  return use_mapping(env, failure, message, model);
}

bool copy_file(JNIEnv* env, jbyteArray bytes, Model* model) {
  const jsize length = env->GetArrayLength(bytes);
  if (!allocate(env, static_cast<size_t>(length), &model->copy)) return false;
  model->file = model->copy.bytes;
  model->file_size = static_cast<size_t>(length);
  env->GetByteArrayRegion(bytes, 0, length, static_cast<jbyte*>(model->copy.bytes));
  return true;
}

void destroy(JNIEnv* env, Model* model) {
  sotto_model_deinit(model->model);
  sotto_posix_unmap_file(&model->mapping);
  sotto_posix_free(&model->copy);
  sotto_posix_free(&model->memory);
  if (model->callbacks != nullptr) env->DeleteGlobalRef(model->callbacks);
  std::free(model);
}

bool read_model_params(JNIEnv* env, jobject from, const Model& model, sotto_model_params* params) {
  Arena arena;
  if (!read_params(env, from, &arena, params)) return false;
  if (model.callbacks != nullptr) {
    params->log = on_log;
    params->log_user_data = model.callbacks;
  }
  if (model.mapping.bytes != nullptr && model.mapping.copied_size == 0) params->release = sotto_posix_release;
  return true;
}

bool init(JNIEnv* env, jobject from, Model* model) {
  sotto_model_params params;
  sotto_error error = new_error();
  if (!read_model_params(env, from, *model, &params)) return false;
  size_t size = 0;
  sotto_status status = sotto_model_memory_size(model->file, model->file_size, &params, &size, &error);
  if (!check(env, status, &error) || !allocate(env, size, &model->memory)) return false;
  status = sotto_model_init(model->file, model->file_size, &params, model->memory.bytes, size, &model->model, &error);
  return check(env, status, &error);
}

// Creates a model from the bytes that load(model) provides.
template <typename F>
jlong new_model(JNIEnv* env, jobject params, jobject callbacks, F load) {
  auto* model = static_cast<Model*>(std::calloc(1, sizeof(Model)));
  if (model == nullptr) {
    throw_out_of_memory(env);
    return 0;
  }
  if (callbacks != nullptr) model->callbacks = env->NewGlobalRef(callbacks);
  if (load(model) && init(env, params, model)) return handle_of(model);
  destroy(env, model);
  return 0;
}

}  // namespace

NATIVE(jlong, modelOpen)(JNIEnv* env, jclass, jstring path, jobject params, jobject callbacks) {
  return new_model(env, params, callbacks, [&](Model* model) {
    Arena arena;
    sotto_text name = {};
    // The arena's memory is zeroed and one byte longer than requested.
    return read_text(env, path, &arena, &name) && map_file(env, name.text, model);
  });
}

NATIVE(jlong, modelOfDescriptor)
(JNIEnv* env, jclass, jint file, jlong offset, jlong size, jobject params, jobject callbacks) {
  return new_model(env, params, callbacks,
                   [&](Model* model) { return map_descriptor(env, file, offset, size, model); });
}

NATIVE(jlong, modelOfBytes)(JNIEnv* env, jclass, jbyteArray bytes, jobject params, jobject callbacks) {
  return new_model(env, params, callbacks, [&](Model* model) { return copy_file(env, bytes, model); });
}

NATIVE(void, modelFree)(JNIEnv* env, jclass, jlong model) { destroy(env, as<Model>(model)); }

NATIVE(jlong, modelMemoryBytes)(JNIEnv*, jclass, jlong model) {
  return static_cast<jlong>(as<Model>(model)->memory.size);
}

NATIVE(jlong, modelMemorySize)(JNIEnv* env, jclass, jbyteArray bytes, jobject from) {
  Model model = {};
  size_t size = 0;
  sotto_model_params params;
  sotto_error error = new_error();
  if (copy_file(env, bytes, &model) && read_model_params(env, from, model, &params)) {
    check(env, sotto_model_memory_size(model.file, model.file_size, &params, &size, &error), &error);
  }
  sotto_posix_free(&model.copy);
  return static_cast<jlong>(size);
}

NATIVE(void, modelInfo)(JNIEnv* env, jclass, jlong model, jobject to) {
  sotto_model_info info = {};
  info.struct_size = sizeof info;
  if (check(env, sotto_model_get_info(as<Model>(model)->model, &info))) {
    write_fields(env, &info, kModelInfoFields, to);
  }
}

NATIVE(jintArray, tokenize)
(JNIEnv* env, jclass, jlong model, jbyteArray text, jboolean special) {
  Arena arena;
  const char* bytes;
  size_t size, count = 0;
  if (!read_bytes(env, text, &arena, &bytes, &size)) return nullptr;
  const uint32_t flags = special ? uint32_t{SOTTO_TOKENIZE_SPECIAL} : 0;
  for (size_t capacity = size / 2 + 8;; capacity = count) {
    auto* tokens = arena.array<sotto_token>(env, capacity);
    if (tokens == nullptr) return nullptr;
    sotto_error error = new_error();
    const sotto_status status =
        sotto_tokenize(as<Model>(model)->model, bytes, size, flags, tokens, capacity, &count, &error);
    if (status == SOTTO_BUFFER_TOO_SMALL) continue;
    return check(env, status, &error) ? new_ints(env, tokens, count) : nullptr;
  }
}

NATIVE(jbyteArray, tokenBytes)(JNIEnv* env, jclass, jlong model, jint token) {
  const char* bytes;
  size_t size;
  const sotto_status status = sotto_token_bytes(as<Model>(model)->model, token, &bytes, &size);
  return check(env, status) ? new_bytes(env, bytes, size) : nullptr;
}

NATIVE(jint, tokenFlags)(JNIEnv* env, jclass, jlong model, jint token) {
  uint32_t flags = 0;
  check(env, sotto_token_flags(as<Model>(model)->model, token, &flags));
  return static_cast<jint>(flags);
}

NATIVE(jbyteArray, modelText)(JNIEnv* env, jclass, jlong model, jint kind) {
  const char* bytes;
  size_t size;
  const sotto_status status = sotto_model_text(as<Model>(model)->model, kind, &bytes, &size);
  return check(env, status) ? new_bytes(env, bytes, size) : nullptr;
}

NATIVE(jbyteArray, detokenize)(JNIEnv* env, jclass, jlong model, jintArray from) {
  Arena arena;
  const sotto_token* tokens;
  size_t count, size = 0;
  if (!read_tokens(env, from, &arena, &tokens, &count)) return nullptr;
  sotto_status status = sotto_detokenize(as<Model>(model)->model, tokens, count, nullptr, 0, &size);
  char* bytes = nullptr;
  if (status == SOTTO_BUFFER_TOO_SMALL) {
    bytes = arena.array<char>(env, size);
    if (bytes == nullptr) return nullptr;
    status = sotto_detokenize(as<Model>(model)->model, tokens, count, bytes, size, &size);
  }
  return check(env, status) ? new_bytes(env, bytes, size) : nullptr;
}

NATIVE(jlong, sessionMemorySize)(JNIEnv* env, jclass, jlong model, jobject from) {
  Arena arena;
  sotto_session_params params;
  size_t size = 0;
  sotto_error error = new_error();
  if (!read_params(env, from, &arena, &params)) return 0;
  check(env, sotto_session_memory_size(as<Model>(model)->model, &params, &size, &error), &error);
  return static_cast<jlong>(size);
}
