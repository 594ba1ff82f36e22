// Continues a text on the serial port. model.h defines model_bytes, a .sotto file as an array that is aligned to 64
// bytes; `xxd -i` makes one.
#include <sotto.h>
#include <string.h>

#include "model.h"

// sotto_model_memory_size() and sotto_session_memory_size() return what a model needs.
alignas(SOTTO_MEMORY_ALIGNMENT) static uint8_t model_memory[16 << 10], session_memory[256 << 10];

static int32_t print(void*, const sotto_piece* piece) {
  Serial.write(reinterpret_cast<const uint8_t*>(piece->text), piece->text_size);
  return 0;
}

void setup() {
  Serial.begin(115200);
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  sotto_model* model;
  sotto_session* session;
  sotto_token tokens[64];
  size_t count;
  const char prompt[] = "Once upon a time";
  if (sotto_model_init(model_bytes, sizeof model_bytes, nullptr, model_memory, sizeof model_memory, &model, &error) < 0 ||
      sotto_session_init(model, nullptr, session_memory, sizeof session_memory, &session, &error) < 0 ||
      sotto_tokenize(model, prompt, strlen(prompt), 0, tokens, 64, &count, &error) < 0) {
    Serial.println(error.message);
    return;
  }
  sotto_session_generate(session, tokens, count, 100, print, nullptr);
}

void loop() {}
