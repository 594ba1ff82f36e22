// Makes every path of an NFA lead somewhere: nullable calls get an epsilon beside them, and
// what cannot be completed is removed.
#pragma once

#include <cstdint>

#include "runtime/grammar/automata/nfa.h"

namespace sotto {

struct NfaAnalysis {
  explicit NfaAnalysis(Workspace& workspace) : productive(workspace), reachable(workspace), live(workspace) {}

  GrowingArray<uint8_t> productive;  // by rule: some text completes it
  GrowingArray<uint8_t> reachable;   // by rule: it may occur in a text of the root
  GrowingArray<uint8_t> live;        // by state: the exit can be reached from it
};

// Loops whose bodies are nullable get the minimum 0. From then on a call, or a loop, is
// passed by its edge only if it takes something.
void analyze_nfa(Nfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis);

}  // namespace sotto
