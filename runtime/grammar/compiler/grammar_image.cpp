#include "runtime/grammar/compiler/grammar_image.h"

#include <cstring>

#include "runtime/base/arena.h"
#include "runtime/base/xxhash64.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/compiler/lookahead.h"
#include "runtime/grammar/grammar_generated.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

class GrammarVerifier {
 public:
  GrammarVerifier(const CompiledGrammar& grammar, Error* error)
      : grammar_(grammar), counts_(grammar.counts_), error_(error) {}

  Status verify(uint64_t size) const;

 private:
  // Limits that bound the time of verifying an image to about a second.
  static constexpr uint32_t kMaxElements = 10000000;  // states, moves and calls
  static constexpr uint32_t kMaxLookaheadSteps = 100000000;

  Status verify_layout(uint64_t size) const;
  Status verify_byte_classes() const;
  Status verify_token_ranges() const;
  bool is_member(uint32_t index) const;
  Status verify_loops() const;
  Status verify_states() const;
  Status verify_state(uint32_t state) const;
  Status verify_moves(uint32_t state) const;
  Status verify_calls(uint32_t state) const;

  // Returns whether the state belongs to a rule. The others are targets only in the matcher.
  bool is_inside(uint32_t state) const { return state > kUnknownState && state < counts_.states; }
  bool is_start(uint32_t state) const { return (grammar_.flags(state) & GrammarState::kStart) != 0; }
  Status corrupt(const char* what) const { return fail(error_, Status::kGrammarCorrupt, "grammar: ", what); }
  Status corrupt(const char* what, uint32_t index) const {
    return fail(error_, Status::kGrammarCorrupt, "grammar: ", what, " ", index);
  }

  const CompiledGrammar& grammar_;
  const CompiledGrammar::Counts& counts_;
  Error* error_;
};

Status GrammarVerifier::verify(uint64_t size) const {
  SOTTO_TRY(verify_layout(size));
  SOTTO_TRY(verify_byte_classes());
  SOTTO_TRY(verify_token_ranges());
  SOTTO_TRY(verify_loops());
  return verify_states();
}

// Verifies that the arrays follow each other without gaps and fill the block.
Status GrammarVerifier::verify_layout(uint64_t size) const {
  uint64_t end = sizeof(CompiledGrammar);
  bool fits = grammar_.size_ == size;
  const auto expect = [&](uint32_t offset, uint64_t count, uint64_t element) {
    fits = fits && offset == end;
    end += count * element;
  };
  expect(grammar_.states_, uint64_t{counts_.states} + 1, sizeof(GrammarState));
  expect(grammar_.moves_, counts_.moves, sizeof(GrammarMove));
  expect(grammar_.calls_, counts_.calls, sizeof(GrammarCall));
  expect(grammar_.loops_, counts_.loops, sizeof(GrammarLoop));
  expect(grammar_.token_ranges_, counts_.token_ranges, sizeof(TokenRange));
  if (!fits || end != size) return corrupt("its parts do not make up its size");
  const uint64_t elements = uint64_t{counts_.states} + counts_.moves + counts_.calls;
  if (elements > kMaxElements) {
    return fail(error_, Status::kGrammarTooLarge, "grammar: it has ", elements,
                " states, moves and calls; an image may have at most ", kMaxElements, ": compile it from its source");
  }
  if (!is_inside(grammar_.root_start_)) return corrupt("no start state");
  return Status::kOk;
}

// Verifies that every class contains a byte, and that the classes are numbered in the order of their first bytes.
Status GrammarVerifier::verify_byte_classes() const {
  uint32_t known = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint8_t symbol_class = grammar_.byte_classes_[byte];
    if (symbol_class > known) return corrupt("wrong class of byte", byte);
    if (symbol_class == known) ++known;
  }
  if (known != counts_.byte_classes) return corrupt("wrong count of byte classes");
  return Status::kOk;
}

// Verifies that the ranges are ascending and disjoint. One class may have no range: the class of tokens that no state
// reads.
Status GrammarVerifier::verify_token_ranges() const {
  if (counts_.classes < counts_.byte_classes ||
      counts_.classes - counts_.byte_classes > uint64_t{counts_.token_ranges} + 1) {
    return corrupt("wrong count of classes");
  }
  uint64_t end = 0;
  uint32_t index = 0;
  for (const TokenRange& range : grammar_.token_ranges()) {
    if (range.first < end || range.first > range.last || range.last >= TrieNode::kMaxIndex ||
        range.symbol_class < counts_.byte_classes || range.symbol_class >= counts_.classes) {
      return corrupt("wrong token range", index);
    }
    end = uint64_t{range.last} + 1;
    ++index;
  }
  return Status::kOk;
}

// Verifies a member of a set. Members must be consecutive, and there must be a bit for each member that may come only
// once.
bool GrammarVerifier::is_member(uint32_t index) const {
  const GrammarLoop& loop = grammar_.loop(index);
  const bool is_first = loop.set == index;
  if (!is_first && (index == 0 || grammar_.loop(index - 1).set != loop.set)) return false;
  const uint32_t max_index = loop.maximum == 1 ? kMaxSingleMembers - 1 : kMaxSingleMembers;
  return index - loop.set <= max_index &&
         (loop.maximum == 1 ? loop.minimum <= 1 : loop.minimum == 0 && loop.maximum == UINT32_MAX) &&
         (loop.rule_start == kAcceptState || (is_inside(loop.rule_start) && is_start(loop.rule_start)));
}

Status GrammarVerifier::verify_loops() const {
  for (uint32_t index = 0; index < counts_.loops; ++index) {
    const GrammarLoop& loop = grammar_.loop(index);
    if (loop.set != kNoSet) {
      if (!is_member(index)) return corrupt("wrong member of a set", index);
      continue;
    }
    const bool is_bounded = loop.maximum != UINT32_MAX;
    if (loop.minimum > kMaxRepetitions || (is_bounded && loop.maximum > kMaxRepetitions) ||
        loop.minimum > loop.maximum) {
      return corrupt("wrong bounds of loop", index);
    }
  }
  return Status::kOk;
}

// Verifies that moves and calls are in the order of their states, and that the last state's moves and calls end at the
// ends of the arrays.
Status GrammarVerifier::verify_states() const {
  const GrammarState* states = grammar_.states();
  const GrammarState& end = states[counts_.states];
  if (states[0].first_move != 0 || states[0].first_call != 0 || end.first_move != counts_.moves ||
      end.first_call != counts_.calls || end.flags != 0 || end.single_classes != 0 || end.endless_classes != 0 ||
      end.any_count != 0) {
    return corrupt("the states do not span the moves and calls");
  }
  for (uint32_t state = 0; state < counts_.states; ++state) {
    if (states[state].first_move > states[state + 1].first_move ||
        states[state].first_call > states[state + 1].first_call) {
      return corrupt("wrong extent of state", state);
    }
  }
  uint32_t rules = 0;
  for (uint32_t state = 0; state < counts_.states; ++state) {
    SOTTO_TRY(verify_state(state));
    rules += is_start(state) ? 1u : 0u;
  }
  if (!is_start(grammar_.root_start()) || rules != grammar_.rule_count()) {
    return corrupt("wrong number of rules");
  }
  Lookahead lookahead(grammar_);
  lookahead.limit_steps(kMaxLookaheadSteps);
  for (uint32_t state = 0; state < counts_.states; ++state) {
    if (lookahead.holds(state)) continue;
    if (!lookahead.is_exhausted()) return corrupt("wrong lookahead of state", state);
    return fail(error_, Status::kGrammarTooLarge, "grammar: verifying its lookahead takes more than ",
                kMaxLookaheadSteps, " steps; compile it from its source");
  }
  return Status::kOk;
}

// Verifies a state. A state without moves and calls must be final, with the flags kFinal and kLast.
Status GrammarVerifier::verify_state(uint32_t state) const {
  constexpr uint32_t kEndOfRule = GrammarState::kFinal | GrammarState::kLast;
  constexpr uint32_t kOthers = GrammarState::kSingle | GrammarState::kExact | GrammarState::kRepeats |
                               GrammarState::kStart | GrammarState::kPrefersLiterals;
  const uint32_t flags = grammar_.flags(state) & ~kOthers;
  const bool leads_on = !grammar_.moves(state).empty() || !grammar_.calls(state).empty();
  const bool is_right = leads_on ? (flags & ~uint32_t{GrammarState::kFinal}) == 0 : flags == kEndOfRule;
  if (!is_right || (leads_on && state <= kUnknownState)) {
    return corrupt("wrong flags of state", state);
  }
  SOTTO_TRY(verify_moves(state));
  return verify_calls(state);
}

Status GrammarVerifier::verify_moves(uint32_t state) const {
  const GrammarMove* previous = nullptr;
  for (const GrammarMove& move : grammar_.moves(state)) {
    const bool ascends = previous == nullptr || previous->symbol_class < move.symbol_class ||
                         (previous->symbol_class == move.symbol_class && previous->target < move.target);
    if (!ascends || move.symbol_class >= counts_.classes || !is_inside(move.target)) {
      return corrupt("wrong move of state", state);
    }
    previous = &move;
  }
  return Status::kOk;
}

Status GrammarVerifier::verify_calls(uint32_t state) const {
  for (const GrammarCall& call : grammar_.calls(state)) {
    if (!is_inside(call.rule_start) || !is_start(call.rule_start) || !is_inside(call.target) ||
        (call.loop != kNoLoop && call.loop >= counts_.loops)) {
      return corrupt("wrong call of state", state);
    }
    if (call.loop == kNoLoop) continue;
    const GrammarLoop& loop = grammar_.loop(call.loop);
    if (loop.set == kNoSet && loop.rule_start != call.rule_start) return corrupt("wrong call of state", state);
  }
  return Status::kOk;
}

namespace {

// Verifies a compiled grammar that may come from an untrusted source: checks everything on which the matcher's safety
// depends, but not data that determines only the language.
Status verify_grammar(std::span<const uint8_t> block, const CompiledGrammar** grammar, Error* error) {
  if (block.size() < sizeof(CompiledGrammar) ||
      reinterpret_cast<uintptr_t>(block.data()) % alignof(CompiledGrammar) != 0) {
    return fail(error, Status::kGrammarCorrupt, "grammar: smaller than its head, or misaligned");
  }
  const auto* given = reinterpret_cast<const CompiledGrammar*>(block.data());
  SOTTO_TRY(GrammarVerifier(*given, error).verify(block.size()));
  *grammar = given;
  return Status::kOk;
}

// The FlatBuffer before the block. Apart from the checksum and the size, its bytes are constant. It is written without
// FlatBufferBuilder, because that would allocate.
struct ImageHead {
  uint32_t root;  // distance from this field to the table
  uint8_t identifier[4];
  // The next three fields are the vtable, which describes the layout of the table: sizes and positions in bytes.
  uint16_t layout_size;
  uint16_t table_size;
  uint16_t version_position;
  uint16_t checksum_position;
  uint16_t block_position;
  uint16_t padding;
  // The next fields are the table.
  int32_t to_layout;  // distance backwards to the vtable
  uint64_t checksum;
  uint32_t version;
  uint32_t block;  // distance from this field to the vector
  uint32_t reserved[5];
  // The size and the bytes of the vector follow.
  uint32_t block_size;
};
constexpr size_t kTable = offsetof(ImageHead, to_layout);
static_assert(sizeof(ImageHead) == kMemoryAlignment);
static_assert(offsetof(ImageHead, block_size) + sizeof(uint32_t) == sizeof(ImageHead));

ImageHead make_head(const CompiledGrammar& grammar) {
  ImageHead head = {};
  head.root = kTable;
  std::memcpy(head.identifier, format::GrammarImageIdentifier(), sizeof head.identifier);
  head.layout_size = kTable - offsetof(ImageHead, layout_size) - sizeof head.padding;
  head.table_size = offsetof(ImageHead, reserved) - kTable;
  head.version_position = offsetof(ImageHead, version) - kTable;
  head.checksum_position = offsetof(ImageHead, checksum) - kTable;
  head.block_position = offsetof(ImageHead, block) - kTable;
  head.to_layout = kTable - offsetof(ImageHead, layout_size);
  head.version = kGrammarVersion;
  head.block = offsetof(ImageHead, block_size) - offsetof(ImageHead, block);
  head.block_size = static_cast<uint32_t>(grammar.size());
  head.checksum = xxhash64(&grammar, static_cast<size_t>(grammar.size()));
  return head;
}

Status corrupt(Error* error, const char* what) { return fail_at(error, Status::kGrammarCorrupt, 0, what); }

}  // namespace

size_t grammar_image_size(const CompiledGrammar& grammar) {
  return sizeof(ImageHead) + static_cast<size_t>(grammar.size());
}

void write_grammar_image(const CompiledGrammar& grammar, uint8_t* image) {
  const ImageHead head = make_head(grammar);
  std::memcpy(image, &head, sizeof head);
  std::memcpy(image + sizeof head, &grammar, static_cast<size_t>(grammar.size()));
}

Status open_grammar_image(std::span<const uint8_t> image, const CompiledGrammar** grammar, Error* error) {
  if (reinterpret_cast<uintptr_t>(image.data()) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "the image is not aligned to 64 bytes");
  }
  constexpr size_t kLargest = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  if (image.size() < sizeof(uint32_t) + flatbuffers::kFileIdentifierLength ||
      !format::GrammarImageBufferHasIdentifier(image.data())) {
    return corrupt(error, "not a grammar image");
  }
  if (image.size() > kLargest) return corrupt(error, "the image is larger than 2 GiB");
  flatbuffers::Verifier verifier(image.data(), image.size());
  if (!format::VerifyGrammarImageBuffer(verifier)) {
    return corrupt(error, "the image is truncated or no valid FlatBuffer");
  }
  const format::GrammarImage& table = *format::GetGrammarImage(image.data());
  if (table.version() != kGrammarVersion) {
    return fail_at(error, Status::kGrammarCorrupt, 0, "grammar format version ", table.version(),
                   "; this library reads version ", kGrammarVersion);
  }
  const std::span<const uint8_t> block{table.block()->data(), table.block()->size()};
  if (xxhash64(block.data(), block.size()) != table.checksum()) {
    return corrupt(error, "the grammar has a wrong checksum");
  }
  return verify_grammar(block, grammar, error);
}

}  // namespace sotto
