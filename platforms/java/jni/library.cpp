// The native methods of the library itself: version and texts. The others are declared in library.h.
#include "platforms/java/jni/library.h"

#include <cstring>

#include "platforms/java/jni/arrays.h"
#include "platforms/java/jni/native.h"

namespace sotto_jni {
namespace {

Library the_library;  // written by JNI_OnLoad only

jclass global_class(JNIEnv* env, const char* name) {
  jclass local = env->FindClass(name);
  if (local == nullptr) return nullptr;
  auto* global = static_cast<jclass>(env->NewGlobalRef(local));
  env->DeleteLocalRef(local);
  return global;
}

bool find_callbacks(JNIEnv* env, Library* java) {
  jclass type = env->FindClass("io/github/sotto/Callbacks");
  if (type == nullptr) return false;
  const struct {
    jmethodID* id;
    const char *name, *signature;
  } methods[] = {
      {&java->on_log, "onLog", "(I[B)V"},        {&java->on_piece, "onPiece", "(Lio/github/sotto/Piece;)Z"},
      {&java->on_logits, "onLogits", "([F)V"},   {&java->on_processor, "onProcessor", "([II[F)V"},
      {&java->on_step, "onStep", "(II)Z"},       {&java->on_similarity, "onSimilarity", "([I[I)D"},
      {&java->on_draft, "onDraft", "([I[FI)[I"},
  };
  for (const auto& method : methods) {
    *method.id = env->GetMethodID(type, method.name, method.signature);
    if (*method.id == nullptr) return false;
  }
  env->DeleteLocalRef(type);
  return true;
}

bool find_classes(JNIEnv* env, Library* java) {
  java->native_class = global_class(env, "io/github/sotto/Native");
  java->piece_class = global_class(env, "io/github/sotto/Piece");
  java->sequence_class = global_class(env, "io/github/sotto/Sequence");
  java->int_array_class = global_class(env, "[I");
  jclass constant = env->FindClass("io/github/sotto/Constant");
  if (env->ExceptionCheck()) return false;
  java->constant_value = env->GetMethodID(constant, "value", "()I");
  env->DeleteLocalRef(constant);
  jclass native = java->native_class;
  java->to_utf8 = env->GetStaticMethodID(native, "toUtf8", "(Ljava/lang/String;)[B");
  java->from_utf8 = env->GetStaticMethodID(native, "fromUtf8", "([B)Ljava/lang/String;");
  java->failure = env->GetStaticMethodID(native, "failure", "(I[BJ)Lio/github/sotto/SottoException;");
  java->new_piece = env->GetMethodID(java->piece_class, "<init>", "([BI[BFF[I[FJFFIFI)V");
  java->new_sequence = env->GetMethodID(java->sequence_class, "<init>", "([IDDII)V");
  return !env->ExceptionCheck() && find_callbacks(env, java);
}

void throw_failure(JNIEnv* env, sotto_status status, const sotto_error* error) {
  const char* message = error == nullptr ? "" : error->message;
  jbyteArray bytes = new_bytes(env, message, std::strlen(message));
  if (bytes == nullptr) return;
  const jlong offset = error == nullptr ? -1 : static_cast<jlong>(error->offset);
  jobject failure = env->CallStaticObjectMethod(the_library.native_class, the_library.failure, status, bytes, offset);
  if (!env->ExceptionCheck()) env->Throw(static_cast<jthrowable>(failure));
}

}  // namespace

const Library& library() { return the_library; }

JNIEnv* environment() {
  void* env = nullptr;
  the_library.machine->GetEnv(&env, JNI_VERSION_1_6);
  return static_cast<JNIEnv*>(env);
}

bool check(JNIEnv* env, sotto_status status, const sotto_error* error) {
  if (env->ExceptionCheck()) return false;
  if (status < 0) throw_failure(env, status, error);
  return status >= 0;
}

bool check_whole(JNIEnv* env, sotto_status status) {
  if (!check(env, status)) return false;
  if (status != SOTTO_OK) throw_failure(env, status, nullptr);
  return status == SOTTO_OK;
}

void throw_out_of_memory(JNIEnv* env) {
  if (env->ExceptionCheck()) return;
  jclass type = env->FindClass("java/lang/OutOfMemoryError");
  if (type != nullptr) env->ThrowNew(type, "no memory outside the heap");
}

bool allocate(JNIEnv* env, size_t size, sotto_posix_memory* memory) {
  if (sotto_posix_allocate(size == 0 ? 1 : size, memory, nullptr, 0) == 0) return true;
  throw_out_of_memory(env);
  return false;
}

}  // namespace sotto_jni

using namespace sotto_jni;

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  void* env = nullptr;
  if (machine->GetEnv(&env, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  the_library.machine = machine;
  return find_classes(static_cast<JNIEnv*>(env), &the_library) ? JNI_VERSION_1_6 : JNI_ERR;
}

NATIVE(jint, version)(JNIEnv*, jclass) { return static_cast<jint>(sotto_version()); }

NATIVE(jstring, buildText)(JNIEnv* env, jclass) { return env->NewStringUTF(sotto_build_text()); }

NATIVE(jstring, statusText)(JNIEnv* env, jclass, jint status) { return env->NewStringUTF(sotto_status_text(status)); }

NATIVE(jstring, isaText)(JNIEnv* env, jclass, jint isa) { return env->NewStringUTF(sotto_isa_text(isa)); }
