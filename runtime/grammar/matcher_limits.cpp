#include "runtime/grammar/matcher_limits.h"

#include <algorithm>

#include "runtime/grammar/context_store.h"

namespace sotto {
namespace {

constexpr uint32_t kMostRules = 64;   // looked at from one
constexpr uint32_t kMostCalls = 512;  // grammars with more are taken to have no left recursion

// Whether the rule's text may begin with a text of the rule itself.
bool is_left_recursive(const CompiledGrammar& grammar, uint32_t rule_start) {
  uint32_t met[kMostRules] = {rule_start};
  uint32_t count = 1;
  for (uint32_t i = 0; i < count; ++i) {
    for (const GrammarCall& call : grammar.calls(met[i])) {
      if (call.rule_start == rule_start) return true;
      if (std::find(met, met + count, call.rule_start) != met + count) continue;
      if (count == kMostRules) return false;
      met[count++] = call.rule_start;
    }
  }
  return false;
}

bool has_left_recursion(const CompiledGrammar& grammar) {
  if (grammar.counts().calls > kMostCalls) return false;
  for (uint32_t state = 0; state < grammar.counts().states; ++state) {
    for (const GrammarCall& call : grammar.calls(state)) {
      if (is_left_recursive(grammar, call.rule_start)) return true;
    }
  }
  return false;
}

// By what GBNF files and JSON schemas of all kinds were seen to need. Left recursion and
// counting at run time need much more: there may be many contexts, and counts, at once.
MatcherLimits suggest(const MatcherLimits& given, const CompiledGrammar& grammar,
                      uint32_t token_count) {
  const CompiledGrammar::Counts& counts = grammar.counts();
  const uint32_t states = std::min(counts.states, 1u << 14);
  const uint32_t calls = std::min(counts.calls, 1u << 14);
  MatcherLimits limits = given;
  // Of a small grammar many texts may be possible at once in many contexts; large ones are
  // mostly schemas, which are not ambiguous.
  if (states <= 200) {
    limits.work_count = 160 + states / 16 + calls;
    limits.config_count = 64 + (states + calls) / 7;
    limits.node_count = calls == 0 ? 32 : 224 + calls / 4;
    limits.frame_count = 2 * limits.node_count;
    limits.item_count = 3 * limits.config_count + 128;
  } else {
    limits.work_count = std::min(104 + states / 16 + calls, 1024u);
    limits.config_count = std::min(40 + (states + calls) / 7, 1024u);
    limits.node_count = calls == 0 ? 32 : std::min(96 + calls / 2, 1024u);
    limits.frame_count = limits.node_count * 5 / 4;
    limits.item_count = 2 * limits.config_count + 128;
  }
  if (counts.loops > 0) {
    limits.work_count = 2048;
    limits.config_count = 768;
    limits.node_count = 1536;
    limits.frame_count = 6144;
    limits.item_count = 3072;
  }
  if (has_left_recursion(grammar)) {
    limits.work_count = 4096;
    limits.config_count = 2048;
    limits.node_count = 4096;
    limits.frame_count = 16384;
    limits.item_count = 8192;
  }
  // What can be taken back is kept.
  const uint32_t kept = std::min(limits.rollback_count, kMostConfigs / 2) +
                        std::min(limits.sequence_count, kMostConfigs / 4);
  limits.config_count += kept;
  limits.item_count += 2 * kept;
  const uint32_t words_size = (token_count + 63) / 64 * static_cast<uint32_t>(sizeof(uint64_t));
  // JSON and the like soon come to all masks that they have.
  const bool is_dense = states <= 256 && calls >= states / 3 && calls > 0;
  const uint32_t lists_size = is_dense ? 3072 : 6 * std::min(states, 4096u);
  limits.mask_size = std::max(4096u, (is_dense ? 4 : 2) * words_size + lists_size);
  return limits;
}

}  // namespace

MatcherLimits resolve_limits(const MatcherLimits& given, const CompiledGrammar& grammar,
                             uint32_t token_count) {
  const MatcherLimits suggested = suggest(given, grammar, token_count);
  MatcherLimits limits = given;
  for (const auto limit :
       {&MatcherLimits::node_count, &MatcherLimits::frame_count, &MatcherLimits::config_count,
        &MatcherLimits::item_count, &MatcherLimits::work_count, &MatcherLimits::mask_size}) {
    if (limits.*limit == 0) limits.*limit = suggested.*limit;
  }
  return limits;
}

}  // namespace sotto
