#include "capi/generated/params.h"
#include "runtime/grammar/compiler/grammar_source.h"
#include "runtime/grammar/gbnf/parser.h"

using sotto::CompiledGrammar;
using sotto::Error;
using sotto::GrammarSource;
using sotto::JsonSpace;
using sotto::SchemaDraft;
using sotto::Status;
using sotto::TextView;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

static_assert(static_cast<int32_t>(sotto::GrammarLanguage::kTools) == SOTTO_GRAMMAR_TOOLS);
static_assert(sizeof(TextView) == sizeof(sotto_text));
static_assert(offsetof(TextView, size) == offsetof(sotto_text, size));

// Receives warnings.
struct Log {
  sotto_log_fn write;
  void* user_data;
  std::span<const char> source;
};

void warn_unreachable(void* self, std::span<const char>, uint64_t offset) {
  const Log& log = *static_cast<const Log*>(self);
  constexpr char kWhat[] = "rule that no text uses";
  Error text;
  (void)fail_in_source(&text, log.source, offset, {kWhat, sizeof kWhat - 1});
  log.write(log.user_data, SOTTO_LOG_WARNING, text.message);
}

sotto_status check_flag(const char* name, uint32_t value, ErrorOut* out) {
  if (value <= 1) return SOTTO_OK;
  return wrap(fail(out->get(), Status::kInvalidArgument, name, " is ", value, ", must be 0 or 1"));
}

// Checks what a number may be, and which arrays must be there.
sotto_status check_params(const sotto_grammar_params& given, ErrorOut* out) {
  if (given.language < SOTTO_GRAMMAR_GBNF || given.language > SOTTO_GRAMMAR_TOOLS) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "language is not a SOTTO_GRAMMAR_ value"));
  }
  if (given.root.text == nullptr || given.root.size == 0) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "root is empty"));
  }
  if (given.triggers == nullptr && given.trigger_count != 0) {
    return out->null_argument("triggers");
  }
  if (given.trigger_tokens == nullptr && given.trigger_token_count != 0) {
    return out->null_argument("trigger_tokens");
  }
  if (given.json_space < SOTTO_JSON_FLEXIBLE || given.json_space > SOTTO_JSON_ONE_SPACE) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "json_space is not a SOTTO_JSON_ value"));
  }
  if (given.maximum_space > sotto::kMaxRepetitions && given.maximum_space != UINT32_MAX) {
    return wrap(fail(out->get(), Status::kInvalidArgument, "maximum_space is ", given.maximum_space,
                     ", must be 0 to 2147483648 or UINT32_MAX"));
  }
  if (given.schema_draft != 7 && given.schema_draft != 2020) {
    return wrap(
        fail(out->get(), Status::kInvalidArgument, "schema_draft is ", given.schema_draft, ", must be 7 or 2020"));
  }
  const struct {
    const char* name;
    uint32_t value;
  } flags[] = {{"allow_surrounding_whitespace", given.allow_surrounding_whitespace},
               {"assert_formats", given.assert_formats},
               {"closed", given.closed},
               {"distinct_names", given.distinct_names},
               {"parallel_tool_calls", given.parallel_tool_calls}};
  for (const auto& flag : flags) {
    if (const sotto_status bad = check_flag(flag.name, flag.value, out); bad != SOTTO_OK) {
      return bad;
    }
  }
  return SOTTO_OK;
}

JsonSpace read_space(sotto_json_space space) {
  switch (space) {
    case SOTTO_JSON_COMPACT:
      return JsonSpace::kCompact;
    case SOTTO_JSON_ONE_SPACE:
      return JsonSpace::kOneSpace;
    default:
      return JsonSpace::kFlexible;
  }
}

GrammarSource read_source(const sotto_grammar_params& given, std::span<const char> text) {
  GrammarSource source;
  source.text = text;
  source.language = static_cast<sotto::GrammarLanguage>(given.language);
  source.root = {given.root.text, given.root.size};
  source.vocabulary = unwrap(given.vocabulary);
  source.triggers.texts = {reinterpret_cast<const TextView*>(given.triggers), given.trigger_count};
  source.triggers.tokens = {given.trigger_tokens, given.trigger_token_count};
  source.schema.style = {read_space(given.json_space), given.maximum_space, given.allow_surrounding_whitespace != 0};
  source.schema.draft = given.schema_draft == 7 ? SchemaDraft::kDraft7 : SchemaDraft::k2020;
  source.schema.assert_formats = given.assert_formats != 0;
  source.schema.closed = given.closed != 0;
  source.schema.distinct_names = given.distinct_names != 0;
  source.tools = given.parallel_tool_calls != 0 ? sotto::ToolChoice::kSeveral : sotto::ToolChoice::kOne;
  return source;
}

}  // namespace

size_t sotto_grammar_typical_memory(size_t source_size) { return sotto::typical_compile_memory(source_size); }

sotto_status sotto_grammar_compile(const char* source, size_t source_size, const sotto_grammar_params* params,
                                   void* memory, size_t memory_size, sotto_grammar** grammar, size_t* grammar_size,
                                   sotto_error* error) {
  ErrorOut out(error);
  if (source == nullptr && source_size != 0) return out.null_argument("source");
  if (memory == nullptr) return out.null_argument("memory");
  if (grammar == nullptr) return out.null_argument("grammar");
  if (grammar_size == nullptr) return out.null_argument("grammar_size");
  if (params != nullptr && params->struct_size == 0) return out.bad_struct("params");
  const sotto_grammar_params given = sotto::capi::read(params, sotto::capi::kGrammarDefaults);
  if (const sotto_status bad = check_params(given, &out); bad != SOTTO_OK) return bad;
  if (!sotto::capi::is_aligned(memory)) return out.misaligned("memory");
  const std::span<const char> text = {source == nullptr ? "" : source, source_size};
  Log log = {given.log, given.log_user_data, text};
  sotto::RuleWarnings warnings;
  if (given.log != nullptr) warnings = {&log, warn_unreachable};
  const CompiledGrammar* compiled = nullptr;
  const Status status = compile_source(read_source(given, text), warnings, {static_cast<uint8_t*>(memory), memory_size},
                                       &compiled, out.get());
  if (status != Status::kOk) return wrap(status);
  *grammar = static_cast<sotto_grammar*>(memory);
  *grammar_size = static_cast<size_t>(compiled->size());
  return SOTTO_OK;
}
