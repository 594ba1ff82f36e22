#include "runtime/session/drafting.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/clock.h"
#include "runtime/base/range_check.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/log_probabilities.h"
#include "runtime/text/tokenizer.h"

namespace sotto {
namespace {

// Cost of each additional row of a batch, relative to evaluating a single token.
constexpr float kRowCost = 0.06f;

// Maximum size in bytes of the forced text that one batch drafts.
constexpr size_t kForcedBytes = 256;

// Returns the number of weights in the first `layer_count` layers and the head.
float weight_count(const ModelConfig& config, uint32_t layer_count) {
  const float width = static_cast<float>(config.embedding_size);
  const float layer = (4 * width + 2 * static_cast<float>(config.feed_forward_size)) * width;
  return static_cast<float>(layer_count) * layer + static_cast<float>(config.vocabulary_size) * width;
}

Status check_source(const SpeculationParams& params, uint32_t source, bool is_given, const char* message,
                    Error* error) {
  if ((params.sources & source) == 0 || is_given) return Status::kOk;
  return fail(error, Status::kInvalidArgument, message);
}

}  // namespace

void DraftPace::restart() {
  rate_ = kFirstRate;
  pause_ = kFirstPause;
  waited_ = 0;
}

size_t DraftPace::length(float cost, size_t max_length) {
  // The probability must exceed the cost by this factor. At 1, a draft would on average save just what it costs.
  constexpr float kMargin = 1.5f;
  size_t worth = 0;
  for (float chance = rate_; worth < max_length && chance > kMargin * cost; chance *= rate_) ++worth;
  is_too_costly_ = kMargin * cost >= 1;
  if (worth > 0 || max_length == 0) return worth;
  if (++waited_ < pause_) return 0;
  waited_ = 0;
  return 1;
}

void DraftPace::report(size_t accepted, bool rejected) {
  constexpr float kRevivedRate = 0.35f;  // minimum rate after a success, so that cheap drafts get longer again
  constexpr float kGain = 0.15f;         // part of the distance to 1 by which an accepted draft moves the rate
  constexpr float kLoss = 0.2f;          // part of the distance to 0 by which a rejected draft moves it
  // Drafts are still tried now and then after failures, because the text may change. If they are too costly, only an
  // overestimated cost can make them pay, and a drafting session must first evaluate all tokens since its last draft.
  const uint32_t longest_pause = is_too_costly_ ? 1 << 20 : 64;
  for (size_t i = 0; i < accepted; ++i) rate_ += (1 - rate_) * kGain;
  if (accepted > 0 && !is_too_costly_) {
    pause_ = kFirstPause;
    rate_ = std::max(rate_, kRevivedRate);
  }
  if (rejected) rate_ -= rate_ * kLoss;
  if ((rejected && accepted == 0) || is_too_costly_) pause_ = std::min(2 * pause_, longest_pause);
}

void Drafting::layout(Arena& arena, uint32_t context_tokens, uint32_t draft_tokens) {
  tokens_.layout(arena, context_tokens, draft_tokens > 0);
  pool_.layout(arena, draft_tokens > 0);
}

void Drafting::init() {
  SpeculationParams none;
  none.sources = 0;
  set_params(none, nullptr);
}

Status Drafting::check(const SpeculationParams& params, Error* error) const {
  const uint32_t max_drafts = stream_->params().draft_tokens;
  if (max_drafts == 0) {
    return fail(error, Status::kInvalidState, "draft_tokens: the session has no memory for speculation");
  }
  SOTTO_TRY(check_ranges(params, error));
  SOTTO_TRY(check_range("draft_tokens", params.draft_tokens, 0, max_drafts, error));
  if (params.min_match < 1 || params.min_match > params.max_match) {
    return fail(error, Status::kInvalidArgument, "min_match is ", params.min_match,
                "; it must be from 1 to max_match, which is ", params.max_match);
  }
  const uint32_t layers = stream_->model().config().layer_count;
  const bool exits = (params.sources & kDraftEarlyExit) != 0;
  if (exits && (params.exit_layer >= layers || layers < 2)) {
    return fail(error, Status::kInvalidArgument, "exit_layer is ", params.exit_layer, "; it must be below the model's ",
                layers, " layers");
  }
  SOTTO_TRY(
      check_source(params, kDraftCallback, params.draft != nullptr, "draft is NULL with SOTTO_DRAFT_CALLBACK", error));
  return check_source(params, kDraftSession, params.draft_session != nullptr,
                      "draft_session is NULL with SOTTO_DRAFT_SESSION", error);
}

void Drafting::set_params(const SpeculationParams& params, TokenStream* drafter) {
  if (stream_->params().draft_tokens == 0) return;
  params_ = params;
  if (params_.draft_tokens == 0) params_.draft_tokens = stream_->params().draft_tokens;
  if (params_.exit_layer == 0) params_.exit_layer = (stream_->model().config().layer_count + 2) / 3;
  drafter_ = drafter;
  run_.count = guess_count_ = 0;
  for (DraftPace& pace : paces_) pace.restart();
  pool_.clear();
}

void Drafting::drop_drafter() {
  drafter_ = nullptr;
  params_.sources &= ~kDraftSession;
}

Status Drafting::evaluate_ahead() {
  KvSequence& kv = stream_->kv();
  if (!stream_->has_pending() || stream_->params().draft_tokens == 0) return Status::kOk;
  // If tokens were rejected here, the text may end before the pending token is needed, so it is not evaluated ahead.
  if (!output_->rejections().empty()) return Status::kOk;
  // The last batch has already evaluated the pending token as a draft.
  if (kv.is_drafted(stream_->token_at(stream_->token_count() - 1))) {
    accept_draft();
    return Status::kOk;
  }
  // Otherwise the last batch, if any, is finished: all its drafts are used, or the drawn token differs from the next
  // draft.
  const bool rejected = !kv.drafts().empty();
  if (rejected && (params_.sources & kDraftLookahead) != 0) learn_guesses();
  close_batch(rejected);
  DraftRun run;
  {
    Stopwatch stopwatch(&info_.draft_ns);
    SOTTO_TRY(cancellation_->consume(propose(&run)));
  }
  if (run.count == 0) return Status::kOk;
  run_ = run;
  ++info_.batch_count;
  info_.proposed_count += run.count;
  info_.forced_proposed_count += run.forced;
  return stream_->evaluate(cancellation_, tokens_.drafts());
}

void Drafting::accept_draft() {
  if (run_.accepted < run_.forced) ++info_.forced_accepted_count;
  ++run_.accepted;
  ++info_.accepted_count;
}

// Updates the estimates after a batch. `rejected` says whether the drawn token differs from the next draft.
void Drafting::close_batch(bool rejected) {
  if (run_.count > run_.forced && run_.accepted >= run_.forced) {
    paces_[run_.kind].report(run_.accepted - run_.forced, rejected);
  }
  run_.count = 0;
}

// Returns how many drafts the next batch may contain without exceeding the limit of the answer or the context.
size_t Drafting::capacity() const {
  const uint64_t limit = decoder_->token_limit();
  const uint64_t wanted = limit - std::min(limit, stream_->generated_count());
  const size_t max_drafts = std::min<size_t>(params_.draft_tokens, stream_->kv().draft_capacity());
  return static_cast<size_t>(std::min<uint64_t>(max_drafts, wanted - std::min<uint64_t>(wanted, 1)));
}

// The sources in order of precedence: the first one that finds any drafts provides them.
constexpr Drafting::Source Drafting::kSources[] = {
    {kDraftCallback, kCallback, &Drafting::draft_by_callback},
    {kDraftLookup, kShortMatch, &Drafting::draft_by_lookup},
    {kDraftSession, kSession, &Drafting::draft_by_session},
    {kDraftEarlyExit, kEarlyExit, &Drafting::draft_by_early_exit},
    {kDraftLookahead, kLookahead, &Drafting::draft_by_lookahead},
};

// Drafts the text that the constraint forces, then continues it with the first source that finds any drafts.
Status Drafting::propose(DraftRun* run) {
  const size_t max_drafts = capacity();
  tokens_.begin(stream_->history(stream_->params().context_tokens));
  sampler_state_ = stream_->last_state().sampler;
  if (max_drafts == 0) return Status::kOk;
  draft_forced(max_drafts);
  run->forced = tokens_.drafts().size();
  const size_t remaining = max_drafts - run->forced;
  for (const Source& source : kSources) {
    if ((params_.sources & source.bit) == 0 || remaining == 0 || tokens_.drafts().size() > run->forced) continue;
    run->kind = source.kind;
    SOTTO_TRY((this->*source.draft)(remaining, &run->kind));
  }
  if (tokens_.drafts().size() > run->forced) drop_disallowed(run->forced);
  run->count = tokens_.drafts().size();
  return Status::kOk;
}

// Drafts the text that the constraint forces, but without its last tokens if a longer token begins with them, because
// the sampler may prefer the longer one.
void Drafting::draft_forced(size_t max_drafts) {
  const TokenizerView* tokenizer = stream_->model().tokenizer();
  const TokenConstraint& constraint = stream_->constraint();
  if (!constraint.is_set() || tokenizer == nullptr || output_->healing_left() > 0) return;
  std::array<char, kForcedBytes> text;
  size_t size = 0;
  if (constraint.forced_text(0, text, &size) != Status::kOk || size == 0) return;
  std::array<int32_t, 2 * kForcedBytes> tokens;
  size_t count = 0;
  const std::span<const char> whole = {text.data(), size};
  if (encode(*tokenizer, whole, {}, tokens, &count, nullptr) != Status::kOk) return;
  const std::span<const int32_t> found = {tokens.data(), count};
  const size_t tail = std::min(count, Healing::kMaxTokens);
  count -= Healing::count_unfinished(*tokenizer, found.last(tail));
  for (size_t i = 0; i < std::min(count, max_drafts); ++i) tokens_.add(tokens[i]);
}

Status Drafting::draft_by_callback(size_t remaining, Kind* kind) {
  const size_t max_drafts = paces_[*kind].length(kRowCost, remaining);
  if (max_drafts == 0) return Status::kOk;
  KvSequence& kv = stream_->kv();
  const auto text = tokens_.all();
  const size_t before = tokens_.drafts().size();
  // The callback receives the hidden state of the last evaluated token, unless forced drafts follow that token in the
  // text.
  std::span<const float> hidden;
  if (kv.batch_row_count() > 0 && before == 0) hidden = kv.forward().final_states(kv.batch_row_count() - 1, 1);
  const auto drafts = tokens_.space().first(max_drafts);
  const size_t given = params_.draft(params_.user_data, text.data(), text.size(), hidden.data(), hidden.size(),
                                     drafts.data(), max_drafts);
  if (given > max_drafts) return Status::kOk;
  const uint32_t vocabulary = stream_->model().config().vocabulary_size;
  const auto end = std::find_if(drafts.begin(), drafts.begin() + static_cast<ptrdiff_t>(given),
                                [&](int32_t token) { return !is_token(token, vocabulary); });
  tokens_.truncate(before + static_cast<size_t>(end - drafts.begin()));
  return Status::kOk;
}

Status Drafting::draft_by_lookup(size_t remaining, Kind* kind) {
  const LookupMatch match = find_latest_match(tokens_.all(), params_.min_match, params_.max_match);
  if (match.size == 0) return Status::kOk;
  *kind = match.size <= 2 ? kShortMatch : match.size <= 4 ? kMatch : kLongMatch;
  const size_t count = paces_[*kind].length(kRowCost, remaining);
  // If the match is close to the end of the text, the loop also reads drafts that it has just added, so that they
  // continue a repetition.
  for (size_t i = 0; i < count; ++i) tokens_.add(tokens_.all()[match.next + i]);
  return Status::kOk;
}

Status Drafting::draft_by_session(size_t remaining, Kind* kind) {
  const ModelConfig& config = stream_->model().config();
  const ModelConfig& other = drafter_->model().config();
  const float cost = kRowCost + weight_count(other, other.layer_count) / weight_count(config, config.layer_count);
  const size_t count = paces_[*kind].length(cost, remaining);
  for (size_t i = 0; i < count; ++i) {
    const auto text = tokens_.all();
    const uint64_t end = stream_->token_count() + tokens_.drafts().size();
    SOTTO_TRY(drafter_->mirror(text, end - text.size(), cancellation_));
    if (!draft_from(drafter_->kv().logits())) break;
  }
  return Status::kOk;
}

// Drafts by early exit (self-speculative decoding): applies the head to the output of the first exit_layer layers.
Status Drafting::draft_by_early_exit(size_t remaining, Kind* kind) {
  const ModelConfig& config = stream_->model().config();
  const float cost = kRowCost + weight_count(config, params_.exit_layer) / weight_count(config, config.layer_count);
  const size_t count = paces_[*kind].length(cost, remaining);
  if (count == 0) return Status::kOk;
  const size_t pending = tokens_.all().size() - tokens_.drafts().size() - 1;
  const size_t end = tokens_.drafts().size() + count;
  for (size_t ahead = 0; ahead < end; ++ahead) {
    std::span<const float> logits;
    SOTTO_TRY(stream_->kv().draft_by_first_layers(tokens_.all()[pending + ahead], static_cast<uint32_t>(ahead),
                                                  params_.exit_layer, *cancellation_, &logits));
    if (ahead == tokens_.drafts().size() && !draft_from(logits)) break;
  }
  return Status::kOk;
}

// Samples one draft from `logits` as the session's own sampler would, and adds it. Returns false if the draft is too
// unlikely or would end the text.
bool Drafting::draft_from(std::span<const float> logits) {
  const Kernels& kernels = stream_->model().kernels();
  Sampler& sampler = decoder_->sampler();
  const size_t ahead = tokens_.drafts().size();
  SampleInput input = decoder_->sample_input();
  input.history = TokenHistory(tokens_.all(), {}).last(stream_->params().context_tokens);
  input.place += ahead;
  input.generated_count += ahead;
  if (ahead > 0) input.rejected_count = 0;
  TokenMask mask;
  const bool has_tokens = ahead == 0 ? decoder_->find_mask(&mask) == Status::kOk : sampler.constrain(input, &mask);
  if (!has_tokens) return false;
  // With a logits callback, drafts are greedy: the callback must see the logits of the session only, not those of the
  // drafter.
  const SamplerParams& params = sampler.params();
  const bool can_sample = params.logits_callback == nullptr && params.logits_processor == nullptr;
  const int32_t token = can_sample ? sampler.sample(logits, mask, input, &sampler_state_).token
                                   : static_cast<int32_t>(kernels.argmax(logits.data(), logits.size()));
  if (decoder_->check_end(token) != Status::kOk) return false;
  if (params_.draft_threshold > 0) {
    const double p = LogProbabilities(kernels, logits).of(token);
    if (p < ln(static_cast<double>(params_.draft_threshold))) return false;
  }
  tokens_.add(token);
  return true;
}

// Adds the n-grams that the model predicted after rejected drafts to the pool.
void Drafting::learn_guesses() {
  KvSequence& kv = stream_->kv();
  const auto drafts = kv.drafts();
  std::array<int32_t, KvSequence::kMaxDraftTokens + 1> tokens;
  const size_t vocabulary = stream_->model().config().vocabulary_size;
  for (size_t i = 0; i < drafts.size(); ++i) {
    const auto logits = kv.forward().logits(kv.batch_row_count() + i);
    guesses_[i] = static_cast<int32_t>(stream_->model().kernels().argmax(logits.data(), vocabulary));
  }
  guess_count_ = drafts.size();
  for (size_t i = 0; i < drafts.size(); ++i) {
    const std::span<const int32_t> rest = {guesses_.data() + i, drafts.size() - i};
    tokens[0] = drafts[i];
    std::copy(rest.begin(), rest.end(), tokens.begin() + 1);
    pool_.add({tokens.data(), rest.size() + 1});
    pool_.add(rest);
  }
}

// Drafts an n-gram from the pool, then the guesses for the next places, and then arbitrary tokens. The model's
// predictions after these drafts are the next n-grams and guesses (Jacobi iteration).
Status Drafting::draft_by_lookahead(size_t remaining, Kind* kind) {
  const size_t before = tokens_.drafts().size();
  const size_t end = before + paces_[*kind].length(kRowCost, remaining);
  while (tokens_.drafts().size() < end) {
    const auto found = pool_.find(tokens_.all().back());
    if (found.empty()) break;
    for (const int32_t token : found.first(std::min(found.size(), end - tokens_.drafts().size()))) tokens_.add(token);
  }
  for (size_t i = tokens_.drafts().size(); i < end; ++i) {
    const bool guessed = before == 0 && i < guess_count_;
    tokens_.add(guessed ? guesses_[i] : tokens_.all().back());
  }
  return Status::kOk;
}

// Drops the first draft that the constraint rejects, and all drafts after it.
void Drafting::drop_disallowed(size_t first) {
  const TokenConstraint& constraint = stream_->constraint();
  if (!constraint.is_set() || output_->healing_left() > 0) return;
  std::array<char, kForcedBytes> text;
  size_t size = 0;
  for (size_t i = 0; i < tokens_.drafts().size(); ++i) {
    const auto bytes = stream_->bytes_of(tokens_.drafts()[i]);
    bool fits = !bytes.empty() && bytes.size() <= text.size() - size;
    if (fits) {
      std::copy(bytes.begin(), bytes.end(), text.begin() + static_cast<ptrdiff_t>(size));
      size += bytes.size();
    }
    if (fits && i >= first) {
      const std::span<const char> whole = {text.data(), size};
      fits = constraint.test_text(0, whole, &fits) == Status::kOk && fits;
    }
    if (!fits) return tokens_.truncate(i);
  }
}

}  // namespace sotto
