#include "runtime/session/partners.h"

#include "runtime/session/session_parts.h"

namespace sotto {

bool Partners::has_empty_guide() const { return guide_ != nullptr && guide_->stream.token_count() == 0; }

bool Partners::is_guide() const { return client_ != nullptr && client_->partners.guide_ == &own_; }

bool Partners::is_drafter() const { return client_ != nullptr && client_->partners.drafter_ == &own_; }

Status Partners::check(const SessionParts& partner, const char* name, Error* error) const {
  if (&partner == &own_) {
    return fail(error, Status::kInvalidArgument, name, " is the session itself; it must be another session");
  }
  const uint32_t own = own_.stream.model().config().vocabulary_size;
  const uint32_t other = partner.stream.model().config().vocabulary_size;
  if (own == other) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, ": its vocabulary_size is ", other, "; it must be the session's, ",
              own);
}

Status Partners::check_guide(const SessionParts& guide, Error* error) const {
  if ((own_.stream.params().features & kFeatureGuide) == 0) {
    return fail(error, Status::kInvalidState, "features: the session was created without SOTTO_FEATURE_GUIDE");
  }
  SOTTO_TRY(check(guide, "guide", error));
  const Partners& other = guide.partners;
  const char* reason = nullptr;
  if (other.guide_ != nullptr || is_guide()) {
    reason = "guide has a guide itself, or the session is a guide";
  } else if (other.is_guide() && other.client_ != &own_) {
    reason = "guide already guides another session";
  } else if (other.is_drafter()) {
    reason = "guide is the draft session of another session";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

Status Partners::check_drafter(const SessionParts& drafter, Error* error) const {
  SOTTO_TRY(check(drafter, "draft_session", error));
  const Partners& other = drafter.partners;
  const char* reason = nullptr;
  if (other.guide_ != nullptr || other.is_guide() || other.drafter_ != nullptr) {
    reason = "draft_session has a guide or a draft session, or is a guide";
  } else if (other.is_drafter() && other.client_ != &own_) {
    reason = "draft_session already drafts for another session";
  } else if (is_drafter()) {
    reason = "draft_session is set, but the session is a draft session itself";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

Status Partners::set_guide(SessionParts* guide, const GuideParams& params, Error* error) {
  if (guide != nullptr) {
    SOTTO_TRY(check_ranges(params, error));
    SOTTO_TRY(check_guide(*guide, error));
  }
  // Buffered tokens that cannot be rolled back do not keep a guide from being removed.
  const Status status = own_.output->roll_back(guide == nullptr ? nullptr : error);
  if (guide != nullptr) {
    SOTTO_TRY(status);
    SOTTO_TRY(guide->output->roll_back(error));
  }
  release_guide();
  if (guide != nullptr) {
    guide_ = guide;
    guide_->partners.client_ = &own_;
    own_.stream.set_guide(&guide->stream);
  }
  own_.decoder.set_guide_params(params);
  return Status::kOk;
}

void Partners::release_guide() {
  if (guide_ != nullptr) guide_->partners.client_ = nullptr;
  guide_ = nullptr;
  own_.stream.set_guide(nullptr);
}

Status Partners::set_speculation(const SpeculationParams& params, SessionParts* drafter, Error* error) {
  if (params.sources != 0) SOTTO_TRY(own_.drafting.check(params, error));
  if (drafter != nullptr) SOTTO_TRY(check_drafter(*drafter, error));
  release_drafter();
  if (drafter != nullptr) {
    drafter_ = drafter;
    drafter_->partners.client_ = &own_;
    drafter_->reset();
  }
  own_.drafting.set_params(params, drafter == nullptr ? nullptr : &drafter->stream);
  return Status::kOk;
}

void Partners::release_drafter() {
  if (drafter_ == nullptr) return;
  drafter_->partners.client_ = nullptr;
  drafter_->reset();
  drafter_ = nullptr;
  own_.drafting.drop_drafter();
}

void Partners::unlink() {
  if (is_guide()) client_->partners.release_guide();
  if (is_drafter()) client_->partners.release_drafter();
  release_guide();
  release_drafter();
}

}  // namespace sotto
