// The next token of a session: the mask, the draw, and what must be settled before it is
// handed out.
#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

#include "runtime/base/clock.h"
#include "runtime/sampling/repetition_severity.h"
#include "runtime/session/dola.h"
#include "runtime/session/session.h"

namespace sotto {
namespace {

// Random numbers of a place where tokens have been refused: not those of the first draw,
// under which what is left would not be drawn in proportion.
constexpr uint32_t kRefusalSequence = 0x80000000;

bool is_failure(Status status) { return static_cast<int32_t>(status) < 0; }

void allow_all(uint64_t* words, size_t token_count) {
  const size_t count = TokenMask::word_count(token_count);
  std::fill_n(words, count, ~uint64_t{0});
  if (token_count % 64 != 0) words[count - 1] = (uint64_t{1} << (token_count % 64)) - 1;
}

bool any(const uint64_t* words, size_t token_count) {
  const size_t count = TokenMask::word_count(token_count);
  return std::any_of(words, words + count, [](uint64_t word) { return word != 0; });
}

}  // namespace

Status Session::next() {
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  piece_ = {"", 0, -1, kUnknown, kUnknown, 0, nullptr, "", 0, 0};
  if (token_count() == 0) return Status::kInvalidState;
  if (lost_ != Status::kOk) return lost_;
  if (take_cancellation()) return stop(Status::kStopCancelled);
  const Status status = draw_until_settled();
  if (is_failure(status)) return status;
  if (status != Status::kOk) return stop(status);
  return held_.empty() ? stop(end_) : hand_out();
}

Status Session::generate(std::span<const int32_t> prompt, uint64_t max_tokens, PieceFunction on_piece,
                         void* user_data) {
  if (!prompt.empty()) SOTTO_TRY(prefill(prompt));
  (void)take_back_held();                    // drawn without this call's limit
  const uint64_t outer_limit = call_limit_;  // of a call that this one is made from
  const uint64_t generated = handed_out() - answer_start_;
  call_limit_ = generated + std::min(max_tokens, UINT64_MAX - generated);
  Status status = Status::kOk;
  while (status == Status::kOk) {
    status = next();
    if (is_failure(status) || on_piece == nullptr) continue;
    if (status != Status::kOk && piece_.text_size == 0) continue;
    if (on_piece(user_data, piece_) != 0 && status == Status::kOk) status = Status::kStopCallback;
  }
  call_limit_ = outer_limit;
  if (end_ == Status::kStopMaxTokens) end_ = Status::kOk;  // held tokens ended at the limit
  return status;
}

// Draws tokens until the oldest one held may go, or the text ends behind those held.
Status Session::draw_until_settled() {
  while (end_ == Status::kOk && !oldest_is_settled()) {
    const Status status = draw();
    if (status == Status::kOk) continue;
    if (is_failure(status) || status == Status::kStopCancelled) return status;
    if (status == Status::kStopBanned && !refuse_newest_) {
      refuse_newest_ = true;
      refused_.forget_from(token_count());
    } else if (status == Status::kStopBanned && !held_.empty()) {
      SOTTO_TRY(refuse(held_.size() - 1));
    } else {
      end_ = status;
    }
  }
  return Status::kOk;
}

bool Session::oldest_is_settled() const {
  return !held_.empty() && (held_.full() || held_[0].mark.end <= text_.bannable_from());
}

// One more token for the stream, or why there is none.
Status Session::draw() {
  const uint64_t begin_ns = monotonic_ns();
  SOTTO_TRY(check_limits());
  SOTTO_TRY(evaluate_ahead());
  TokenMask mask;
  SOTTO_TRY(find_mask(&mask));
  std::span<const float> logits;
  SOTTO_TRY(find_logits(mask, &logits));
  TokenState state;
  state.sampler = states_[token_count() - 1].sampler;
  SampledToken sampled;
  {
    Stopwatch stopwatch(&timings_.sample_ns);
    ++timings_.sample_count;
    sampled = sampler_.sample(logits, mask, sample_input(), &state.sampler);
  }
  SOTTO_TRY(check_end(sampled.token));
  return take_token(sampled, state, begin_ns);
}

Status Session::check_limits() const {
  const uint64_t generated = token_count() - answer_start_;
  if (generated >= call_limit_) return Status::kStopMaxTokens;
  if (stops_.max_tokens() != 0 && generated >= stops_.max_tokens()) return Status::kStopMaxTokens;
  if (stops_.max_time_ns() != 0 && monotonic_ns() - answer_begin_ns_ >= stops_.max_time_ns()) {
    return Status::kStopTime;
  }
  if (stops_.repetition_limit() > 0 && generated > 0) {
    const TokenHistory history = this->history(stops_.repetition_window());
    if (repetition_severity(history, stops_.repetition_window()) > stops_.repetition_limit()) {
      return Status::kStopRepetition;
    }
  }
  return Status::kOk;
}

// The newest tokens, the pending one among them.
TokenHistory Session::history(uint64_t count) const {
  std::span<const int32_t> older, newer;
  context_.newest(count, &older, &newer);
  if (!has_pending_) return {older, newer};
  return TokenHistory(older, newer, {&pending_, 1}).last(static_cast<size_t>(count));
}

// What may follow: by the constraint, by healing, and without the tokens refused here.
Status Session::find_mask(TokenMask* mask) {
  Stopwatch stopwatch(&timings_.sample_ns);
  const size_t vocabulary = model_->config().vocabulary_size;
  if (constraint_.mask != nullptr && constraint_.complete(constraint_.self, 0)) {
    return Status::kStopGrammar;
  }
  const auto refused = refused_.at(token_count());
  if (!healing_.is_over()) {
    SOTTO_TRY(find_healing_mask());
  } else {
    if (constraint_.mask != nullptr) SOTTO_TRY(constraint_.mask(constraint_.self, 0, mask));
    if (refused.empty()) return Status::kOk;
    if (mask->allows_all()) {
      allow_all(mask_words_, vocabulary);
    } else {
      std::copy_n(mask->words, TokenMask::word_count(vocabulary), mask_words_);
    }
  }
  for (const RefusedTokens::Refusal& refusal : refused) {
    const auto token = static_cast<size_t>(refusal.token);
    mask_words_[token / 64] &= ~(uint64_t{1} << (token % 64));
  }
  *mask = {mask_words_, vocabulary};
  return any(mask_words_, vocabulary) ? Status::kOk : Status::kStopBanned;
}

// Tokens that spell what is due of the prompt; where they go on, as the constraint allows.
Status Session::find_healing_mask() {
  const size_t word_count = TokenMask::word_count(model_->config().vocabulary_size);
  std::fill_n(mask_words_, word_count, 0);
  healing_.allow(*model_->tokenizer(), mask_words_);
  for (size_t i = 0; i < word_count && constraint_.mask != nullptr; ++i) {
    for (uint64_t rest = mask_words_[i]; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(rest));
      const auto bytes = bytes_of(static_cast<int32_t>(64 * i + bit));
      const auto text = bytes.subspan(healing_.hidden(bytes.size()));
      bool fits = true;
      if (!text.empty()) SOTTO_TRY(constraint_.test_text(constraint_.self, 0, text, &fits));
      if (!fits) mask_words_[i] &= ~(uint64_t{1} << bit);
    }
  }
  return any(mask_words_, model_->config().vocabulary_size) ? Status::kOk : Status::kGrammarDeadEnd;
}

SampleInput Session::sample_input() const {
  SampleInput input;
  input.history = history(params_.context_tokens);
  input.draw = token_count();
  const auto refused = refused_.at(input.draw).size();
  if (refused > 0) input.sequence = kRefusalSequence + static_cast<uint32_t>(refused);
  input.generated_count = token_count() - answer_start_;
  input.token_limit = call_limit_ == UINT64_MAX ? 0 : call_limit_;
  if (stops_.max_tokens() != 0) input.token_limit = std::min(call_limit_, stops_.max_tokens());
  return input;
}

// Whether nobody looks at the logits of a token that is not allowed.
bool Session::sees_only_allowed() const {
  const SamplerParams& params = sampler_.params();
  return !params.log_probabilities && params.alternative_count == 0 && params.dola == DolaLayers::kOff &&
         guide_ == nullptr;
}

// The row that the sampler sees: where the mask leaves little of it, only that.
Status Session::find_logits(const TokenMask& mask, std::span<const float>* logits) {
  if (sees_only_allowed() && context_.forward().pays_to_restrict(mask)) {
    SOTTO_TRY(evaluate_pending(&cancelled_, {}, /*want_logits=*/false));
    if (!context_.has_logits()) {
      Stopwatch stopwatch(&timings_.decode_ns);
      const Status status = context_.compute_allowed_logits(mask, cancelled_, logits);
      if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
      return status;
    }
  }
  SOTTO_TRY(ensure_logits(&cancelled_));
  return mix_logits(logits);
}

// The row that the sampler sees.
Status Session::mix_logits(std::span<const float>* logits) {
  *logits = context_.logits();
  if (sampler_.params().dola != DolaLayers::kOff) {
    SOTTO_TRY(context_.ensure_last_row(cancelled_));
    SOTTO_TRY(context_.ensure_logits(cancelled_));
    SOTTO_TRY(contrast_layers(&context_, *model_, sampler_.params(), mixed_logits_));
    *logits = {mixed_logits_, logits->size()};
  }
  if (guide_ == nullptr) return Status::kOk;
  if (guide_->token_count() == 0) return Status::kInvalidState;
  SOTTO_TRY(guide_->evaluate_pending(&cancelled_, context_.drafts()));
  SOTTO_TRY(guide_->ensure_logits(&cancelled_));
  mix_guide(model_->kernels(), guide_params_, *logits, guide_->context_.logits(), mixed_logits_);
  *logits = {mixed_logits_, logits->size()};
  return Status::kOk;
}

// Whether a token ends the text instead of becoming a part of the stream.
Status Session::check_end(int32_t token) const {
  if (token == model_->config().end_of_text_token) return Status::kStopEndOfText;
  return stops_.is_stop_token(token) ? Status::kStopToken : Status::kOk;
}

// Appends a token to the stream and to what is held.
Status Session::take_token(const SampledToken& sampled, TokenState state, uint64_t begin_ns) {
  state.flags = TokenState::kGenerated;
  SOTTO_TRY(constrain(sampled.token, &state));
  if (guide_ != nullptr) {
    guide_->push(sampled.token, {});
    state.flags |= TokenState::kGuided;
    ++guided_count_;
  }
  HeldToken& held = held_.push();
  describe(sampled, &held);
  push(sampled.token, state);
  const auto bytes = bytes_of(sampled.token);
  const TextStream::Found found = text_.append(bytes, healing_.hidden(bytes.size()));
  healing_.advance(bytes.size());
  held.mark = text_.mark();
  held.elapsed_ns = monotonic_ns() - begin_ns;
  if (found == TextStream::Found::kStop) end_ = Status::kStopString;
  return found == TextStream::Found::kBan ? refuse(find_ban_start()) : Status::kOk;
}

// Has the constraint accept a token, or what healing does not hide of it.
Status Session::constrain(int32_t token, TokenState* state) {
  if (constraint_.mask == nullptr) return Status::kOk;
  Stopwatch stopwatch(&timings_.sample_ns);
  const auto bytes = bytes_of(token);
  const size_t hidden = healing_.hidden(bytes.size());
  if (hidden == 0) {
    SOTTO_TRY(constraint_.accept(constraint_.self, 0, token));
  } else if (hidden < bytes.size()) {
    SOTTO_TRY(constraint_.accept_text(constraint_.self, 0, bytes.subspan(hidden)));
  } else {
    return Status::kOk;
  }
  state->flags |= TokenState::kConstrained;
  ++constrained_count_;
  return Status::kOk;
}

// The token held that is to go: whose text the banned string begins in, if it is still held.
size_t Session::find_ban_start() const {
  const uint64_t start = text_.ban_start();
  size_t index = 0;
  if (refuse_newest_ || start < handed_out_mark_.end) return held_.size() - 1;
  while (held_[index].mark.end <= start) ++index;
  return index;
}

// What is reported beside the token, from the model's own logits.
void Session::describe(const SampledToken& sampled, HeldToken* held) const {
  held->token = sampled.token;
  held->log_probability = held->sampled_log_probability = std::numeric_limits<float>::quiet_NaN();
  held->alternative_count = 0;
  const SamplerParams& params = sampler_.params();
  if (!params.log_probabilities && params.alternative_count == 0) return;
  const LogProbabilities model(model_->kernels(), context_.logits());
  const size_t wanted = std::min(size_t{params.alternative_count}, kMaxAlternatives);
  held->alternative_count = static_cast<uint32_t>(model.find_likeliest({held->alternatives.data(), wanted}));
  if (!params.log_probabilities) return;
  held->log_probability = static_cast<float>(model.of(sampled.token));
  held->sampled_log_probability = sampled.sampled_log_probability;
}

// Takes a held token back, with those behind it, and keeps it from coming again there. Where
// the ring or the constraint cannot go back that far, the newest token stands for it; where
// they cannot go back at all, it stays in the stream, and the text ends before it.
Status Session::refuse(size_t index) {
  const uint64_t first = handed_out();
  const size_t newest = held_.size() - 1;
  if (take_back_to(first + index) != Status::kOk) {
    index = newest;
    if (take_back_to(first + newest) != Status::kOk) end_ = Status::kStopBanned;
  }
  const int32_t token = held_[index].token;
  text_.cut(index == 0 ? handed_out_mark_ : held_[index - 1].mark);
  if (end_ != Status::kOk) {
    held_[newest].mark = text_.mark();
    return Status::kOk;
  }
  held_.keep(index);
  rebuild_healing(token_count());
  if (!refused_.add(token_count(), token)) end_ = Status::kStopBanned;
  return Status::kOk;
}

// The oldest token held goes out, with the text that is settled by now.
Status Session::hand_out() {
  const uint64_t index = handed_out();
  const HeldToken& held = held_.pop();
  const uint64_t end = std::min(held.mark.end, text_.end());
  const auto text = text_.take(std::min(end, text_.held_from()));
  states_[index].untaken = static_cast<uint16_t>(end - std::min(end, text_.taken()));
  handed_out_mark_ = held.mark;
  refused_.settle(index + 1);
  refuse_newest_ = false;
  const auto bytes = bytes_of(held.token);
  piece_ = {text.data(),
            text.size(),
            held.token,
            held.log_probability,
            held.sampled_log_probability,
            held.alternative_count,
            held.alternatives.data(),
            bytes.data(),
            bytes.size(),
            held.elapsed_ns};
  return Status::kOk;
}

// Text that was held back comes out. A cancelled call may be followed by more of the same
// text, any other stop ends it.
Status Session::stop(Status reason) {
  const bool ends = reason != Status::kStopCancelled;
  if (ends) text_.finish();
  const auto text = text_.take(ends ? text_.end() : handed_out_mark_.end);
  piece_.text = text.data();
  piece_.text_size = text.size();
  if (const uint64_t count = handed_out(); count > 0) {
    states_[count - 1].untaken = 0;
    if (ends) states_[count - 1].flags |= TokenState::kTextEnd;
  }
  if (ends) {
    handed_out_mark_ = text_.mark();
    end_ = Status::kOk;
  }
  return reason;
}

}  // namespace sotto
