// The names of native methods, and the objects that handles point to.
#ifndef SOTTO_PLATFORMS_JAVA_JNI_NATIVE_H
#define SOTTO_PLATFORMS_JAVA_JNI_NATIVE_H

#include <jni.h>
#include <sotto.h>
#include <sotto_posix.h>

#include <cstddef>

#include "platforms/java/jni/library.h"

#define NATIVE(type, name) extern "C" JNIEXPORT type JNICALL Java_io_github_sotto_Native_##name

namespace sotto_jni {

struct Model {
  sotto_model* model;
  const void* file;  // bytes of the mapping or of the copy
  size_t file_size;
  sotto_posix_mapping mapping;
  sotto_posix_memory copy;
  sotto_posix_memory memory;
  jobject callbacks;  // a global reference, or nullptr
};

struct Session {
  sotto_session* session;
  sotto_posix_memory memory;
  jobject callbacks;
};

struct Chat {
  sotto_chat* chat;
  sotto_posix_memory memory;
  jobject callbacks;  // of its session, which outlives it
};

struct Vocabulary {
  sotto_vocabulary* vocabulary;
  sotto_posix_memory memory;
  sotto_posix_memory tokens;  // the caller's tokens in one block
};

struct Grammar {
  const sotto_grammar* grammar;
  sotto_posix_memory memory;
};

struct Matcher {
  sotto_matcher* matcher;
  sotto_posix_memory memory;
};

struct Sampler {
  sotto_sampler* sampler;
  sotto_posix_memory memory;
  size_t vocabulary_size;
  jobject callbacks;
};

inline sotto_session* session_of(jlong handle) { return as<Session>(handle)->session; }
inline sotto_chat* chat_of(jlong handle) { return as<Chat>(handle)->chat; }
inline sotto_matcher* matcher_of(jlong handle) { return as<Matcher>(handle)->matcher; }

// Throws for a failure of a call without an error parameter, which the session describes.
inline bool check_call(JNIEnv* env, jlong session, sotto_status status) {
  sotto_error error = new_error();
  if (status < 0) (void)sotto_session_get_error(session_of(session), &error);
  return check(env, status, error.status == status ? &error : nullptr);
}

// Also throws for a stop, for calls whose outputs a stop leaves unwritten.
inline bool check_whole_call(JNIEnv* env, jlong session, sotto_status status) {
  return check_call(env, session, status) && check_whole(env, status);
}

// The next functions call io.github.sotto.Callbacks, whose global reference is the user_data. While an exception is
// pending they do nothing and end generation.
void on_log(void* callbacks, sotto_log_level level, const char* message);
int32_t on_piece(void* callbacks, const sotto_piece* piece);
void on_logits(void* callbacks, float* logits, size_t count);
void on_processor(void* callbacks, const sotto_token* tokens, size_t token_count, uint32_t sequence, float* logits,
                  size_t count);
double on_similarity(void* callbacks, const sotto_token* a, size_t a_count, const sotto_token* b, size_t b_count);
int32_t on_step(void* callbacks, uint32_t sequence, sotto_token token);
size_t on_draft(void* callbacks, const sotto_token* tokens, size_t token_count, const float* hidden,
                size_t hidden_count, sotto_token* drafts, size_t capacity);

// Returns a new io.github.sotto.Piece, or nullptr with a pending exception.
jobject new_piece(JNIEnv* env, const sotto_piece& piece, sotto_status stop);

}  // namespace sotto_jni

#endif  // SOTTO_PLATFORMS_JAVA_JNI_NATIVE_H
