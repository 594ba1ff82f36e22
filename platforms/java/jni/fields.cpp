// See fields.h.
#include "platforms/java/jni/fields.h"

#include <cstdlib>
#include <cstring>

#include "platforms/java/jni/generated/tables.h"
#include "platforms/java/jni/library.h"

namespace sotto_jni {

Arena::~Arena() {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    std::free(blocks_);
    blocks_ = next;
  }
}

void* Arena::allocate(JNIEnv* env, size_t size) {
  constexpr size_t kHead = 16;
  auto* block = size > SIZE_MAX - kHead - 1 ? nullptr : static_cast<Block*>(std::calloc(1, kHead + size + 1));
  if (block == nullptr) {
    throw_out_of_memory(env);
    return nullptr;
  }
  block->next = blocks_;
  blocks_ = block;
  return reinterpret_cast<char*>(block) + kHead;
}

bool read_tokens(JNIEnv* env, jintArray from, Arena* arena, const sotto_token** tokens, size_t* count) {
  const jsize length = from == nullptr ? 0 : env->GetArrayLength(from);
  auto* values = arena->array<sotto_token>(env, static_cast<size_t>(length));
  if (values == nullptr) return false;
  if (length > 0) env->GetIntArrayRegion(from, 0, length, values);
  *tokens = values;
  *count = static_cast<size_t>(length);
  return true;
}

bool read_bytes(JNIEnv* env, jbyteArray from, Arena* arena, const char** bytes, size_t* size) {
  const jsize length = from == nullptr ? 0 : env->GetArrayLength(from);
  auto* values = arena->array<jbyte>(env, static_cast<size_t>(length));
  if (values == nullptr) return false;
  if (length > 0) env->GetByteArrayRegion(from, 0, length, values);
  *bytes = reinterpret_cast<const char*>(values);
  *size = static_cast<size_t>(length);
  return true;
}

// Java encodes and decodes UTF-8, because JNI's own functions use modified UTF-8.
bool read_text(JNIEnv* env, jstring from, Arena* arena, sotto_text* text) {
  const Library& java = library();
  auto* bytes = static_cast<jbyteArray>(env->CallStaticObjectMethod(java.native_class, java.to_utf8, from));
  if (env->ExceptionCheck()) return false;
  const bool is_read = read_bytes(env, bytes, arena, &text->text, &text->size);
  env->DeleteLocalRef(bytes);
  return is_read;
}

jstring new_text(JNIEnv* env, const char* text, size_t size) {
  const Library& java = library();
  jbyteArray bytes = new_bytes(env, text, size);
  if (bytes == nullptr) return nullptr;
  auto* string = static_cast<jstring>(env->CallStaticObjectMethod(java.native_class, java.from_utf8, bytes));
  env->DeleteLocalRef(bytes);
  return env->ExceptionCheck() ? nullptr : string;
}

namespace {

template <class T>
T& at(void* base, size_t offset) {
  return *reinterpret_cast<T*>(static_cast<char*>(base) + offset);
}

template <class T>
const T& at(const void* base, size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(base) + offset);
}

bool is(const Field& field, const char* signature) { return std::strcmp(field.signature, signature) == 0; }

int32_t constant(JNIEnv* env, jobject from) { return env->CallIntMethod(from, library().constant_value); }

bool read_bias(JNIEnv* env, jobject from, sotto_token_bias* to) {
  jclass type = env->GetObjectClass(from);
  to->token = env->GetIntField(from, env->GetFieldID(type, "token", "I"));
  to->bias = env->GetFloatField(from, env->GetFieldID(type, "bias", "F"));
  env->DeleteLocalRef(type);
  return true;
}

bool read_bias(JNIEnv* env, jobject from, Arena* arena, sotto_sequence_bias* to) {
  jclass type = env->GetObjectClass(from);
  auto* tokens = static_cast<jintArray>(env->GetObjectField(from, env->GetFieldID(type, "tokens", "[I")));
  to->bias = env->GetFloatField(from, env->GetFieldID(type, "bias", "F"));
  env->DeleteLocalRef(type);
  const bool is_read = read_tokens(env, tokens, arena, &to->tokens, &to->count);
  env->DeleteLocalRef(tokens);
  return is_read;
}

// Reads one element of a list into its place; its type follows from the field's signature.
bool read_element(JNIEnv* env, const Field& field, jobject from, Arena* arena, void* to, size_t place) {
  if (from == nullptr) {
    jclass type = env->FindClass("java/lang/NullPointerException");
    if (type != nullptr) env->ThrowNew(type, field.name);
    return false;
  }
  if (is(field, "[[I")) {
    auto& list = static_cast<sotto_token_list*>(to)[place];
    return read_tokens(env, static_cast<jintArray>(from), arena, &list.tokens, &list.count);
  }
  if (is(field, "[Ljava/lang/String;")) {
    return read_text(env, static_cast<jstring>(from), arena, &static_cast<sotto_text*>(to)[place]);
  }
  if (is(field, "[Lio/github/sotto/TokenBias;")) {
    return read_bias(env, from, &static_cast<sotto_token_bias*>(to)[place]);
  }
  if (is(field, "[Lio/github/sotto/SequenceBias;")) {
    return read_bias(env, from, arena, &static_cast<sotto_sequence_bias*>(to)[place]);
  }
  static_cast<sotto_stage*>(to)[place] = constant(env, from);
  return !env->ExceptionCheck();
}

size_t element_size(const Field& field) {
  if (is(field, "[[I")) return sizeof(sotto_token_list);
  if (is(field, "[Ljava/lang/String;")) return sizeof(sotto_text);
  if (is(field, "[Lio/github/sotto/TokenBias;")) return sizeof(sotto_token_bias);
  if (is(field, "[Lio/github/sotto/SequenceBias;")) return sizeof(sotto_sequence_bias);
  return sizeof(sotto_stage);
}

bool read_list(JNIEnv* env, const Field& field, jobject from, Arena* arena, void* to) {
  size_t& count = at<size_t>(to, field.count_offset);
  if (is(field, "[I")) {
    return read_tokens(env, static_cast<jintArray>(from), arena, &at<const sotto_token*>(to, field.offset), &count);
  }
  auto* array = static_cast<jobjectArray>(from);
  const jsize length = array == nullptr ? 0 : env->GetArrayLength(array);
  void* values = arena->allocate(env, static_cast<size_t>(length) * element_size(field));
  if (values == nullptr) return false;
  for (jsize i = 0; i < length; ++i) {
    jobject element = env->GetObjectArrayElement(array, i);
    if (!read_element(env, field, element, arena, values, static_cast<size_t>(i))) return false;
    env->DeleteLocalRef(element);
  }
  at<void*>(to, field.offset) = values;
  count = static_cast<size_t>(length);
  return true;
}

bool read_watermark(JNIEnv* env, jobject from, Arena* arena, const sotto_watermark_params** to) {
  if (from == nullptr) return true;
  auto* params = arena->array<sotto_watermark_params>(env, 1);
  if (params == nullptr) return false;
  *to = params;
  return read_params(env, from, arena, params);
}

// Reads a field that holds an object; null keeps the default of C.
bool read_object(JNIEnv* env, const Field& field, jobject from, Arena* arena, void* to) {
  if (field.count_offset != 0) return read_list(env, field, from, arena, to);
  if (from == nullptr) return true;
  if (is(field, "Ljava/lang/String;")) {
    return read_text(env, static_cast<jstring>(from), arena, &at<sotto_text>(to, field.offset));
  }
  if (is(field, "Lio/github/sotto/WatermarkParams;")) {
    return read_watermark(env, from, arena, &at<const sotto_watermark_params*>(to, field.offset));
  }
  at<int32_t>(to, field.offset) = constant(env, from);
  return !env->ExceptionCheck();
}

jobject new_constant(JNIEnv* env, const Field& field, int32_t value) {
  char name[64] = {};  // the text between L and ;
  const size_t length = std::strlen(field.signature) - 2;
  std::memcpy(name, field.signature + 1, length < sizeof name ? length : sizeof name - 1);
  char signature[80] = "(I)";
  std::strcat(signature, field.signature);
  jclass type = env->FindClass(name);
  if (type == nullptr) return nullptr;
  jmethodID of = env->GetStaticMethodID(type, "of", signature);
  jobject constant = of == nullptr ? nullptr : env->CallStaticObjectMethod(type, of, value);
  env->DeleteLocalRef(type);
  return env->ExceptionCheck() ? nullptr : constant;
}

jobject new_texts(JNIEnv* env, const sotto_text* texts, size_t count) {
  jclass type = env->FindClass("java/lang/String");
  if (type == nullptr) return nullptr;
  jobjectArray array = env->NewObjectArray(static_cast<jsize>(count), type, nullptr);
  env->DeleteLocalRef(type);
  for (size_t i = 0; array != nullptr && i < count; ++i) {
    jstring text = new_text(env, texts[i].text, texts[i].size);
    if (text == nullptr) return nullptr;
    env->SetObjectArrayElement(array, static_cast<jsize>(i), text);
    if (env->ExceptionCheck()) return nullptr;
    env->DeleteLocalRef(text);
  }
  return array;
}

// Returns the object for a field, or nullptr if the C struct has no value.
jobject new_object(JNIEnv* env, const Field& field, const void* from) {
  if (is(field, "[Ljava/lang/String;")) {
    return new_texts(env, at<const sotto_text*>(from, field.offset), at<size_t>(from, field.count_offset));
  }
  if (field.count_offset != 0 || is(field, "Lio/github/sotto/WatermarkParams;")) return nullptr;
  if (is(field, "Ljava/lang/String;")) {
    const auto& text = at<sotto_text>(from, field.offset);
    return new_text(env, text.text, text.size);
  }
  return new_constant(env, field, at<int32_t>(from, field.offset));
}

}  // namespace

bool read_fields(JNIEnv* env, jobject from, const Fields& fields, Arena* arena, void* to) {
  jclass type = env->GetObjectClass(from);
  for (size_t i = 0; i < fields.count; ++i) {
    const Field& field = fields.fields[i];
    jfieldID id = env->GetFieldID(type, field.name, field.signature);
    if (id == nullptr) return false;
    switch (field.signature[0]) {
      case 'I':
        at<int32_t>(to, field.offset) = env->GetIntField(from, id);
        break;
      case 'J':
        at<int64_t>(to, field.offset) = env->GetLongField(from, id);
        break;
      case 'F':
        at<float>(to, field.offset) = env->GetFloatField(from, id);
        break;
      case 'Z':
        at<uint32_t>(to, field.offset) = env->GetBooleanField(from, id);
        break;
      default: {
        jobject value = env->GetObjectField(from, id);
        if (!read_object(env, field, value, arena, to)) return false;
        env->DeleteLocalRef(value);
      }
    }
  }
  env->DeleteLocalRef(type);
  return true;
}

void write_fields(JNIEnv* env, const void* from, const Fields& fields, jobject to) {
  jclass type = env->GetObjectClass(to);
  for (size_t i = 0; i < fields.count; ++i) {
    const Field& field = fields.fields[i];
    jfieldID id = env->GetFieldID(type, field.name, field.signature);
    if (id == nullptr) return;
    switch (field.signature[0]) {
      case 'I':
        env->SetIntField(to, id, at<int32_t>(from, field.offset));
        break;
      case 'J':
        env->SetLongField(to, id, at<int64_t>(from, field.offset));
        break;
      case 'F':
        env->SetFloatField(to, id, at<float>(from, field.offset));
        break;
      case 'D':
        env->SetDoubleField(to, id, at<double>(from, field.offset));
        break;
      case 'Z':
        env->SetBooleanField(to, id, at<uint32_t>(from, field.offset) != 0);
        break;
      default: {
        jobject value = new_object(env, field, from);
        if (env->ExceptionCheck()) return;
        if (value != nullptr) env->SetObjectField(to, id, value);
        env->DeleteLocalRef(value);
      }
    }
  }
  env->DeleteLocalRef(type);
}

}  // namespace sotto_jni
