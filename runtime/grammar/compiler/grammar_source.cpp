#include "runtime/grammar/compiler/grammar_source.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/grammar/compiler/source_error.h"
#include "runtime/grammar/compiler/structural_tag.h"
#include "runtime/grammar/compiler/triggers.h"
#include "runtime/grammar/json_schema/json_document.h"
#include "runtime/grammar/json_schema/json_grammar.h"
#include "runtime/grammar/json_schema/json_schema.h"
#include "runtime/grammar/regex/grammar.h"

namespace sotto {
namespace {

constexpr std::span<const char> kDocument{"document", 8};

// The input of a front end. It defines the rule `start`; GBNF names its start rule itself.
struct Source {
  std::span<const char> text;
  const GrammarParams& params;
  std::span<const char> start = kDocument;

  Status require_empty(Error* error) const {
    if (text.empty()) return Status::kOk;
    return fail(error, Status::kInvalidArgument, "source must be empty for this language");
  }
};

// A language, and the function of its front end that adds the rules of a source.
struct Language {
  GrammarLanguage language;
  Status (*build)(const Source& source, GrammarBuilder& builder, Error* error);
};

// All languages, by the values of GrammarLanguage. To add one, add a row here and a value there.
constexpr Language kLanguages[] = {
    {GrammarLanguage::kGbnf,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return parse_gbnf(source.text, token_names(source.params.vocabulary), builder, error);
     }},
    {GrammarLanguage::kJsonSchema,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return build_json_schema(source.text, source.params, source.start, builder, error);
     }},
    {GrammarLanguage::kRegex,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return build_regex_grammar(source.text, source.start, builder, error);
     }},
    {GrammarLanguage::kJson,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       build_json_grammar(source.params, false, source.start, builder);
       return source.require_empty(error);
     }},
    {GrammarLanguage::kJsonObject,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       build_json_grammar(source.params, true, source.start, builder);
       return source.require_empty(error);
     }},
    {GrammarLanguage::kChoices,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return build_choice_list(source.text, source.start, builder, error);
     }},
    {GrammarLanguage::kNumber,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return build_number_object(source.text, source.start, builder, error);
     }},
    {GrammarLanguage::kTools,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return build_tool_calls(source.text, source.params, source.start, builder, error);
     }},
    {GrammarLanguage::kStructuralTag,
     [](const Source& source, GrammarBuilder& builder, Error* error) {
       return build_structural_tag(source.text, source.params, source.start, builder, error);
     }},
};

constexpr bool languages_are_in_order() {
  for (size_t i = 0; i < std::size(kLanguages); ++i) {
    if (static_cast<size_t>(kLanguages[i].language) != i) return false;
  }
  return std::size(kLanguages) == kGrammarLanguageCount;
}
static_assert(languages_are_in_order());

// Adds the rules of the source and stores its start rule in `*root`.
Status read_source(std::span<const char> text, const GrammarParams& params, GrammarBuilder& builder, uint32_t* root,
                   Error* error) {
  const bool names_its_root = params.language == GrammarLanguage::kGbnf;
  const std::span<const char> root_name = names_its_root ? std::span(params.root.text, params.root.size) : kDocument;
  SOTTO_TRY(kLanguages[static_cast<size_t>(params.language)].build({text, params}, builder, error));
  *root = builder.find_rule(root_name);
  if (*root != kNoIndex) return Status::kOk;
  if (!names_its_root) return fail_too_large(error);
  return fail_at(error, Status::kGrammarSyntax, 0, "1:1: undefined start rule: ", root_name);
}

// Keeps the warnings about a source until it is compiled. If the memory is too small, the caller compiles again, and
// the log would otherwise contain each warning twice.
class Warnings {
 public:
  Warnings(std::span<const char> source, Workspace& workspace) : source_(source), texts_(workspace) {}

  static void add(void* self, LogLevel, const char* message) {
    GrowingArray<char>& texts = static_cast<Warnings*>(self)->texts_;
    for (; *message != '\0'; ++message) texts.push(*message);
    texts.push('\0');
  }
  static void add_unreachable(void* self, std::span<const char> rule, uint64_t offset) {
    Error text;
    (void)fail_at_name(&text, static_cast<Warnings*>(self)->source_, offset, "unreachable rule", rule);
    add(self, kLogWarning, text.message);
  }
  void write(LogFunction log, void* user_data) const {
    for (size_t at = 0; at < texts_.size(); at += std::strlen(&texts_[at]) + 1) {
      log(user_data, kLogWarning, &texts_[at]);
    }
  }

 private:
  std::span<const char> source_;
  GrowingArray<char> texts_;
};

bool is_text(const VocabularySource& source, uint32_t token, std::span<const char> text) {
  const auto bytes = source.token(token);
  return std::equal(bytes.begin(), bytes.end(), text.begin(), text.end());
}

// Returns the first token with this text. Special tokens are preferred to others.
uint32_t find_token(const void* self, std::span<const char> text) {
  const Vocabulary& vocabulary = *static_cast<const Vocabulary*>(self);
  const VocabularySource& source = vocabulary.source;
  for (const int32_t token : source.end_tokens) {
    if (is_text(source, static_cast<uint32_t>(token), text)) return static_cast<uint32_t>(token);
  }
  for (uint32_t token = 0; token < source.special.size(); ++token) {
    if (source.special[token] >= source.min_special && is_text(source, token, text)) return token;
  }
  const auto found = std::lower_bound(
      vocabulary.order.begin(), vocabulary.order.end(), text, [&](uint32_t token, std::span<const char> wanted) {
        const auto bytes = source.token(token);
        return std::string_view(bytes.data(), bytes.size()) < std::string_view(wanted.data(), wanted.size());
      });
  if (found == vocabulary.order.end() || !is_text(source, *found, text)) return kNoIndex;
  return *found;
}

}  // namespace

TokenNames token_names(const Vocabulary* vocabulary) {
  if (vocabulary == nullptr) return {};
  return {vocabulary, vocabulary->token_count, find_token, vocabulary->source.end_tokens};
}

Status compile_source(std::span<const char> text, const GrammarParams& given, std::span<uint8_t> memory,
                      CompiledGrammar** grammar, Error* error) {
  Workspace workspace(memory.data(), memory.size());
  Warnings warnings(text, workspace);
  GrammarParams params = given;
  RuleWarnings rule_warnings;
  if (given.log != nullptr) {
    params.log = Warnings::add;
    params.log_user_data = &warnings;
    rule_warnings = {&warnings, Warnings::add_unreachable};
  }
  SOTTO_TRY(check_ranges(params, error));
  if (params.root.text == nullptr || params.root.size == 0) {
    return fail(error, Status::kInvalidArgument, "root is empty");
  }
  GrammarBuilder builder(workspace);
  StartRules start;
  SOTTO_TRY(read_source(text, params, builder, &start.text, error));
  start.first = start.text;
  const Triggers triggers = {params.triggers, params.trigger_tokens};
  if (!triggers.empty()) {
    SOTTO_TRY(build_triggers(triggers, params.vocabulary, start.text, builder, &start.first, error));
  }
  const CompiledGrammar* compiled = nullptr;
  SOTTO_TRY(compile_grammar(builder, text, start, {}, rule_warnings, &compiled, error));
  warnings.write(given.log, given.log_user_data);
  std::memmove(memory.data(), compiled, static_cast<size_t>(compiled->size()));
  *grammar = reinterpret_cast<CompiledGrammar*>(memory.data());
  return Status::kOk;
}

size_t typical_compile_memory(size_t source_size) {
  constexpr size_t kBase = size_t{256} << 10;
  constexpr size_t kPerByte = 256;
  return source_size > (SIZE_MAX - kBase) / kPerByte ? SIZE_MAX : kBase + kPerByte * source_size;
}

}  // namespace sotto
