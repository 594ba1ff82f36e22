#include "tests/bench/models/loaded_model.h"

#include <stdexcept>

namespace sotto::bench {
namespace {

sotto_error no_error() {
  sotto_error error = {};
  error.struct_size = sizeof error;
  return error;
}

}  // namespace

void check(sotto_status status, const sotto_error& error, const std::string& subject) {
  if (status >= 0) return;
  throw std::runtime_error(subject + ": " + (error.message[0] != '\0' ? error.message : sotto_status_text(status)));
}

void check(sotto_status status, const std::string& subject) { check(status, no_error(), subject); }

LoadedModel::LoadedModel(const LoadOptions& options) : options_(options), file_(options.path) {
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = options.isa;
  params.verify_checksums = options.verify_checksums ? 1 : 0;
  params.copy_weights = options.copy_weights ? 1 : 0;
  params.release = sotto_posix_release;
  sotto_error error = no_error();
  size_t size = 0;
  check(sotto_model_memory_size(file_.bytes(), file_.size(), &params, &size, &error), error, options.path);
  memory_ = std::make_unique<Memory>(size, options.pages);
  check(sotto_model_init(file_.bytes(), file_.size(), &params, memory_->bytes(), memory_->size(), &model_, &error),
        error, options.path);
  info_.struct_size = sizeof info_;
  check(sotto_model_get_info(model_, &info_), options.path);
}

Session::Session(const LoadedModel& model, const SessionOptions& options) {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.context_tokens = options.context_tokens;
  params.thread_count = options.thread_count;
  params.sequence_count = options.sequence_count;
  params.sequence_tokens = options.sequence_tokens;
  params.draft_tokens = options.draft_tokens;
  sotto_error error = no_error();
  size_t size = 0;
  check(sotto_session_memory_size(model.get(), &params, &size, &error), error, "session");
  memory_ = std::make_unique<Memory>(size, model.pages());
  check(sotto_session_init(model.get(), &params, memory_->bytes(), memory_->size(), &session_, &error), error,
        "session");
}

sotto_session_info Session::info() const {
  sotto_session_info info = {};
  info.struct_size = sizeof info;
  check(sotto_session_get_info(session_, &info), "session");
  return info;
}

sotto_session_timings Session::timings() const {
  sotto_session_timings timings = {};
  timings.struct_size = sizeof timings;
  check(sotto_session_get_timings(session_, &timings), "session");
  return timings;
}

void Session::prefill(const std::vector<sotto_token>& tokens) {
  const sotto_status status = sotto_session_prefill(session_, tokens.data(), tokens.size());
  check(status, "prefill");
  if (status != SOTTO_OK) {
    throw std::runtime_error(std::string("prefill: ") + sotto_status_text(status));
  }
}

void Session::next() {
  const sotto_piece* piece = nullptr;
  const sotto_status status = sotto_session_next(session_, &piece);
  check(status, "next");
  if (status == SOTTO_STOP_END_OF_TEXT) {
    prefill({0});
  } else if (status != SOTTO_OK) {
    throw std::runtime_error(std::string("next: ") + sotto_status_text(status));
  }
}

void Session::rewind(uint64_t token_count) { check(sotto_session_rewind(session_, token_count), "rewind"); }

void Session::set_sampler(const sotto_sampler_params& params) {
  sotto_error error = no_error();
  check(sotto_session_set_sampler(session_, &params, &error), error, "sampler");
}

sotto_sampler_params default_sampler() {
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  return params;
}

sotto_sampler_params greedy_sampler() {
  sotto_sampler_params params = default_sampler();
  params.temperature = 0;
  return params;
}

std::vector<sotto_token> arbitrary_tokens(const sotto_model_info& info, size_t count) {
  std::vector<sotto_token> tokens(count);
  uint64_t state = 1;
  for (sotto_token& token : tokens) {
    do {
      state = state * 6364136223846793005u + 1442695040888963407u;
      token = static_cast<sotto_token>((state >> 33) % info.vocabulary_size);
    } while (token == info.end_of_text_token && info.vocabulary_size > 1);
  }
  return tokens;
}

}  // namespace sotto::bench
