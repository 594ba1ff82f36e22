// Speculative decoding of a session: see speculation.h.
#include <algorithm>
#include <cassert>

#include "runtime/base/clock.h"
#include "runtime/session/session.h"

namespace sotto {
namespace {

Status check_source(const SpeculationParams& params, uint32_t source, bool is_given, const char* message,
                    Error* error) {
  if ((params.sources & source) == 0 || is_given) return Status::kOk;
  return fail(error, Status::kInvalidArgument, message);
}

}  // namespace

Status Session::check_speculation(const SpeculationParams& params, Error* error) const {
  const uint32_t most = params_.draft_tokens;
  if (most == 0) {
    return fail(error, Status::kInvalidState, "draft_tokens: the session has no memory for speculation");
  }
  if (params.sources > kAllDrafts) {
    return fail(error, Status::kInvalidArgument, "sources has bits that are no SOTTO_DRAFT_");
  }
  if (params.draft_tokens > most) {
    return fail(error, Status::kInvalidArgument, "draft_tokens is ", params.draft_tokens,
                ", the session has memory for ", most);
  }
  if (params.min_match < 1 || params.min_match > params.max_match || params.max_match > 64) {
    return fail(error, Status::kInvalidArgument, "min_match is ", params.min_match, ", max_match ", params.max_match,
                ": must be 1 to 64, in this order");
  }
  if (!(params.draft_threshold >= 0 && params.draft_threshold <= 1)) {
    return fail(error, Status::kInvalidArgument, "draft_threshold is ", params.draft_threshold, ", must be 0 to 1");
  }
  const uint32_t layers = model_->config().layer_count;
  const bool exits = (params.sources & kDraftEarlyExit) != 0;
  if (exits && (params.exit_layer >= layers || layers < 2)) {
    return fail(error, Status::kInvalidArgument, "exit_layer is ", params.exit_layer, ", must be below the model's ",
                layers, " layers");
  }
  SOTTO_TRY(
      check_source(params, kDraftCallback, params.draft != nullptr, "draft is NULL with SOTTO_DRAFT_CALLBACK", error));
  SOTTO_TRY(check_source(params, kDraftSession, params.draft_session != nullptr,
                         "draft_session is NULL with SOTTO_DRAFT_SESSION", error));
  return (params.sources & kDraftSession) == 0 ? Status::kOk : check_drafter(*params.draft_session, error);
}

Status Session::check_drafter(const Session& drafter, Error* error) const {
  if (&drafter == this) {
    return fail(error, Status::kInvalidArgument, "draft_session is the session itself");
  }
  if (drafter.guide_ != nullptr || drafter.guided_ != nullptr || drafter.drafter_ != nullptr) {
    return fail(error, Status::kInvalidArgument, "draft_session has a guide or a draft session, or is a guide");
  }
  if (drafter.drafted_ != nullptr && drafter.drafted_ != this) {
    return fail(error, Status::kInvalidArgument, "draft_session drafts for another session");
  }
  if (drafted_ != nullptr) {
    return fail(error, Status::kInvalidArgument, "draft_session: the session drafts for another");
  }
  const uint32_t own = model_->config().vocabulary_size;
  const uint32_t other = drafter.model_->config().vocabulary_size;
  if (own == other) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "draft_session: vocabulary_size is ", other, ", the session's ", own);
}

Status Session::set_speculation(const SpeculationParams& given, Error* error) {
  SpeculationParams params = given;
  if (params.sources != 0) SOTTO_TRY(check_speculation(params, error));
  if (params.draft_tokens == 0) params.draft_tokens = params_.draft_tokens;
  if (params.exit_layer == 0) params.exit_layer = (model_->config().layer_count + 2) / 3;
  lose_drafter();
  if ((params.sources & kDraftSession) != 0) {
    drafter_ = params.draft_session;
    drafter_->drafted_ = this;
    drafter_->reset();
  }
  if (params_.draft_tokens > 0) speculation_.set(params);
  return Status::kOk;
}

void Session::lose_drafter() {
  if (drafter_ == nullptr) return;
  drafter_->drafted_ = nullptr;
  drafter_->reset();
  drafter_ = nullptr;
  speculation_.params().sources &= ~kDraftSession;
}

// Evaluates the pending token, with drafts of what may follow it, unless an earlier batch has
// it already.
Status Session::evaluate_ahead() {
  if (!has_pending_ || params_.draft_tokens == 0) return Status::kOk;
  // Where tokens have been refused, the text may end before the pending one is evaluated.
  if (!refused_.at(token_count()).empty()) return Status::kOk;
  if (context_.is_drafted(pending_)) {
    speculation_.accept_one();
    return Status::kOk;
  }
  if (!context_.drafts().empty() && (speculation_.params().sources & kDraftLookahead) != 0) {
    keep_guesses();
  }
  speculation_.close_batch(!context_.drafts().empty());
  size_t forced = 0;
  Speculation::Kind kind = Speculation::kShortMatch;
  Status status;
  {
    Stopwatch stopwatch(&speculation_.info.draft_ns);
    status = propose(&forced, &kind);
  }
  if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
  SOTTO_TRY(status);
  const auto drafts = speculation_.drafts();
  if (drafts.empty()) return Status::kOk;
  speculation_.open_batch(forced, kind);
  return evaluate_pending(&cancelled_, drafts);
}

// How many drafts behind the pending token can be of use.
size_t Session::draft_room() const {
  uint64_t limit = call_limit_;
  if (stops_.max_tokens() != 0) limit = std::min(limit, stops_.max_tokens());
  const uint64_t wanted = limit - std::min(limit, token_count() - answer_start_);
  const size_t most = std::min<size_t>(speculation_.params().draft_tokens, context_.draft_capacity());
  return static_cast<size_t>(std::min<uint64_t>(most, wanted - std::min<uint64_t>(wanted, 1)));
}

// Fills speculation_.drafts(): what the constraint forces, then what the first source has that
// proposes anything.
Status Session::propose(size_t* forced, Speculation::Kind* kind) {
  const size_t room = draft_room();
  speculation_.begin(history(params_.context_tokens), states_[token_count() - 1].sampler);
  if (room == 0) return Status::kOk;
  draft_forced(room);
  *forced = speculation_.drafts().size();
  const uint32_t sources = speculation_.params().sources;
  const auto is_open = [&] { return speculation_.drafts().size() == *forced && *forced < room; };
  if ((sources & kDraftCallback) != 0 && is_open()) draft_by_callback(room, kind);
  if ((sources & kDraftLookup) != 0 && is_open()) draft_by_lookup(room, kind);
  if ((sources & kDraftSession) != 0 && is_open()) SOTTO_TRY(draft_by_session(room, kind));
  if ((sources & kDraftEarlyExit) != 0 && is_open()) SOTTO_TRY(draft_by_early_exit(room, kind));
  if ((sources & kDraftLookahead) != 0 && is_open()) draft_by_lookahead(room, kind);
  if (speculation_.drafts().size() > *forced) drop_misfits(*forced);
  return Status::kOk;
}

}  // namespace sotto
