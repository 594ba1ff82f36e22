// The sampler's parameters that are one value each, as a table.
#include "platforms/cli/options/sampler_fields.h"

#include <algorithm>

namespace sotto::cli {
namespace {

using P = sotto_sampler_params;
using enum FieldKind;

constexpr char kPenalties[] = "--repeat-penalty,--frequency-penalty,--presence-penalty,--guard-window";

constexpr SamplerField kSampling[] = {
    {"temperature", "--temp,--temperature", kNumber, &P::temperature, "", "Temperature; 0 takes the most likely token"},
    {"temperature_range", "--temp-range,--temperature-range,--dynatemp-range", kNumber, &P::temperature_range, "",
     "Dynamic temperature: so much lower and higher, after the entropy; 0: off"},
    {"temperature_exponent", "--temp-exponent,--temperature-exponent,--dynatemp-exponent,--dynatemp-exp", kNumber,
     &P::temperature_exponent, "--temp-range", "Exponent of the dynamic temperature"},
    {"smoothing_factor", "--smoothing-factor", kNumber, &P::smoothing_factor, "",
     "Quadratic smoothing of the logits; 0: off"},
    {"smoothing_curve", "--smoothing-curve", kNumber, &P::smoothing_curve, "--smoothing-factor",
     "Its curve; 1: a parabola"}};

constexpr SamplerField kTruncation[] = {
    {"top_k", "--top-k", kCount, &P::top_k, "", "Keep the K most likely tokens; 0: off"},
    {"top_p", "--top-p", kNumber, &P::top_p, "", "Keep the fewest tokens that have probability P together; 1: off"},
    {"min_p", "--min-p", kNumber, &P::min_p, "", "Keep tokens at least P times as likely as the likeliest; 0: off"},
    {"typical_p", "--typical-p,--typical", kNumber, &P::typical_p, "",
     "Keep tokens of typical surprise, with probability P together; 1: off"},
    {"top_a", "--top-a", kNumber, &P::top_a, "", "Keep p >= A max(p)^2; 0: off"},
    {"tail_free", "--tail-free,--tfs-z,--tfs", kNumber, &P::tail_free, "", "Tail-free sampling; 1: off"},
    {"epsilon", "--epsilon,--epsilon-cutoff", kNumber, &P::epsilon, "", "Keep p >= E; 0: off"},
    {"eta", "--eta,--eta-cutoff", kNumber, &P::eta, "", "Keep p >= min(E, sqrt(E) exp(-entropy)); 0: off"},
    {"top_n_sigma", "--top-n-sigma,--top-nsigma,--nsigma", kNumber, &P::top_n_sigma, "",
     "Keep logits within N standard deviations of the largest; 0: off"},
    {"top_h", "--top-h", kNumber, &P::top_h, "", "Keep the likeliest tokens within the share H of the entropy; 1: off"},
    {"xtc_probability", "--xtc-probability", kNumber, &P::xtc_probability, "",
     "XTC: chance that the most likely tokens go; 0: off"},
    {"xtc_threshold", "--xtc-threshold", kNumber, &P::xtc_threshold, "--xtc-probability",
     "They are those with p >= T, all but the least likely of them"},
    {"top_p_decay", "--top-p-decay", kNumber, &P::top_p_decay, "--top-p",
     "The P of --top-p times this with each token; 1: off"},
    {"top_p_min", "--top-p-min,--top-p-bound", kNumber, &P::top_p_min, "--top-p-decay", "It falls no lower"},
    {"top_p_reset_token", "--top-p-reset,--top-p-reset-token,--top-p-reset-ids", kToken, &P::top_p_reset_token,
     "--top-p-decay", "It begins again behind this token (id or text)"},
    {"min_keep", "--min-keep,--min-tokens-to-keep", kCount, &P::min_keep, "",
     "Fewest tokens that a truncation leaves"}};

constexpr SamplerField kRepetition[] = {
    {"repetition_penalty", "--repeat-penalty,--repetition-penalty", kNumber, &P::repetition_penalty, "",
     "Make tokens seen before less likely; 1: off"},
    {"frequency_penalty", "--frequency-penalty", kNumber, &P::frequency_penalty, "",
     "Lower a logit by this each time its token came; 0: off"},
    {"presence_penalty", "--presence-penalty", kNumber, &P::presence_penalty, "",
     "Lower a logit by this if its token came; 0: off"},
    {"repetition_window", "--repeat-last-n,--repetition-window,--penalty-last-n,--repetition-penalty-range", kWindow,
     &P::repetition_window, kPenalties, "Tokens the penalties look back on; -1: all in the context"},
    {"penalize_prompt", "--no-penalize-prompt", kOff, &P::penalize_prompt,
     "--repeat-penalty,--frequency-penalty,--presence-penalty,--no-repeat-ngram,"
     "--dry-multiplier,--guard-window",
     "Look at generated tokens only"},
    {"penalty_slope", "--penalty-slope", kNumber, &P::penalty_slope, kPenalties, "Penalise older tokens less; 0: off"},
    {"no_repeat_ngram", "--no-repeat-ngram,--no-repeat-ngram-size", kCount, &P::no_repeat_ngram, "",
     "No N tokens in a row come twice; 0: off"},
    {"dry_multiplier", "--dry-multiplier", kNumber, &P::dry_multiplier, "",
     "DRY: weight of the penalty for going on with a repetition; 0: off"},
    {"dry_base", "--dry-base", kNumber, &P::dry_base, "--dry-multiplier",
     "How it grows with the length of the repetition"},
    {"dry_allowed_length", "--dry-allowed-length", kCount, &P::dry_allowed_length, "--dry-multiplier",
     "Repetitions of fewer tokens are free"},
    {"dry_window", "--dry-window,--dry-penalty-last-n,--dry-range", kWindow, &P::dry_window, "--dry-multiplier",
     "Tokens it looks back on; -1: all in the context"},
    {"guard_window", "--guard-window", kCount, &P::guard_window, "",
     "Raise the penalty by how repetitive the newest N tokens are; 0: off"},
    {"guard_penalty", "--guard-penalty", kNumber, &P::guard_penalty, "--guard-window",
     "The penalty for nothing but repetition"}};

constexpr SamplerField kSelection[] = {
    {"selection", "--selection", kName, &P::selection, "", "How one of the tokens left is picked", selection_names},
    {"mirostat_tau", "--mirostat-tau,--mirostat-ent", kNumber, &P::mirostat_tau, "--mirostat,--selection",
     "Surprise that Mirostat keeps to, in bits"},
    {"mirostat_eta", "--mirostat-eta,--mirostat-lr", kNumber, &P::mirostat_eta, "--mirostat,--selection",
     "How fast it learns"},
    {"mirostat_m", "--mirostat-m", kCount, &P::mirostat_m, "--mirostat,--selection",
     "Tokens that Mirostat 1 estimates from"},
    {"adaptive_target", "--adaptive-p,--adaptive-target", kNumber, &P::adaptive_target, "",
     "Favour tokens of about this probability; below 0: off"},
    {"adaptive_decay", "--adaptive-decay,--adaptive-p-decay", kNumber, &P::adaptive_decay, "--adaptive-p",
     "How slowly it forgets what was picked"},
    {"dola", "--dola,--dola-layers", kName, &P::dola, "",
     "Contrast the last layer with an earlier one, of the lower or upper half", dola_names},
    {"dola_relative_top", "--dola-relative-top", kNumber, &P::dola_relative_top, "--dola",
     "Leave tokens below this share of the largest p out"},
    {"order", "--order", kName, &P::order, "", "Order of the stages, as in other programs", order_names}};

constexpr SamplerField kBias[] = {
    {"min_new_tokens", "--min-new-tokens,--min-tokens", kCount, &P::min_new_tokens, "",
     "No end of text before so many tokens"},
    {"ignore_end", "--ignore-eos,--ignore-end", kOn, &P::ignore_end, "", "The end of text never comes"},
    {"end_decay_factor", "--end-decay-factor,--eos-decay-factor", kNumber, &P::end_decay_factor, "",
     "Favour the end of text more with each token; 1: off"},
    {"end_decay_start", "--end-decay-start,--eos-decay-start", kCount, &P::end_decay_start, "--end-decay-factor",
     "From so many tokens on"},
    {"forced_last_token", "--forced-last-token,--forced-eos-token-id,--forced-last", kToken, &P::forced_last_token, "",
     "The token at the limit of --max-tokens (id or text)"}};

constexpr FieldGroup kGroups[] = {{kSamplingGroup, kSampling},
                                  {kTruncationGroup, kTruncation},
                                  {kRepetitionGroup, kRepetition},
                                  {kSelectionGroup, kSelection},
                                  {kBiasGroup, kBias}};

std::string json_name_of(std::string_view option) {
  std::string name(option.substr(option.find_first_not_of('-')));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

}  // namespace

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> list;
  while (!names.empty()) {
    const size_t size = std::min(names.find(','), names.size());
    list.emplace_back(names.substr(0, size));
    names.remove_prefix(std::min(size + 1, names.size()));
  }
  return list;
}

std::string SamplerField::main_option() const { return split_names(options).front(); }

bool SamplerField::answers_to(std::string_view json_name) const {
  if (json_name == name) return true;
  for (const std::string& option : split_names(options)) {
    if (json_name == json_name_of(option)) return true;
  }
  return false;
}

std::span<const FieldGroup> sampler_fields() { return kGroups; }

const SamplerField* find_field(std::string_view json_name) {
  for (const FieldGroup& group : kGroups) {
    for (const SamplerField& field : group.fields) {
      if (field.answers_to(json_name)) return &field;
    }
  }
  return nullptr;
}

}  // namespace sotto::cli
