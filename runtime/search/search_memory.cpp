#include "runtime/search/search_memory.h"

namespace sotto {

void SearchMemory::lay_out(const SearchShape& given, Arena* arena) {
  shape = given;
  const size_t count = shape.sequence_count;
  const size_t token_count = count * shape.sequence_tokens;
  for (int generation = 0; generation < 2; ++generation) {
    tokens[generation] = arena->take<int32_t>(token_count);
    running[generation] = arena->take<RunningSequence>(count);
    phrase_states[generation] = arena->take<PhraseState>(count);
  }
  finished_tokens = arena->take<int32_t>(token_count);
  finished = arena->take<FinishedSequence>(count);
  steps = arena->take<BeamStep>(count);
  best = arena->take<BeamCandidate>(count);
  going = arena->take<BeamCandidate>(going_capacity(count));
  sampler_states = arena->take<SamplerState>(count);
  order = arena->take<uint32_t>(token_count);
  results = arena->take<SearchSequence>(count);
}

}  // namespace sotto
