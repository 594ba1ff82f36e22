// The Java classes and methods that the library calls, looked up once at load time. Converts failures.
#ifndef SOTTO_PLATFORMS_JAVA_JNI_LIBRARY_H
#define SOTTO_PLATFORMS_JAVA_JNI_LIBRARY_H

#include <jni.h>
#include <sotto.h>
#include <sotto_posix.h>

namespace sotto_jni {

struct Library {
  JavaVM* machine;
  jclass native_class;  // io.github.sotto.Native and its static methods
  jmethodID to_utf8;
  jmethodID from_utf8;
  jmethodID failure;
  jmethodID constant_value;
  jclass piece_class;
  jmethodID new_piece;
  jclass sequence_class;
  jmethodID new_sequence;
  jclass int_array_class;
  // io.github.sotto.Callbacks
  jmethodID on_log;
  jmethodID on_piece;
  jmethodID on_logits;
  jmethodID on_processor;
  jmethodID on_similarity;
  jmethodID on_step;
  jmethodID on_draft;
};

const Library& library();

// Returns the environment of a thread that is inside a call from Java.
JNIEnv* environment();

inline sotto_error new_error() {
  sotto_error error{};
  error.struct_size = sizeof error;
  error.offset = UINT64_MAX;
  return error;
}

// Throws SottoException for a failure, unless a callback has thrown already. Returns whether nothing
// was thrown.
bool check(JNIEnv* env, sotto_status status, const sotto_error* error = nullptr);

// Like check(), but a stop is also a failure, for calls whose outputs a stop leaves unwritten.
bool check_whole(JNIEnv* env, sotto_status status);

void throw_out_of_memory(JNIEnv* env);

// Converts handles, which are longs in Java.
template <class T>
T* as(jlong handle) {
  return reinterpret_cast<T*>(handle);
}

inline jlong handle_of(const void* pointer) { return reinterpret_cast<jlong>(pointer); }

// Allocates memory for an object of sotto.h, which sotto_posix_free() frees. Returns false with a pending exception if
// there is none.
bool allocate(JNIEnv* env, size_t size, sotto_posix_memory* memory);

}  // namespace sotto_jni

#endif  // SOTTO_PLATFORMS_JAVA_JNI_LIBRARY_H
