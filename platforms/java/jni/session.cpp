// Native methods of sessions: parameters, the stream, scores, searches, saved states.

#include <cstdlib>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

namespace {

void destroy(JNIEnv* env, Session* session) {
  sotto_session_deinit(session->session);
  sotto_posix_free(&session->memory);
  if (session->callbacks != nullptr) env->DeleteGlobalRef(session->callbacks);
  std::free(session);
}

bool init(JNIEnv* env, const sotto_model* model, jobject from, Session* session) {
  Arena arena;
  sotto_session_params params;
  if (!read_params(env, from, &arena, &params)) return false;
  size_t size = 0;
  sotto_error error = new_error();
  sotto_status status = sotto_session_memory_size(model, &params, &size, &error);
  if (!check(env, status, &error)) return false;
  if (!allocate(env, size, &session->memory)) return false;
  status = sotto_session_init(model, &params, session->memory.bytes, size, &session->session, &error);
  return check(env, status, &error);
}

jobjectArray new_sequences(JNIEnv* env, const sotto_sequence* sequences, size_t count) {
  const Library& java = library();
  jobjectArray array = env->NewObjectArray(static_cast<jsize>(count), java.sequence_class, nullptr);
  for (size_t i = 0; array != nullptr && i < count; ++i) {
    const sotto_sequence& sequence = sequences[i];
    jintArray tokens = new_ints(env, sequence.tokens, sequence.token_count);
    if (tokens == nullptr) return nullptr;
    jobject object = env->NewObject(java.sequence_class, java.new_sequence, tokens, sequence.score,
                                    sequence.log_probability, sequence.stop, static_cast<jint>(sequence.index));
    if (object == nullptr) return nullptr;
    env->SetObjectArrayElement(array, static_cast<jsize>(i), object);
    if (env->ExceptionCheck()) return nullptr;
    env->DeleteLocalRef(object);
    env->DeleteLocalRef(tokens);
  }
  return array;
}

// Reads the group numbers of phrases, which are int[] in Java.
bool read_groups(JNIEnv* env, jintArray groups, Arena* arena, sotto_search_params* params) {
  if (groups == nullptr) return true;
  const sotto_token* numbers;
  size_t count;
  if (!read_tokens(env, groups, arena, &numbers, &count)) return false;
  if (count != params->phrase_count) {
    jclass type = env->FindClass("java/lang/IllegalArgumentException");
    if (type != nullptr) env->ThrowNew(type, "phraseGroups must have a number for each phrase");
    return false;
  }
  params->phrase_groups = reinterpret_cast<const uint32_t*>(numbers);
  return true;
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
(JNIEnv* env, jclass, jlong session, jobject from, jboolean has_callback, jboolean has_processor) {
  Arena arena;
  sotto_sampler_params params;
  sotto_error error = new_error();
  const LogitsCalls calls = {as<Session>(session)->callbacks, has_callback != 0, has_processor != 0};
  if (!read_sampler_params(env, from, calls, &arena, &params)) return;
  check(env, sotto_session_set_sampler(session_of(session), &params, &error), &error);
}

NATIVE(void, sessionSetSpeculation)
(JNIEnv* env, jclass, jlong session, jobject from, jlong draft_session, jboolean calls) {
  Arena arena;
  sotto_speculation_params params;
  sotto_error error = new_error();
  if (!read_params(env, from, &arena, &params)) return;
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
  sotto_error error = new_error();
  if (!read_params(env, from, &arena, &params)) return;
  sotto_session* second = guide == 0 ? nullptr : session_of(guide);
  check(env, sotto_session_set_guide(session_of(session), second, &params, &error), &error);
}

NATIVE(void, sessionSetMatcher)(JNIEnv* env, jclass, jlong session, jlong matcher) {
  sotto_error error = new_error();
  sotto_matcher* used = matcher == 0 ? nullptr : as<Matcher>(matcher)->matcher;
  check(env, sotto_session_set_matcher(session_of(session), used, &error), &error);
}

// Java has checked that the embeddings have `count` rows.
NATIVE(jint, sessionPrefillEmbeddings)(JNIEnv* env, jclass, jlong session, jfloatArray from, jint count) {
  Arena arena;
  const jsize size = env->GetArrayLength(from);
  auto* embeddings = arena.array<float>(env, static_cast<size_t>(size));
  if (embeddings == nullptr) return 0;
  env->GetFloatArrayRegion(from, 0, size, embeddings);
  const sotto_status status =
      sotto_session_prefill_embeddings(session_of(session), embeddings, static_cast<size_t>(count));
  check_call(env, session, status);
  return status;
}

NATIVE(jobject, sessionNext)(JNIEnv* env, jclass, jlong session) {
  const sotto_piece* piece = nullptr;
  const sotto_status status = sotto_session_next(session_of(session), &piece);
  return check_call(env, session, status) ? new_piece(env, *piece, status) : nullptr;
}

NATIVE(jobjectArray, sessionsNext)(JNIEnv* env, jclass, jlongArray from) {
  Arena arena;
  const jsize count = env->GetArrayLength(from);
  const auto size = static_cast<size_t>(count);
  auto* handles = arena.array<jlong>(env, size);
  auto* sessions = arena.array<sotto_session*>(env, size);
  auto* pieces = arena.array<const sotto_piece*>(env, size);
  auto* statuses = arena.array<sotto_status>(env, size);
  if (handles == nullptr || sessions == nullptr || pieces == nullptr || statuses == nullptr) return nullptr;
  env->GetLongArrayRegion(from, 0, count, handles);
  for (size_t i = 0; i < size; ++i) sessions[i] = session_of(handles[i]);
  sotto_error error = new_error();
  if (!check(env, sotto_sessions_next(sessions, size, pieces, statuses, &error), &error)) return nullptr;
  jclass object = env->FindClass("java/lang/Object");
  jobjectArray results = object == nullptr ? nullptr : env->NewObjectArray(count, object, nullptr);
  for (jsize i = 0; results != nullptr && i < count; ++i) {
    if (env->PushLocalFrame(16) != 0) return nullptr;
    jobject result = nullptr;
    if (check_call(env, handles[i], statuses[i])) {
      result = new_piece(env, *pieces[i], statuses[i]);
    } else {
      result = env->ExceptionOccurred();
      env->ExceptionClear();
    }
    if (!env->ExceptionCheck()) env->SetObjectArrayElement(results, i, result);
    env->PopLocalFrame(nullptr);
    if (env->ExceptionCheck()) return nullptr;
  }
  return results;
}

NATIVE(jfloatArray, sessionScore)
(JNIEnv* env, jclass, jlong session, jintArray from, jobject to) {
  Arena arena;
  const sotto_token* tokens;
  size_t count;
  if (!read_tokens(env, from, &arena, &tokens, &count)) return nullptr;
  auto* each = arena.array<float>(env, count);
  if (each == nullptr) return nullptr;
  sotto_score score = {};
  score.struct_size = sizeof score;
  const sotto_status status = sotto_session_score(session_of(session), tokens, count, each, &score);
  if (!check_whole_call(env, session, status)) return nullptr;
  write_fields(env, &score, kScoreFields, to);
  return env->ExceptionCheck() ? nullptr : new_floats(env, each, count);
}

NATIVE(jobjectArray, sessionSearch)
(JNIEnv* env, jclass, jlong session, jobject from, jintArray groups, jboolean compares, jboolean steps) {
  Arena arena;
  sotto_search_params params;
  if (!read_params(env, from, &arena, &params)) return nullptr;
  if (!read_groups(env, groups, &arena, &params)) return nullptr;
  if (compares) {
    params.similarity = on_similarity;
    params.similarity_user_data = as<Session>(session)->callbacks;
  }
  if (steps) {
    params.on_step = on_step;
    params.step_user_data = as<Session>(session)->callbacks;
  }
  const sotto_sequence* sequences = nullptr;
  size_t count = 0;
  sotto_error error = new_error();
  const sotto_status status = sotto_session_search(session_of(session), &params, &sequences, &count, &error);
  if (!check(env, status, &error)) return nullptr;
  if (count == 0 && !check_whole(env, status)) return nullptr;
  return new_sequences(env, sequences, count);
}

NATIVE(void, sessionFork)(JNIEnv* env, jclass, jlong from, jlong to) {
  sotto_error error = new_error();
  check(env, sotto_session_fork(session_of(from), session_of(to), &error), &error);
}
