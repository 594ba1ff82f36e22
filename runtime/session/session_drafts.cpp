// Where a session's drafts come from: see speculation.h.
#include <algorithm>
#include <array>
#include <cassert>

#include "runtime/base/scalar_math.h"
#include "runtime/session/draft_lookup.h"
#include "runtime/session/log_probabilities.h"
#include "runtime/session/session.h"
#include "runtime/text/tokenizer.h"

namespace sotto {
namespace {

// A row more in a batch costs about this share of evaluating one token.
constexpr float kRowCost = 0.06f;

// Bytes of text that a constraint is asked for.
constexpr size_t kForcedBytes = 256;

// What the first layers and the head multiply with, in weights.
float weights(const ModelConfig& config, uint32_t layer_count) {
  const float width = static_cast<float>(config.embedding_size);
  const float layer = (4 * width + 2 * static_cast<float>(config.feed_forward_size)) * width;
  return static_cast<float>(layer_count) * layer + static_cast<float>(config.vocabulary_size) * width;
}

}  // namespace

// Text that must follow, as the tokenizer writes it. Its last tokens may be the beginning of
// longer ones: those are left to chance.
void Session::draft_forced(size_t room) {
  const TokenizerView* tokenizer = model_->tokenizer();
  if (constraint_.forced == nullptr || tokenizer == nullptr || !healing_.is_over()) return;
  std::array<char, kForcedBytes> text;
  size_t size = 0;
  if (constraint_.forced(constraint_.self, 0, text, &size) != Status::kOk || size == 0) return;
  std::array<int32_t, 2 * kForcedBytes> tokens;
  size_t count = 0;
  const std::span<const char> whole = {text.data(), size};
  if (encode(*tokenizer, whole, {}, tokens, &count, nullptr) != Status::kOk) return;
  const std::span<const int32_t> found = {tokens.data(), count};
  const size_t tail = std::min(count, Healing::kMaxTokens);
  count -= Healing::count_unfinished(*tokenizer, found.last(tail));
  for (size_t i = 0; i < std::min(count, room); ++i) speculation_.add(tokens[i]);
}

void Session::draft_by_lookup(size_t room, Speculation::Kind* kind) {
  const SpeculationParams& params = speculation_.params();
  const LookupMatch match = find_latest_match(speculation_.text(), params.min_match, params.max_match);
  if (match.size == 0) return;
  *kind = match.size <= 2 ? Speculation::kShortMatch : match.size <= 4 ? Speculation::kMatch : Speculation::kLongMatch;
  const size_t free = room - speculation_.drafts().size();
  const size_t count = speculation_.paces[*kind].length(kRowCost, free);
  // Where the match is near, this reads what it has just written.
  for (size_t i = 0; i < count; ++i) speculation_.add(speculation_.text()[match.next + i]);
}

void Session::draft_by_callback(size_t room, Speculation::Kind* kind) {
  const SpeculationParams& params = speculation_.params();
  const size_t free = room - speculation_.drafts().size();
  const size_t most = speculation_.paces[Speculation::kCallback].length(kRowCost, free);
  if (most == 0) return;
  const auto text = speculation_.text();
  // Behind forced drafts there is no state yet.
  std::span<const float> hidden;
  if (context_.batch_row_count() > 0 && speculation_.drafts().empty()) {
    hidden = context_.forward().final_states(context_.batch_row_count() - 1, 1);
  }
  const auto drafts = speculation_.rest().first(most);
  const size_t given =
      params.draft(params.user_data, text.data(), text.size(), hidden.data(), hidden.size(), drafts.data(), most);
  if (given > most) return;
  const uint32_t vocabulary = model_->config().vocabulary_size;
  const auto end = std::find_if(drafts.begin(), drafts.begin() + static_cast<ptrdiff_t>(given),
                                [&](int32_t token) { return static_cast<uint32_t>(token) >= vocabulary; });
  *kind = Speculation::kCallback;
  speculation_.take_rest(static_cast<size_t>(end - drafts.begin()));
}

// One more draft as the session's own sampler draws it from other logits; false: not likely
// enough, or it ends the text.
bool Session::draft_from(std::span<const float> logits) {
  const size_t ahead = speculation_.drafts().size();
  SampleInput input = sample_input();
  input.history = TokenHistory(speculation_.text(), {}).last(params_.context_tokens);
  input.draw += ahead;
  input.generated_count += ahead;
  if (ahead > 0) input.sequence = 0;
  TokenMask mask;
  if (ahead == 0 && find_mask(&mask) != Status::kOk) return false;
  // The caller's callback sees nothing but the stream's own logits.
  const bool can_sample = sampler_.params().logits_callback == nullptr;
  const int32_t token = can_sample ? sampler_.sample(logits, mask, input, &speculation_.state).token
                                   : static_cast<int32_t>(model_->kernels().argmax(logits.data(), logits.size()));
  if (check_end(token) != Status::kOk) return false;
  if (const float threshold = speculation_.params().draft_threshold; threshold > 0) {
    const double p = LogProbabilities(model_->kernels(), logits).of(token);
    if (p < ln(static_cast<double>(threshold))) return false;
  }
  speculation_.add(token);
  return true;
}

Status Session::draft_by_session(size_t room, Speculation::Kind* kind) {
  const size_t free = room - speculation_.drafts().size();
  const ModelConfig& config = model_->config();
  const ModelConfig& other = drafter_->model_->config();
  const float cost = kRowCost + weights(other, other.layer_count) / weights(config, config.layer_count);
  const size_t count = speculation_.paces[Speculation::kSession].length(cost, free);
  *kind = Speculation::kSession;
  for (size_t i = 0; i < count; ++i) {
    const auto text = speculation_.text();
    const uint64_t end = token_count() + speculation_.drafts().size();
    SOTTO_TRY(drafter_->follow(text, end - text.size(), &cancelled_));
    if (!draft_from(drafter_->context_.logits())) break;
  }
  return Status::kOk;
}

// Brings this session, which drafts for another, to the end of that one's text, whose first
// token has the place `first`: what agrees stays. A text that the context cannot hold begins
// later, with the newer half.
Status Session::follow(std::span<const int32_t> text, uint64_t first, std::atomic<uint32_t>* cancelled) {
  has_pending_ = false;
  const uint64_t known = context_.token_count();
  const uint64_t memory = uint64_t{2} * params_.context_tokens;
  const uint64_t oldest = std::max(first, followed_from_ + known - std::min(known, memory));
  const uint64_t end = std::min(first + text.size(), followed_from_ + known);
  uint64_t agreed = oldest;
  while (agreed < end && context_.token_at(agreed - followed_from_) == text[static_cast<size_t>(agreed - first)]) {
    ++agreed;
  }
  const uint64_t kept = agreed - std::min(agreed, followed_from_);
  const bool fits =
      params_.overflow != Overflow::kStop || first + text.size() - followed_from_ <= params_.context_tokens;
  if (agreed > oldest && context_.can_rewind(kept) && fits) {
    if (kept < known) context_.rewind(kept);
  } else {
    const size_t most = params_.context_tokens;
    const size_t taken = text.size() < most ? text.size() : most / 2;
    context_.clear();
    states_.clear();
    agreed = followed_from_ = first + text.size() - taken;
  }
  SOTTO_TRY(context_.append(text.subspan(static_cast<size_t>(agreed - first)), *cancelled));
  for (uint64_t i = agreed - followed_from_; i < token_count(); ++i) states_.set(i, {});
  return context_.ensure_logits(*cancelled);
}

Status Session::draft_by_early_exit(size_t room, Speculation::Kind* kind) {
  const size_t free = room - speculation_.drafts().size();
  const ModelConfig& config = model_->config();
  const uint32_t layers = speculation_.params().exit_layer;
  const float cost = kRowCost + weights(config, layers) / weights(config, config.layer_count);
  const size_t count = speculation_.paces[Speculation::kEarlyExit].length(cost, free);
  *kind = Speculation::kEarlyExit;
  if (count == 0) return Status::kOk;
  const size_t pending = speculation_.text().size() - speculation_.drafts().size() - 1;
  const size_t end = speculation_.drafts().size() + count;
  for (size_t ahead = 0; ahead < end; ++ahead) {
    std::span<const float> logits;
    SOTTO_TRY(context_.draft_by_first_layers(speculation_.text()[pending + ahead], static_cast<uint32_t>(ahead), layers,
                                             cancelled_, &logits));
    if (ahead == speculation_.drafts().size() && !draft_from(logits)) break;
  }
  return Status::kOk;
}

// What the model would have said behind the drafts it did not take.
void Session::keep_guesses() {
  const auto drafts = context_.drafts();
  std::array<int32_t, KvSequence::kMaxDraftTokens + 1> tokens;
  std::array<int32_t, KvSequence::kMaxDraftTokens>& guesses = speculation_.guesses;
  const size_t vocabulary = model_->config().vocabulary_size;
  for (size_t i = 0; i < drafts.size(); ++i) {
    const auto logits = context_.forward().logits(context_.batch_row_count() + i);
    guesses[i] = static_cast<int32_t>(model_->kernels().argmax(logits.data(), vocabulary));
  }
  speculation_.guess_count = drafts.size();
  for (size_t i = 0; i < drafts.size(); ++i) {
    const std::span<const int32_t> rest = {guesses.data() + i, drafts.size() - i};
    tokens[0] = drafts[i];
    std::copy(rest.begin(), rest.end(), tokens.begin() + 1);
    speculation_.pool.add({tokens.data(), rest.size() + 1});
    speculation_.pool.add(rest);
  }
}

// N-grams of earlier guesses; where there are none, the guesses for these places; and where
// these end, anything, for the model to guess behind.
void Session::draft_by_lookahead(size_t room, Speculation::Kind* kind) {
  const size_t before = speculation_.drafts().size();
  const size_t count = speculation_.paces[Speculation::kLookahead].length(kRowCost, room - before);
  *kind = Speculation::kLookahead;
  const size_t end = before + count;
  while (speculation_.drafts().size() < end) {
    const auto found = speculation_.pool.find(speculation_.text().back());
    if (found.empty()) break;
    for (const int32_t token : found.first(std::min(found.size(), end - speculation_.drafts().size()))) {
      speculation_.add(token);
    }
  }
  for (size_t i = speculation_.drafts().size(); i < end; ++i) {
    const bool guessed = before == 0 && i < speculation_.guess_count;
    speculation_.add(guessed ? speculation_.guesses[i] : speculation_.text().back());
  }
}

// Cuts drafts that the constraint refuses.
void Session::drop_misfits(size_t first) {
  if (constraint_.test_text == nullptr || !healing_.is_over()) return;
  std::array<char, kForcedBytes> text;
  size_t size = 0;
  for (size_t i = 0; i < speculation_.drafts().size(); ++i) {
    const auto bytes = bytes_of(speculation_.drafts()[i]);
    bool fits = !bytes.empty() && bytes.size() <= text.size() - size;
    if (fits) {
      std::copy(bytes.begin(), bytes.end(), text.begin() + static_cast<ptrdiff_t>(size));
      size += bytes.size();
    }
    if (fits && i >= first) {
      const std::span<const char> whole = {text.data(), size};
      fits = constraint_.test_text(constraint_.self, 0, whole, &fits) == Status::kOk && fits;
    }
    if (!fits) return speculation_.drop_from(i);
  }
}

}  // namespace sotto
