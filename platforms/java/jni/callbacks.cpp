// Calls Java from C callbacks, and converts pieces.
#include <algorithm>
#include <cstring>

#include "platforms/java/jni/fields.h"
#include "platforms/java/jni/library.h"
#include "platforms/java/jni/native.h"

namespace sotto_jni {
namespace {

// A frame of local references, so that the callbacks of one call do not accumulate them.
class Frame {
 public:
  Frame() : env_(environment()) { is_open_ = !env_->ExceptionCheck() && env_->PushLocalFrame(16) == 0; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    if (is_open_) env_->PopLocalFrame(nullptr);
  }
  JNIEnv* env() const { return env_; }
  bool is_open() const { return is_open_; }

 private:
  JNIEnv* env_;
  bool is_open_;
};

jobject target(void* callbacks) { return static_cast<jobject>(callbacks); }

bool new_alternatives(JNIEnv* env, const sotto_piece& piece, jintArray* tokens, jfloatArray* log_probabilities) {
  const uint32_t count = std::min(piece.alternative_count, uint32_t{64});
  int32_t ids[64];
  float values[64];
  for (uint32_t i = 0; i < count; ++i) {
    ids[i] = piece.alternatives[i].token;
    values[i] = piece.alternatives[i].log_probability;
  }
  *tokens = new_ints(env, ids, count);
  *log_probabilities = *tokens == nullptr ? nullptr : new_floats(env, values, count);
  return *log_probabilities != nullptr;
}

}  // namespace

jobject new_piece(JNIEnv* env, const sotto_piece& piece, sotto_status stop) {
  jintArray tokens;
  jfloatArray log_probabilities;
  jbyteArray text = new_bytes(env, piece.text, piece.text_size);
  jbyteArray bytes = text == nullptr ? nullptr : new_bytes(env, piece.bytes, piece.byte_count);
  if (bytes == nullptr || !new_alternatives(env, piece, &tokens, &log_probabilities)) {
    return nullptr;
  }
  return env->NewObject(library().piece_class, library().new_piece, text, piece.token, bytes,
                        static_cast<jfloat>(piece.log_probability), static_cast<jfloat>(piece.sampled_log_probability),
                        tokens, log_probabilities, static_cast<jlong>(piece.elapsed_ns),
                        static_cast<jfloat>(piece.entropy), static_cast<jfloat>(piece.effective_vocabulary),
                        static_cast<jint>(piece.kept_count), static_cast<jfloat>(piece.repetitiveness), stop);
}

void on_log(void* callbacks, sotto_log_level level, const char* message) {
  const Frame frame;
  if (!frame.is_open()) return;
  jbyteArray text = new_bytes(frame.env(), message, std::strlen(message));
  if (text != nullptr) {
    frame.env()->CallVoidMethod(target(callbacks), library().on_log, level, text);
  }
}

int32_t on_piece(void* callbacks, const sotto_piece* piece) {
  const Frame frame;
  if (!frame.is_open()) return 1;
  jobject object = new_piece(frame.env(), *piece, SOTTO_OK);
  if (object == nullptr) return 1;
  const jboolean stops = frame.env()->CallBooleanMethod(target(callbacks), library().on_piece, object);
  return frame.env()->ExceptionCheck() || stops ? 1 : 0;
}

void on_logits(void* callbacks, float* logits, size_t count) {
  const Frame frame;
  if (!frame.is_open()) return;
  JNIEnv* env = frame.env();
  jfloatArray values = new_floats(env, logits, count);
  if (values == nullptr) return;
  env->CallVoidMethod(target(callbacks), library().on_logits, values);
  if (env->ExceptionCheck()) return;
  env->GetFloatArrayRegion(values, 0, static_cast<jsize>(count), logits);
}

void on_processor(void* callbacks, const sotto_token* tokens, size_t token_count, uint32_t sequence, float* logits,
                  size_t count) {
  const Frame frame;
  if (!frame.is_open()) return;
  JNIEnv* env = frame.env();
  jintArray stream = new_ints(env, tokens, token_count);
  jfloatArray values = stream == nullptr ? nullptr : new_floats(env, logits, count);
  if (values == nullptr) return;
  env->CallVoidMethod(target(callbacks), library().on_processor, stream, static_cast<jint>(sequence), values);
  if (env->ExceptionCheck()) return;
  env->GetFloatArrayRegion(values, 0, static_cast<jsize>(count), logits);
}

double on_similarity(void* callbacks, const sotto_token* a, size_t a_count, const sotto_token* b, size_t b_count) {
  const Frame frame;
  if (!frame.is_open()) return 0;
  jintArray first = new_ints(frame.env(), a, a_count);
  jintArray second = first == nullptr ? nullptr : new_ints(frame.env(), b, b_count);
  if (second == nullptr) return 0;
  const double result = frame.env()->CallDoubleMethod(target(callbacks), library().on_similarity, first, second);
  return frame.env()->ExceptionCheck() ? 0 : result;
}

int32_t on_step(void* callbacks, uint32_t sequence, sotto_token token) {
  const Frame frame;
  if (!frame.is_open()) return 1;
  const jboolean stops =
      frame.env()->CallBooleanMethod(target(callbacks), library().on_step, static_cast<jint>(sequence), token);
  return frame.env()->ExceptionCheck() || stops ? 1 : 0;
}

size_t on_draft(void* callbacks, const sotto_token* tokens, size_t token_count, const float* hidden,
                size_t hidden_count, sotto_token* drafts, size_t capacity) {
  const Frame frame;
  if (!frame.is_open()) return 0;
  JNIEnv* env = frame.env();
  jintArray stream = new_ints(env, tokens, token_count);
  jfloatArray state = hidden == nullptr || stream == nullptr ? nullptr : new_floats(env, hidden, hidden_count);
  if (env->ExceptionCheck()) return 0;
  auto* guesses = static_cast<jintArray>(
      env->CallObjectMethod(target(callbacks), library().on_draft, stream, state, static_cast<jint>(capacity)));
  if (env->ExceptionCheck() || guesses == nullptr) return 0;
  const size_t count = std::min(static_cast<size_t>(env->GetArrayLength(guesses)), capacity);
  env->GetIntArrayRegion(guesses, 0, static_cast<jsize>(count), drafts);
  return count;
}

}  // namespace sotto_jni
