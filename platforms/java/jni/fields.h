// Conversions between Java objects and C structs, driven by tables of fields.
#ifndef SOTTO_PLATFORMS_JAVA_JNI_FIELDS_H
#define SOTTO_PLATFORMS_JAVA_JNI_FIELDS_H

#include <jni.h>
#include <sotto.h>

#include <cstddef>
#include <cstdint>

#include "platforms/java/jni/arrays.h"
#include "platforms/java/jni/library.h"

namespace sotto_jni {

// The name and type of a field in Java, its offset in the C struct and, for lists, the offset of the count.
struct Field {
  const char* name;
  const char* signature;
  size_t offset;
  size_t count_offset;
};

struct Fields {
  const Field* fields;
  size_t count;
};

// Memory for the targets of pointers in parameters, freed with the arena.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Returns zeroed memory of at least one byte, or nullptr with a pending exception.
  void* allocate(JNIEnv* env, size_t size);

  template <class T>
  T* array(JNIEnv* env, size_t count) {
    return static_cast<T*>(allocate(env, count * sizeof(T)));
  }

 private:
  struct Block {
    Block* next;
  };
  Block* blocks_ = nullptr;
};

// The next functions copy Java arrays into an arena; null is an empty array. They return false with a pending
// exception.
bool read_tokens(JNIEnv* env, jintArray from, Arena* arena, const sotto_token** tokens, size_t* count);
bool read_text(JNIEnv* env, jstring from, Arena* arena, sotto_text* text);
bool read_bytes(JNIEnv* env, jbyteArray from, Arena* arena, const char** bytes, size_t* size);

// Fills a struct from the fields of an object. Returns false with a pending exception.
bool read_fields(JNIEnv* env, jobject from, const Fields& fields, Arena* arena, void* to);

// The object with the functions of Java, and which of them change logits.
struct LogitsCalls {
  jobject callbacks;
  bool has_callback, has_processor;
};

// Fills the parameters of a sampler as read_fields() does.
bool read_sampler_params(JNIEnv* env, jobject from, const LogitsCalls& calls, Arena* arena,
                         sotto_sampler_params* params);

// Sets the fields of an object from a struct.
void write_fields(JNIEnv* env, const void* from, const Fields& fields, jobject to);

// Returns a new string, or nullptr with a pending exception.
jstring new_text(JNIEnv* env, const char* text, size_t size);

}  // namespace sotto_jni

#endif  // SOTTO_PLATFORMS_JAVA_JNI_FIELDS_H
