// Native methods of conversations.

#include <cstdlib>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

namespace {

void destroy(Chat* chat) {
  sotto_posix_free(&chat->memory);
  std::free(chat);
}

bool init(JNIEnv* env, sotto_session* session, jbyteArray format, jobject from, Chat* chat) {
  Arena arena;
  sotto_chat_params params;
  const char* text;
  size_t text_size;
  if (!read_params(env, from, &arena, &params)) return false;
  if (!read_bytes(env, format, &arena, &text, &text_size)) return false;
  size_t size = 0;
  sotto_error error = new_error();
  sotto_status status = sotto_chat_memory_size(session, &params, &size, &error);
  if (!check(env, status, &error)) return false;
  if (!allocate(env, size, &chat->memory)) return false;
  status = sotto_chat_init(session, &params, text, text_size, chat->memory.bytes, size, &chat->chat, &error);
  return check(env, status, &error);
}

}  // namespace

NATIVE(jstring, chatFormatText)(JNIEnv* env, jclass, jint format) {
  return env->NewStringUTF(sotto_chat_format_text(format));
}

NATIVE(jlong, chatNew)(JNIEnv* env, jclass, jlong session, jbyteArray format, jobject params) {
  auto* chat = static_cast<Chat*>(std::calloc(1, sizeof(Chat)));
  if (chat == nullptr) {
    throw_out_of_memory(env);
    return 0;
  }
  chat->callbacks = as<Session>(session)->callbacks;
  if (init(env, as<Session>(session)->session, format, params, chat)) return handle_of(chat);
  destroy(chat);
  return 0;
}

NATIVE(void, chatFree)(JNIEnv*, jclass, jlong chat) { destroy(as<Chat>(chat)); }
