// The names that options and JSON have for the values of the C interface.
#include "platforms/cli/options/names.h"

#include "capi/include/sotto_grammar.h"

namespace sotto::cli {
namespace {

constexpr Name kOrders[] = {{"default", SOTTO_ORDER_DEFAULT}, {"hf", SOTTO_ORDER_HF},
                            {"openai", SOTTO_ORDER_OPENAI},   {"llama_cpp", SOTTO_ORDER_DEFAULT},
                            {"transformers", SOTTO_ORDER_HF}, {"vllm", SOTTO_ORDER_OPENAI}};

constexpr Name kStages[] = {{"bias", SOTTO_STAGE_BIAS},
                            {"sequence_bias", SOTTO_STAGE_SEQUENCE_BIAS},
                            {"allowed", SOTTO_STAGE_ALLOWED},
                            {"suppress", SOTTO_STAGE_SUPPRESS},
                            {"bad_words", SOTTO_STAGE_BAD_WORDS},
                            {"min_tokens", SOTTO_STAGE_MIN_TOKENS},
                            {"forced", SOTTO_STAGE_FORCED},
                            {"end_decay", SOTTO_STAGE_END_DECAY},
                            {"repetition", SOTTO_STAGE_REPETITION},
                            {"frequency", SOTTO_STAGE_FREQUENCY},
                            {"presence", SOTTO_STAGE_PRESENCE},
                            {"no_repeat_ngram", SOTTO_STAGE_NO_REPEAT_NGRAM},
                            {"dry", SOTTO_STAGE_DRY},
                            {"temperature", SOTTO_STAGE_TEMPERATURE},
                            {"smoothing", SOTTO_STAGE_SMOOTHING},
                            {"top_k", SOTTO_STAGE_TOP_K},
                            {"top_p", SOTTO_STAGE_TOP_P},
                            {"min_p", SOTTO_STAGE_MIN_P},
                            {"top_a", SOTTO_STAGE_TOP_A},
                            {"tail_free", SOTTO_STAGE_TAIL_FREE},
                            {"typical", SOTTO_STAGE_TYPICAL},
                            {"epsilon", SOTTO_STAGE_EPSILON},
                            {"eta", SOTTO_STAGE_ETA},
                            {"top_n_sigma", SOTTO_STAGE_TOP_N_SIGMA},
                            {"top_h", SOTTO_STAGE_TOP_H},
                            {"xtc", SOTTO_STAGE_XTC},
                            {"watermark", SOTTO_STAGE_WATERMARK},
                            {"logit_bias", SOTTO_STAGE_BIAS},
                            {"repetition_penalty", SOTTO_STAGE_REPETITION},
                            {"frequency_penalty", SOTTO_STAGE_FREQUENCY},
                            {"presence_penalty", SOTTO_STAGE_PRESENCE},
                            {"temp", SOTTO_STAGE_TEMPERATURE},
                            {"typ_p", SOTTO_STAGE_TYPICAL},
                            {"typical_p", SOTTO_STAGE_TYPICAL},
                            {"tfs", SOTTO_STAGE_TAIL_FREE},
                            {"tfs_z", SOTTO_STAGE_TAIL_FREE}};

constexpr Name kSelections[] = {{"multinomial", SOTTO_SELECT_MULTINOMIAL}, {"greedy", SOTTO_SELECT_GREEDY},
                                {"gumbel", SOTTO_SELECT_GUMBEL},           {"mirostat", SOTTO_SELECT_MIROSTAT},
                                {"mirostat_v2", SOTTO_SELECT_MIROSTAT_V2}, {"adaptive_p", SOTTO_SELECT_ADAPTIVE_P}};

constexpr Name kDolas[] = {{"off", SOTTO_DOLA_OFF}, {"low", SOTTO_DOLA_LOW}, {"high", SOTTO_DOLA_HIGH}};

constexpr Name kWatermarks[] = {{"none", SOTTO_WATERMARK_NONE},          {"lefthash", SOTTO_WATERMARK_LEFT_HASH},
                                {"selfhash", SOTTO_WATERMARK_SELF_HASH}, {"tournament", SOTTO_WATERMARK_TOURNAMENT},
                                {"gumbel", SOTTO_WATERMARK_GUMBEL},      {"synthid", SOTTO_WATERMARK_TOURNAMENT}};

constexpr Name kOverflows[] = {
    {"stop", SOTTO_OVERFLOW_STOP}, {"ring", SOTTO_OVERFLOW_RING}, {"shift", SOTTO_OVERFLOW_SHIFT}};

constexpr Name kSearches[] = {{"beam", SOTTO_SEARCH_BEAM},
                              {"beam_sample", SOTTO_SEARCH_BEAM_SAMPLE},
                              {"sample", SOTTO_SEARCH_SAMPLE},
                              {"contrastive", SOTTO_SEARCH_CONTRASTIVE}};

constexpr Name kLengthNorms[] = {{"power", SOTTO_LENGTH_POWER}, {"gnmt", SOTTO_LENGTH_GNMT}};

constexpr Name kEarlyStoppings[] = {{"heuristic", SOTTO_EARLY_STOPPING_HEURISTIC},
                                    {"at_once", SOTTO_EARLY_STOPPING_AT_ONCE},
                                    {"never", SOTTO_EARLY_STOPPING_NEVER},
                                    {"false", SOTTO_EARLY_STOPPING_HEURISTIC},
                                    {"true", SOTTO_EARLY_STOPPING_AT_ONCE}};

constexpr Name kChoices[] = {{"order", SOTTO_RERANK_ORDER},
                             {"best", SOTTO_RERANK_BEST},
                             {"exact", SOTTO_RERANK_EXACT},
                             {"ngram", SOTTO_RERANK_NGRAM}};

constexpr Name kPoolings[] = {{"last", SOTTO_POOL_LAST}, {"mean", SOTTO_POOL_MEAN}};

constexpr Name kGuides[] = {
    {"off", SOTTO_GUIDE_OFF}, {"classifier_free", SOTTO_GUIDE_CFG}, {"contrastive", SOTTO_GUIDE_CONTRAST}};

constexpr Name kStops[] = {{"end_of_text", SOTTO_STOP_END_OF_TEXT},
                           {"max_tokens", SOTTO_STOP_MAX_TOKENS},
                           {"context_full", SOTTO_STOP_CONTEXT_FULL},
                           {"grammar", SOTTO_STOP_GRAMMAR},
                           {"callback", SOTTO_STOP_CALLBACK},
                           {"cancelled", SOTTO_STOP_CANCELLED},
                           {"stop_token", SOTTO_STOP_TOKEN},
                           {"stop_string", SOTTO_STOP_STRING},
                           {"max_time", SOTTO_STOP_TIME},
                           {"repetition", SOTTO_STOP_REPETITION},
                           {"banned", SOTTO_STOP_BANNED},
                           {"complete", SOTTO_OK}};

constexpr Name kGrammars[] = {{"gbnf", SOTTO_GRAMMAR_GBNF},
                              {"json_schema", SOTTO_GRAMMAR_JSON_SCHEMA},
                              {"regex", SOTTO_GRAMMAR_REGEX},
                              {"any_json", SOTTO_GRAMMAR_JSON},
                              {"json_object", SOTTO_GRAMMAR_JSON_OBJECT},
                              {"choices", SOTTO_GRAMMAR_CHOICES},
                              {"number_range", SOTTO_GRAMMAR_NUMBER},
                              {"tools", SOTTO_GRAMMAR_TOOLS}};

constexpr Name kJsonSpaces[] = {
    {"flexible", SOTTO_JSON_FLEXIBLE}, {"compact", SOTTO_JSON_COMPACT}, {"one", SOTTO_JSON_ONE_SPACE}};

}  // namespace

Names order_names() { return kOrders; }
Names stage_names() { return kStages; }
Names selection_names() { return kSelections; }
Names dola_names() { return kDolas; }
Names watermark_names() { return kWatermarks; }
Names overflow_names() { return kOverflows; }
Names search_names() { return kSearches; }
Names length_norm_names() { return kLengthNorms; }
Names early_stopping_names() { return kEarlyStoppings; }
Names rerank_names() { return kChoices; }
Names pooling_names() { return kPoolings; }
Names guide_names() { return kGuides; }
Names stop_names() { return kStops; }
Names grammar_names() { return kGrammars; }
Names json_space_names() { return kJsonSpaces; }

std::optional<int32_t> find_value(Names names, std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c == '-' || c == '.') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const Name& known : names) {
    if (plain == known.name) return known.value;
  }
  return std::nullopt;
}

const char* name_of(Names names, int32_t value) {
  for (const Name& known : names) {
    if (known.value == value) return known.name;
  }
  return "unknown";
}

std::string listed(Names names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_first = name_of(names, names[i].value) == names[i].name;
    if (is_first) text += (text.empty() ? "" : ", ") + std::string(names[i].name);
  }
  return text;
}

}  // namespace sotto::cli
