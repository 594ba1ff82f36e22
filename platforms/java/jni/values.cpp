// Conversions of arrays and texts between Java and C.
#include <cstdlib>
#include <cstring>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/library.h"

namespace sotto_jni {

Arena::~Arena() {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    std::free(blocks_);
    blocks_ = next;
  }
}

void* Arena::allocate(JNIEnv* env, size_t size) {
  constexpr size_t kHead = 16;
  auto* block = size > SIZE_MAX - kHead - 1 ? nullptr : static_cast<Block*>(std::calloc(1, kHead + size + 1));
  if (block == nullptr) {
    throw_out_of_memory(env);
    return nullptr;
  }
  block->next = blocks_;
  blocks_ = block;
  return reinterpret_cast<char*>(block) + kHead;
}

bool read_tokens(JNIEnv* env, jintArray from, Arena* arena, const sotto_token** tokens, size_t* count) {
  const jsize length = from == nullptr ? 0 : env->GetArrayLength(from);
  auto* values = arena->array<sotto_token>(env, static_cast<size_t>(length));
  if (values == nullptr) return false;
  if (length > 0) env->GetIntArrayRegion(from, 0, length, values);
  *tokens = values;
  *count = static_cast<size_t>(length);
  return true;
}

bool read_bytes(JNIEnv* env, jbyteArray from, Arena* arena, const char** bytes, size_t* size) {
  const jsize length = from == nullptr ? 0 : env->GetArrayLength(from);
  auto* values = arena->array<jbyte>(env, static_cast<size_t>(length));
  if (values == nullptr) return false;
  if (length > 0) env->GetByteArrayRegion(from, 0, length, values);
  *bytes = reinterpret_cast<const char*>(values);
  *size = static_cast<size_t>(length);
  return true;
}

// JNI's own functions use modified UTF-8, so Java encodes and decodes.
bool read_text(JNIEnv* env, jstring from, Arena* arena, sotto_text* text) {
  const Library& java = library();
  auto* bytes = static_cast<jbyteArray>(env->CallStaticObjectMethod(java.native_class, java.to_utf8, from));
  if (env->ExceptionCheck()) return false;
  const bool is_read = read_bytes(env, bytes, arena, &text->text, &text->size);
  env->DeleteLocalRef(bytes);
  return is_read;
}

jintArray new_ints(JNIEnv* env, const int32_t* values, size_t count) {
  const auto length = static_cast<jsize>(count);
  jintArray array = env->NewIntArray(length);
  if (array != nullptr && length > 0) env->SetIntArrayRegion(array, 0, length, values);
  return array;
}

jfloatArray new_floats(JNIEnv* env, const float* values, size_t count) {
  const auto length = static_cast<jsize>(count);
  jfloatArray array = env->NewFloatArray(length);
  if (array != nullptr && length > 0) env->SetFloatArrayRegion(array, 0, length, values);
  return array;
}

jbyteArray new_bytes(JNIEnv* env, const void* bytes, size_t size) {
  const auto length = static_cast<jsize>(size);
  jbyteArray array = env->NewByteArray(length);
  if (array != nullptr && length > 0) {
    env->SetByteArrayRegion(array, 0, length, static_cast<const jbyte*>(bytes));
  }
  return array;
}

jstring new_text(JNIEnv* env, const char* text, size_t size) {
  const Library& java = library();
  jbyteArray bytes = new_bytes(env, text, size);
  if (bytes == nullptr) return nullptr;
  auto* made = static_cast<jstring>(env->CallStaticObjectMethod(java.native_class, java.from_utf8, bytes));
  env->DeleteLocalRef(bytes);
  return env->ExceptionCheck() ? nullptr : made;
}

}  // namespace sotto_jni
