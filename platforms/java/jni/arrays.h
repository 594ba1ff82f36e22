// New Java arrays with the values of C arrays.
#ifndef SOTTO_PLATFORMS_JAVA_JNI_ARRAYS_H
#define SOTTO_PLATFORMS_JAVA_JNI_ARRAYS_H

#include <jni.h>

#include <cstddef>
#include <cstdint>

namespace sotto_jni {

// The functions return nullptr with a pending exception if there is no memory.
jintArray new_ints(JNIEnv* env, const int32_t* values, size_t count);
jfloatArray new_floats(JNIEnv* env, const float* values, size_t count);
jbyteArray new_bytes(JNIEnv* env, const void* bytes, size_t size);

}  // namespace sotto_jni

#endif  // SOTTO_PLATFORMS_JAVA_JNI_ARRAYS_H
