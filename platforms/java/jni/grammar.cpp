// Native methods of vocabularies and grammars.
#include <cstdlib>
#include <cstring>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

namespace {

void destroy(Vocabulary* vocabulary) {
  sotto_posix_free(&vocabulary->memory);
  sotto_posix_free(&vocabulary->tokens);
  std::free(vocabulary);
}

bool init(JNIEnv* env, const sotto_vocabulary_params& params, Vocabulary* vocabulary) {
  size_t size = 0;
  sotto_error error = new_error();
  sotto_status status = sotto_vocabulary_memory_size(&params, &size, &error);
  if (!check(env, status, &error)) return false;
  if (!allocate(env, size, &vocabulary->memory)) return false;
  status = sotto_vocabulary_init(&params, vocabulary->memory.bytes, size, &vocabulary->vocabulary, &error);
  return check(env, status, &error);
}

// Copies the caller's tokens into one block: offsets, end tokens, flags and bytes. The Java code has created
// the arrays with matching lengths.
bool copy_tokens(JNIEnv* env, jbyteArray bytes, jintArray offsets, jbyteArray special, jintArray ends,
                 sotto_vocabulary_params* params, Vocabulary* vocabulary) {
  const jsize byte_count = env->GetArrayLength(bytes);
  const jsize offset_count = env->GetArrayLength(offsets);
  const jsize end_count = env->GetArrayLength(ends);
  const jsize flag_count = env->GetArrayLength(special);
  const size_t ints = 4 * (static_cast<size_t>(offset_count) + static_cast<size_t>(end_count));
  const size_t flags = static_cast<size_t>(flag_count);
  if (!allocate(env, ints + flags + static_cast<size_t>(byte_count), &vocabulary->tokens)) return false;
  auto* block = static_cast<char*>(vocabulary->tokens.bytes);
  auto* numbers = reinterpret_cast<jint*>(block);
  env->GetIntArrayRegion(offsets, 0, offset_count, numbers);
  env->GetIntArrayRegion(ends, 0, end_count, numbers + offset_count);
  env->GetByteArrayRegion(special, 0, flag_count, reinterpret_cast<jbyte*>(block + ints));
  env->GetByteArrayRegion(bytes, 0, byte_count, reinterpret_cast<jbyte*>(block + ints + flags));
  params->token_count = static_cast<uint32_t>(offset_count - 1);
  params->offsets = reinterpret_cast<const uint32_t*>(numbers);
  params->end_tokens = numbers + offset_count;
  params->end_token_count = static_cast<size_t>(end_count);
  params->special = reinterpret_cast<const uint8_t*>(block + ints);
  params->bytes = block + ints + flags;
  return true;
}

template <class T>
T* new_handle(JNIEnv* env) {
  auto* handle = static_cast<T*>(std::calloc(1, sizeof(T)));
  if (handle == nullptr) throw_out_of_memory(env);
  return handle;
}

// Loads an image of `size` bytes, which belongs to the grammar. A failure frees it, and returns 0 with a pending
// exception.
jlong new_grammar(JNIEnv* env, sotto_posix_memory image, size_t size) {
  const sotto_grammar* grammar = nullptr;
  sotto_error error = new_error();
  const bool is_loaded = check(env, sotto_grammar_load(image.bytes, size, &grammar, &error), &error);
  Grammar* handle = is_loaded ? new_handle<Grammar>(env) : nullptr;
  if (handle == nullptr) {
    sotto_posix_free(&image);
    return 0;
  }
  handle->grammar = grammar;
  handle->memory = image;
  return handle_of(handle);
}

// Reloads a grammar from its image, because a compiled grammar occupies the working memory of the compiler.
jlong reload(JNIEnv* env, const sotto_grammar* grammar) {
  size_t size = 0;
  sotto_grammar_save(grammar, nullptr, 0, &size);
  sotto_posix_memory image;
  if (!allocate(env, size, &image)) return 0;
  if (check(env, sotto_grammar_save(grammar, image.bytes, size, &size))) return new_grammar(env, image, size);
  sotto_posix_free(&image);
  return 0;
}

}  // namespace

NATIVE(jlong, vocabularyNew)
(JNIEnv* env, jclass, jlong model, jbyteArray bytes, jintArray offsets, jbyteArray special, jintArray ends) {
  auto* vocabulary = new_handle<Vocabulary>(env);
  if (vocabulary == nullptr) return 0;
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  bool is_ready = true;
  if (model != 0) {
    params.model = as<Model>(model)->model;
  } else {
    is_ready = copy_tokens(env, bytes, offsets, special, ends, &params, vocabulary);
  }
  if (is_ready && init(env, params, vocabulary)) return handle_of(vocabulary);
  destroy(vocabulary);
  return 0;
}

NATIVE(void, vocabularyFree)(JNIEnv*, jclass, jlong vocabulary) { destroy(as<Vocabulary>(vocabulary)); }

NATIVE(jlong, grammarCompile)
(JNIEnv* env, jclass, jbyteArray source, jobject from, jlong vocabulary, jobject callbacks) {
  Arena arena;
  sotto_grammar_params params;
  const char* text;
  size_t size;
  if (!read_bytes(env, source, &arena, &text, &size)) return 0;
  if (!read_params(env, from, &arena, &params)) return 0;
  if (vocabulary != 0) params.vocabulary = as<Vocabulary>(vocabulary)->vocabulary;
  if (callbacks != nullptr) {
    params.log = on_log;
    params.log_user_data = callbacks;
  }
  const size_t limit = size_t{1} << 30;  // maximum number of bytes for compilation
  const size_t typical = sotto_grammar_typical_memory(size);
  for (size_t capacity = typical < limit ? typical : limit;; capacity = capacity < limit / 8 ? 8 * capacity : limit) {
    sotto_posix_memory memory;
    if (!allocate(env, capacity, &memory)) return 0;
    sotto_grammar* grammar = nullptr;
    size_t used = 0;
    sotto_error error = new_error();
    const sotto_status status =
        sotto_grammar_compile(text, size, &params, memory.bytes, capacity, &grammar, &used, &error);
    const bool lacks_memory = status == SOTTO_GRAMMAR_TOO_LARGE && error.offset == UINT64_MAX && capacity < limit;
    const jlong handle = !env->ExceptionCheck() && status >= 0 ? reload(env, grammar) : 0;
    sotto_posix_free(&memory);
    if (lacks_memory && !env->ExceptionCheck()) continue;
    check(env, status, &error);
    return handle;
  }
}

NATIVE(jlong, grammarLoad)(JNIEnv* env, jclass, jbyteArray image) {
  const jsize length = env->GetArrayLength(image);
  sotto_posix_memory memory;
  if (!allocate(env, static_cast<size_t>(length), &memory)) return 0;
  env->GetByteArrayRegion(image, 0, length, static_cast<jbyte*>(memory.bytes));
  return new_grammar(env, memory, static_cast<size_t>(length));
}

NATIVE(jbyteArray, grammarSave)(JNIEnv* env, jclass, jlong handle) {
  const sotto_grammar* grammar = as<Grammar>(handle)->grammar;
  Arena arena;
  size_t size = 0;
  sotto_grammar_save(grammar, nullptr, 0, &size);
  char* image = arena.array<char>(env, size);
  if (image == nullptr) return nullptr;
  return check(env, sotto_grammar_save(grammar, image, size, &size)) ? new_bytes(env, image, size) : nullptr;
}

NATIVE(void, grammarFree)(JNIEnv*, jclass, jlong grammar) {
  sotto_posix_free(&as<Grammar>(grammar)->memory);
  std::free(as<Grammar>(grammar));
}
