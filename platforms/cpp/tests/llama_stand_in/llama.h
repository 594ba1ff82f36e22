// A stand-in for the header of llama.cpp, with the part of its interface that examples/llama_sampler.hpp uses.
// llama_sampler_test.cpp defines the functions.
#ifndef LLAMA_STAND_IN_H
#define LLAMA_STAND_IN_H

#include <cstddef>
#include <cstdint>

struct llama_vocab;
using llama_token = int32_t;

struct llama_token_data {
  llama_token id;
  float logit;
  float p;
};

struct llama_token_data_array {
  llama_token_data* data;
  size_t size;
  int64_t selected;
  bool sorted;
};

struct llama_sampler;

// llama.cpp adds further functions after these, which may be null.
struct llama_sampler_i {
  const char* (*name)(const llama_sampler* sampler);
  void (*accept)(llama_sampler* sampler, llama_token token);
  void (*apply)(llama_sampler* sampler, llama_token_data_array* candidates);
  void (*reset)(llama_sampler* sampler);
  llama_sampler* (*clone)(const llama_sampler* sampler);
  void (*free)(llama_sampler* sampler);
};

struct llama_sampler {
  llama_sampler_i* iface;
  void* ctx;
};

llama_sampler* llama_sampler_init(llama_sampler_i* iface, void* ctx);
int32_t llama_vocab_n_tokens(const llama_vocab* vocab);
bool llama_vocab_is_eog(const llama_vocab* vocab, llama_token token);
bool llama_vocab_is_control(const llama_vocab* vocab, llama_token token);
int32_t llama_token_to_piece(const llama_vocab* vocab, llama_token token, char* buf, int32_t length, int32_t lstrip,
                             bool special);

#endif  // LLAMA_STAND_IN_H
