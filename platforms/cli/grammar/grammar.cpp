// Vocabularies, grammars and matchers that own their memory, which grows until it is enough.
#include "platforms/cli/grammar/grammar.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "platforms/cli/grammar/grammar_place.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr size_t kMaxMemory = size_t{1} << 30;  // for compiling
constexpr int kMostDoublings = 6;               // of a matcher
constexpr std::string_view kImageIdentifier = "SOTG";
constexpr size_t kIdentifierOffset = 4;

std::string message_of(const sotto_error& error, const GrammarSource& source) {
  const std::string what = error.message[0] != '\0' ? error.message : sotto_status_text(error.status);
  return with_place(source.name, source.text, error.offset, what);
}

void keep_warning(void* user_data, sotto_log_level level, const char* message) {
  if (level != SOTTO_LOG_WARNING) return;
  static_cast<std::vector<std::string>*>(user_data)->push_back(message);
}

// Explicit limits, a power of two times what most grammars need, in place of the library's
// choice; not for what the caller counts himself.
sotto_matcher_params sized(const sotto_matcher_params& params, int shift) {
  constexpr uint32_t kMostConfigs = 65535;
  const auto times = [shift](auto count) { return shift < 0 ? count >> -shift : count << shift; };
  sotto_matcher_params result = params;
  result.node_count = times(4096u);
  result.frame_count = times(16384u);
  result.config_count = std::min(times(2048u), kMostConfigs);
  result.item_count = times(8192u);
  result.work_count = times(4096u);
  result.mask_bytes = times(262144u);
  result.step_budget = times(uint64_t{20'000'000});
  return result;
}

// SIZE_MAX: not possible with these limits.
size_t matcher_size(const Grammar& grammar, const Vocabulary* vocabulary, const sotto_matcher_params& params) {
  size_t size = 0;
  const sotto_status status = sotto_matcher_memory_size(
      grammar.get(), vocabulary != nullptr ? vocabulary->get() : nullptr, &params, &size, nullptr);
  return status == SOTTO_OK ? size : SIZE_MAX;
}

}  // namespace

Vocabulary::Vocabulary() {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    offsets_.push_back(byte);
    bytes_ += static_cast<char>(byte);
  }
  offsets_.push_back(256);
  offsets_.push_back(256);  // the end token has no text
  constexpr sotto_token kEnd = 256;
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  params.token_count = 257;
  params.bytes = bytes_.data();
  params.offsets = offsets_.data();
  params.end_tokens = &kEnd;
  params.end_token_count = 1;
  token_count_ = params.token_count;
  init(params, "vocabulary");
}

Vocabulary::Vocabulary(const Model& model) : model_(&model), token_count_(model.info().vocabulary_size) {
  sotto_vocabulary_params params;
  sotto_vocabulary_params_init(&params, sizeof params);
  params.model = model.get();
  init(params, model.path());
}

void Vocabulary::init(const sotto_vocabulary_params& params, const std::string& subject) {
  sotto_error error = no_error();
  size_t size = 0;
  check(sotto_vocabulary_memory_size(&params, &size, &error), error, subject);
  memory_ = Memory(size);
  check(sotto_vocabulary_init(&params, memory_.bytes(), memory_.size(), &vocabulary_, &error), error, subject);
}

std::string Vocabulary::text(sotto_token token) const {
  if (model_ != nullptr) return model_->detokenize({token});
  const auto index = static_cast<size_t>(token);
  return bytes_.substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
}

GrammarSettings::GrammarSettings() { sotto_grammar_params_init(&params, sizeof params); }

GrammarFailure::GrammarFailure(const sotto_error& error, const GrammarSource& source)
    : Failure(message_of(error, source)), error_(error) {}

Grammar::Grammar(const GrammarSource& source, const GrammarSettings& settings, const Vocabulary* vocabulary) {
  const auto start = std::chrono::steady_clock::now();
  if (is_grammar_image(source.text)) {
    load(source);
  } else {
    const std::vector<sotto_text> triggers = text_views(settings.triggers);
    sotto_grammar_params params = settings.params;
    params.language = source.language;
    params.vocabulary = vocabulary != nullptr ? vocabulary->get() : nullptr;
    params.triggers = triggers.data();
    params.trigger_count = triggers.size();
    params.trigger_tokens = settings.trigger_tokens.data();
    params.trigger_token_count = settings.trigger_tokens.size();
    if (!settings.root.empty()) params.root = {settings.root.data(), settings.root.size()};
    params.log = keep_warning;
    params.log_user_data = &warnings_;
    compile(source, params);
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Grammar::compile(const GrammarSource& source, sotto_grammar_params params) {
  size_t size = std::min(sotto_grammar_typical_memory(source.text.size()), kMaxMemory);
  while (true) {
    memory_ = Memory(size);
    warnings_.clear();
    sotto_error error = no_error();
    sotto_grammar* grammar = nullptr;
    const sotto_status status = sotto_grammar_compile(source.text.data(), source.text.size(), &params, memory_.bytes(),
                                                      memory_.size(), &grammar, &size_, &error);
    if (status == SOTTO_OK) {
      grammar_ = grammar;
      return;
    }
    error.status = status;
    const bool is_of_source = status != SOTTO_INVALID_ARGUMENT || error.offset != UINT64_MAX;
    if (!is_of_source) check(status, error, source.name);
    if (status != SOTTO_GRAMMAR_TOO_LARGE || size == kMaxMemory) {
      throw GrammarFailure(error, source);
    }
    size = std::min(2 * size, kMaxMemory);
  }
}

void Grammar::load(const GrammarSource& source) {
  size_ = source.text.size();
  memory_ = Memory(size_);
  std::memcpy(memory_.bytes(), source.text.data(), size_);
  sotto_error error = no_error();
  check(sotto_grammar_load(memory_.bytes(), size_, &grammar_, &error), error, source.name);
  was_loaded_ = true;
}

std::string Grammar::image() const {
  size_t size = 0;
  const sotto_status status = sotto_grammar_save(grammar_, nullptr, 0, &size);
  if (status != SOTTO_BUFFER_TOO_SMALL) check(status, "image");
  std::string bytes(size, '\0');
  check(sotto_grammar_save(grammar_, bytes.data(), bytes.size(), &size), "image");
  return bytes;
}

bool is_grammar_image(std::string_view bytes) {
  return bytes.size() >= kIdentifierOffset &&
         bytes.substr(kIdentifierOffset, kImageIdentifier.size()) == kImageIdentifier;
}

Matcher::Matcher(const Grammar& grammar, const Vocabulary* vocabulary, sotto_matcher_params params)
    : grammar_(grammar), vocabulary_(vocabulary), params_(params) {
  init();
}

void Matcher::init() {
  const sotto_vocabulary* vocabulary = vocabulary_ != nullptr ? vocabulary_->get() : nullptr;
  while (true) {
    sotto_error error = no_error();
    size_t size = 0;
    check(sotto_matcher_memory_size(grammar_.get(), vocabulary, &params_, &size, &error), error, "matcher");
    memory_ = Memory(size);
    const sotto_status status =
        sotto_matcher_init(grammar_.get(), vocabulary, &params_, memory_.bytes(), size, &matcher_, &error);
    if (status == SOTTO_OK) return;
    if (status != SOTTO_GRAMMAR_TOO_LARGE || doubling_count_ == kMostDoublings) {
      check(status, error, "matcher");
    }
    enlarge();
  }
}

void Matcher::grow() {
  if (doubling_count_ == kMostDoublings) {
    throw MatcherTooLarge("this takes more than " + byte_size(memory_.size()) + ", or too many steps");
  }
  enlarge();
  init();
}

// The library's own choice may have been more than the first sizes.
void Matcher::enlarge() {
  do {
    params_ = sized(params_, ++doubling_count_);
  } while (doubling_count_ < kMostDoublings && matcher_size(grammar_, vocabulary_, params_) <= memory_.size());
}

sotto_matcher_params default_matcher_params() {
  sotto_matcher_params params;
  sotto_matcher_params_init(&params, sizeof params);
  return params;
}

sotto_matcher_params fitted(const Grammar& grammar, const Vocabulary* vocabulary, sotto_matcher_params params,
                            size_t memory_size) {
  constexpr int kLeast = -7;
  constexpr int kMost = 16;
  for (int shift = kMost; shift >= kLeast; --shift) {
    const sotto_matcher_params tried = sized(params, shift);
    if (matcher_size(grammar, vocabulary, tried) <= memory_size) return tried;
  }
  const size_t least = matcher_size(grammar, vocabulary, sized(params, kLeast));
  throw Failure("--grammar-memory: less than the " + byte_size(least) + " that this grammar takes", kExitUsage);
}

}  // namespace sotto::cli
