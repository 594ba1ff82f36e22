// Native methods of matchers.
#include <cstdlib>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

using namespace sotto_jni;

namespace {

uint32_t number(jint sequence) { return static_cast<uint32_t>(sequence); }

bool init(JNIEnv* env, const sotto_grammar* grammar, const sotto_vocabulary* vocabulary, jobject from,
          Matcher* matcher) {
  Arena arena;
  sotto_matcher_params params;
  if (!read_params(env, from, &arena, &params)) return false;
  size_t size = 0;
  sotto_error error = new_error();
  sotto_status status = sotto_matcher_memory_size(grammar, vocabulary, &params, &size, &error);
  if (!check(env, status, &error)) return false;
  if (!allocate(env, size, &matcher->memory)) return false;
  status = sotto_matcher_init(grammar, vocabulary, &params, matcher->memory.bytes, size, &matcher->matcher, &error);
  return check(env, status, &error);
}

void destroy(Matcher* matcher) {
  sotto_posix_free(&matcher->memory);
  std::free(matcher);
}

}  // namespace

NATIVE(jlong, matcherNew)
(JNIEnv* env, jclass, jlong grammar, jlong vocabulary, jobject params) {
  auto* matcher = static_cast<Matcher*>(std::calloc(1, sizeof(Matcher)));
  if (matcher == nullptr) {
    throw_out_of_memory(env);
    return 0;
  }
  const sotto_vocabulary* words = vocabulary == 0 ? nullptr : as<Vocabulary>(vocabulary)->vocabulary;
  if (init(env, as<Grammar>(grammar)->grammar, words, params, matcher)) return handle_of(matcher);
  destroy(matcher);
  return 0;
}

NATIVE(void, matcherFree)(JNIEnv*, jclass, jlong matcher) { destroy(as<Matcher>(matcher)); }

NATIVE(jlong, matcherMemoryBytes)(JNIEnv*, jclass, jlong matcher) {
  return static_cast<jlong>(as<Matcher>(matcher)->memory.size);
}

NATIVE(jlongArray, matcherMask)
(JNIEnv* env, jclass, jlong matcher, jint sequence, jint word_count) {
  Arena arena;
  const auto count = static_cast<size_t>(word_count);
  auto* words = arena.array<uint64_t>(env, count);
  if (words == nullptr) return nullptr;
  if (!check(env, sotto_matcher_mask(matcher_of(matcher), number(sequence), words, count))) {
    return nullptr;
  }
  jlongArray array = env->NewLongArray(word_count);
  if (array != nullptr) {
    env->SetLongArrayRegion(array, 0, word_count, reinterpret_cast<const jlong*>(words));
  }
  return array;
}

NATIVE(jintArray, matcherAllowedTokens)
(JNIEnv* env, jclass, jlong matcher, jint sequence, jint word_count) {
  const uint64_t* words = nullptr;
  if (!check(env, sotto_matcher_borrow_mask(matcher_of(matcher), number(sequence), &words))) {
    return nullptr;
  }
  Arena arena;
  const auto word_end = static_cast<size_t>(word_count);
  auto* tokens = arena.array<jint>(env, 64 * word_end);
  if (tokens == nullptr) return nullptr;
  jsize count = 0;
  for (size_t token = 0; token < 64 * word_end; ++token) {
    if ((words[token / 64] >> token % 64 & 1) != 0) tokens[count++] = static_cast<jint>(token);
  }
  jintArray array = env->NewIntArray(count);
  if (array != nullptr) env->SetIntArrayRegion(array, 0, count, tokens);
  return array;
}

// Sets bit 0 if the sequence followed by the text can be completed, and bit 1 if it is complete.
NATIVE(jint, matcherTest)(JNIEnv* env, jclass, jlong matcher, jint sequence, jbyteArray from) {
  Arena arena;
  const char* text;
  size_t size;
  uint32_t begins = 0, matches = 0;
  if (!read_bytes(env, from, &arena, &text, &size)) return 0;
  check(env, sotto_matcher_test(matcher_of(matcher), number(sequence), text, size, &begins, &matches));
  return static_cast<jint>(begins | matches << 1);
}

NATIVE(jbyteArray, matcherForcedText)
(JNIEnv* env, jclass, jlong matcher, jint sequence, jint capacity) {
  Arena arena;
  char* text = arena.array<char>(env, static_cast<size_t>(capacity));
  size_t size = 0;
  if (text == nullptr) return nullptr;
  const sotto_status status =
      sotto_matcher_forced_text(matcher_of(matcher), number(sequence), text, static_cast<size_t>(capacity), &size);
  return check(env, status) ? new_bytes(env, text, size) : nullptr;
}
