#include "platforms/java/jni/arrays.h"

namespace sotto_jni {

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

}  // namespace sotto_jni
