// Native methods of sessions: parameters and the stream.
#include <cstdlib>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

namespace {

sotto_session* session_of(jlong handle) { return as<Session>(handle)->session; }

void destroy(JNIEnv* env, Session* session) {
  sotto_session_deinit(session->session);
  sotto_posix_free(&session->memory);
  if (session->callbacks != nullptr) env->DeleteGlobalRef(session->callbacks);
  std::free(session);
}

bool init(JNIEnv* env, const sotto_model* model, jobject from, Session* session) {
  Arena arena;
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  if (!read_fields(env, from, kSessionParamsFields, &arena, &params)) return false;
  size_t size = 0;
  sotto_error error = new_error();
  sotto_status status = sotto_session_memory_size(model, &params, &size, &error);
  if (!check(env, status, &error)) return false;
  if (!allocate(env, size, &session->memory)) return false;
  status = sotto_session_init(model, &params, session->memory.bytes, size, &session->session, &error);
  return check(env, status, &error);
}

}  // namespace

NATIVE(jlong, sessionNew)(JNIEnv* env, jclass, jlong model, jobject params, jobject callbacks) {
  auto* session = static_cast<Session*>(std::calloc(1, sizeof(Session)));
  if (session == nullptr) {
    throw_out_of_memory(env);
    return 0;
  }
  session->callbacks = env->NewGlobalRef(callbacks);
  if (init(env, as<Model>(model)->model, params, session)) return handle_of(session);
  destroy(env, session);
  return 0;
}

NATIVE(void, sessionFree)(JNIEnv* env, jclass, jlong session) { destroy(env, as<Session>(session)); }

NATIVE(void, sessionCancel)(JNIEnv*, jclass, jlong session) { sotto_session_cancel(session_of(session)); }

NATIVE(void, sessionSetSampler)
(JNIEnv* env, jclass, jlong session, jobject from, jboolean calls) {
  Arena arena;
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  sotto_error error = new_error();
  if (!read_fields(env, from, kSamplerParamsFields, &arena, &params)) return;
  if (calls) {
    params.logits_callback = on_logits;
    params.logits_user_data = as<Session>(session)->callbacks;
  }
  check(env, sotto_session_set_sampler(session_of(session), &params, &error), &error);
}

NATIVE(void, sessionSetStops)(JNIEnv* env, jclass, jlong session, jobject from) {
  Arena arena;
  sotto_stop_params params;
  sotto_stop_params_init(&params, sizeof params);
  sotto_error error = new_error();
  if (!read_fields(env, from, kStopParamsFields, &arena, &params)) return;
  check(env, sotto_session_set_stops(session_of(session), &params, &error), &error);
}

NATIVE(void, sessionSetSpeculation)
(JNIEnv* env, jclass, jlong session, jobject from, jlong draft_session, jboolean calls) {
  Arena arena;
  sotto_speculation_params params;
  sotto_speculation_params_init(&params, sizeof params);
  sotto_error error = new_error();
  if (!read_fields(env, from, kSpeculationParamsFields, &arena, &params)) return;
  if (draft_session != 0) params.draft_session = session_of(draft_session);
  if (calls) {
    params.draft = on_draft;
    params.user_data = as<Session>(session)->callbacks;
  }
  check(env, sotto_session_set_speculation(session_of(session), &params, &error), &error);
}

NATIVE(void, sessionSetGuide)
(JNIEnv* env, jclass, jlong session, jlong guide, jobject from) {
  Arena arena;
  sotto_guide_params params;
  sotto_guide_params_init(&params, sizeof params);
  sotto_error error = new_error();
  if (!read_fields(env, from, kGuideParamsFields, &arena, &params)) return;
  sotto_session* second = guide == 0 ? nullptr : session_of(guide);
  check(env, sotto_session_set_guide(session_of(session), second, &params, &error), &error);
}

NATIVE(void, sessionSetMatcher)(JNIEnv* env, jclass, jlong session, jlong matcher) {
  sotto_error error = new_error();
  sotto_matcher* used = matcher == 0 ? nullptr : as<Matcher>(matcher)->matcher;
  check(env, sotto_session_set_matcher(session_of(session), used, &error), &error);
}

NATIVE(jint, sessionPrefill)(JNIEnv* env, jclass, jlong session, jintArray from) {
  Arena arena;
  const sotto_token* tokens;
  size_t count;
  if (!read_tokens(env, from, &arena, &tokens, &count)) return 0;
  const sotto_status status = sotto_session_prefill(session_of(session), tokens, count);
  check(env, status);
  return status;
}

NATIVE(jobject, sessionNext)(JNIEnv* env, jclass, jlong session) {
  const sotto_piece* piece = nullptr;
  const sotto_status status = sotto_session_next(session_of(session), &piece);
  return check(env, status) ? new_piece(env, *piece, status) : nullptr;
}

NATIVE(jint, sessionGenerate)
(JNIEnv* env, jclass, jlong session, jintArray from, jlong max_tokens, jboolean calls) {
  Arena arena;
  const sotto_token* tokens;
  size_t count;
  if (!read_tokens(env, from, &arena, &tokens, &count)) return 0;
  const size_t limit = max_tokens < 0 ? SIZE_MAX : static_cast<size_t>(max_tokens);
  const sotto_status status = sotto_session_generate(session_of(session), tokens, count, limit,
                                                     calls ? on_piece : nullptr, as<Session>(session)->callbacks);
  check(env, status);
  return status;
}

NATIVE(void, sessionHeal)(JNIEnv* env, jclass, jlong session) { check(env, sotto_session_heal(session_of(session))); }

NATIVE(void, sessionRewind)(JNIEnv* env, jclass, jlong session, jlong token_count) {
  check(env, sotto_session_rewind(session_of(session), static_cast<uint64_t>(token_count)));
}

NATIVE(void, sessionReset)(JNIEnv*, jclass, jlong session) { sotto_session_reset(session_of(session)); }
