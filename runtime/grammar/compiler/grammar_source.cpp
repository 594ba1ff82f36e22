#include "runtime/grammar/compiler/grammar_source.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/grammar/json_schema/json_document.h"
#include "runtime/grammar/json_schema/json_grammar.h"
#include "runtime/grammar/regex/grammar.h"

namespace sotto {
namespace {

constexpr std::span<const char> kDocument{"document", 8};

class SourceReader {
 public:
  SourceReader(const GrammarSource& source, GrammarBuilder& builder, Error* error)
      : source_(source), builder_(builder), error_(error) {}

  // Adds the source's rules; `*root` is its start rule.
  Status read(uint32_t* root) {
    if (source_.language == GrammarLanguage::kGbnf) return read_gbnf(root);
    SOTTO_TRY(read_document());
    *root = builder_.find_rule(kDocument);
    return *root == kNone ? fail_too_large(error_) : Status::kOk;
  }

 private:
  Status read_gbnf(uint32_t* root) {
    SOTTO_TRY(parse_gbnf(source_.text, token_names(source_.vocabulary), builder_, error_));
    *root = builder_.find_rule(source_.root);
    if (*root != kNone) return Status::kOk;
    return fail_at(error_, Status::kGrammarSyntax, 0, "1:1: no rule named '", source_.root, "'");
  }

  Status read_document() {
    switch (source_.language) {
      case GrammarLanguage::kJsonSchema:
        return build_json_schema(source_.text, source_.schema, kDocument, builder_, error_);
      case GrammarLanguage::kRegex:
        return build_regex_grammar(source_.text, kDocument, builder_, error_);
      case GrammarLanguage::kJson:
      case GrammarLanguage::kJsonObject:
        return read_nothing();
      case GrammarLanguage::kChoices:
        return read_choices();
      case GrammarLanguage::kNumber:
        return read_number();
      case GrammarLanguage::kTools:
        return build_tool_calls(source_.text, source_.tools, source_.schema, kDocument, builder_, error_);
      case GrammarLanguage::kGbnf:
        break;
    }
    return fail(error_, Status::kInvalidArgument, "language is not a SOTTO_GRAMMAR_ value");
  }

  Status read_nothing() {
    if (!source_.text.empty()) {
      return fail(error_, Status::kInvalidArgument, "source must be empty for this language");
    }
    const bool only_objects = source_.language == GrammarLanguage::kJsonObject;
    build_json_grammar(source_.schema.style, only_objects, kDocument, builder_);
    return Status::kOk;
  }

  Status wrong(const JsonDocument& document, uint32_t node, const char* what) {
    return fail_in_source(error_, source_.text, document[node].offset, {what, std::strlen(what)});
  }

  Status read_choices() {
    Workspace& workspace = builder_.workspace();
    JsonDocument document(workspace);
    SOTTO_TRY(document.parse(source_.text, error_));
    if (document.kind(0) != JsonKind::kArray || document[0].count == 0) {
      return wrong(document, 0, "an array of at least one string is expected");
    }
    auto* choices = workspace.take<std::string_view>(document[0].count);
    if (choices == nullptr) return fail_too_large(error_);
    for (uint32_t node = document[0].first; node != kNone; node = document[node].next) {
      if (document.kind(node) != JsonKind::kString) {
        return wrong(document, node, "a string is expected");
      }
      choices[document[node].index] = document.text(node);
    }
    return build_choices({choices, document[0].count}, kDocument, builder_, error_);
  }

  Status read_number() {
    JsonDocument document(builder_.workspace());
    SOTTO_TRY(document.parse(source_.text, error_));
    if (document.kind(0) != JsonKind::kObject) {
      return wrong(document, 0, "an object is expected");
    }
    std::string_view minimum;
    std::string_view maximum;
    bool integer = false;
    for (uint32_t node = document[0].first; node != kNone; node = document[node].next) {
      const std::string_view name = document.name(node);
      const JsonKind kind = document.kind(node);
      if (name == "minimum" || name == "maximum") {
        if (kind != JsonKind::kNumber) return wrong(document, node, "a number is expected");
        (name == "minimum" ? minimum : maximum) = document.text(node);
      } else if (name == "integer") {
        if (kind != JsonKind::kTrue && kind != JsonKind::kFalse) {
          return wrong(document, node, "true or false is expected");
        }
        integer = kind == JsonKind::kTrue;
      } else {
        return wrong(document, node, "member other than minimum, maximum and integer");
      }
    }
    return build_number_range(minimum, maximum, integer, kDocument, builder_, error_);
  }

  const GrammarSource& source_;
  GrammarBuilder& builder_;
  Error* error_;
};

bool is_text(const VocabularySource& source, uint32_t token, std::span<const char> text) {
  const auto bytes = source.token(token);
  return std::equal(bytes.begin(), bytes.end(), text.begin(), text.end());
}

// The first token that spells the text, special ones before others.
uint32_t find_token(const void* self, std::span<const char> text) {
  const Vocabulary& vocabulary = *static_cast<const Vocabulary*>(self);
  const VocabularySource& source = vocabulary.source;
  for (const int32_t token : source.end_tokens) {
    if (is_text(source, static_cast<uint32_t>(token), text)) return static_cast<uint32_t>(token);
  }
  for (uint32_t token = 0; token < source.special.size(); ++token) {
    if (source.special[token] >= source.least_special && is_text(source, token, text)) return token;
  }
  const auto found = std::lower_bound(
      vocabulary.order.begin(), vocabulary.order.end(), text, [&](uint32_t token, std::span<const char> wanted) {
        const auto bytes = source.token(token);
        return std::string_view(bytes.data(), bytes.size()) < std::string_view(wanted.data(), wanted.size());
      });
  if (found == vocabulary.order.end() || !is_text(source, *found, text)) return kNone;
  return *found;
}

}  // namespace

TokenNames token_names(const Vocabulary* vocabulary) {
  if (vocabulary == nullptr) return {};
  return {vocabulary, vocabulary->token_count, find_token};
}

Status compile_source(const GrammarSource& source, const RuleWarnings& warnings, std::span<uint8_t> memory,
                      const CompiledGrammar** grammar, Error* error) {
  Workspace workspace(memory.data(), memory.size());
  GrammarBuilder builder(workspace);
  StartRules start;
  SOTTO_TRY(SourceReader(source, builder, error).read(&start.text));
  start.first = start.text;
  if (!source.triggers.empty()) {
    SOTTO_TRY(build_triggers(source.triggers, source.vocabulary, start.text, builder, &start.first, error));
  }
  const CompiledGrammar* compiled = nullptr;
  SOTTO_TRY(compile_grammar(builder, source.text, start, {}, warnings, &compiled, error));
  std::memmove(memory.data(), compiled, static_cast<size_t>(compiled->size()));
  *grammar = reinterpret_cast<const CompiledGrammar*>(memory.data());
  return Status::kOk;
}

size_t typical_compile_memory(size_t source_size) {
  constexpr size_t kBase = size_t{256} << 10;
  constexpr size_t kPerByte = 256;
  return source_size > (SIZE_MAX - kBase) / kPerByte ? SIZE_MAX : kBase + kPerByte * source_size;
}

}  // namespace sotto
