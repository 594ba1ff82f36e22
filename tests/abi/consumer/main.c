/* A host program in C with functions of its own that are named like the library's inner ones. */
#include <sotto.h>
#include <stdio.h>
#include <string.h>
#ifdef USES_POSIX
#  include <sotto_posix.h>
#endif

int xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c4__neondot(const void* a);

int xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c4__neondot(const void* a) { return a != NULL; }

int main(void) {
  static const char no_model[64] = "this is not a model";
  size_t size = 0;
  sotto_model_params params;
  sotto_error error;
  memset(&error, 0, sizeof error);
  error.struct_size = sizeof error;
  sotto_model_params_init(&params, sizeof params);
  if (sotto_version() != SOTTO_VERSION) return 1;
  if (sotto_model_memory_size(no_model, sizeof no_model, &params, &size, &error) >= 0) return 2;
  if (xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c4__neondot(NULL) != 0) return 3;
#ifdef USES_POSIX
  sotto_posix_mapping mapping;
  char message[100];
  if (sotto_posix_map_file("/", &mapping, message, sizeof message) == 0) return 4;
  if (strcmp(message, "/: is a directory, not a file") != 0) return 5;
#endif
  printf("sotto %u.%u.%u\n", (unsigned)(sotto_version() >> 16), (unsigned)(sotto_version() >> 8 & 255u),
         (unsigned)(sotto_version() & 255u));
  return 0;
}
