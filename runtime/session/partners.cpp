#include "runtime/session/partners.h"

#include "runtime/session/session.h"

namespace sotto {

Status Partners::check(const Partners& partner, const char* name, Error* error) const {
  if (&partner == this) {
    return fail(error, Status::kInvalidArgument, name, " is the session itself; it must be another session");
  }
  const uint32_t own = stream_->model().config().vocabulary_size;
  const uint32_t other = partner.stream_->model().config().vocabulary_size;
  if (own == other) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, ": its vocabulary_size is ", other, "; it must be the session's, ",
              own);
}

Status Partners::check_guide(const Partners& guide, Error* error) const {
  if ((stream_->params().features & kFeatureGuide) == 0) {
    return fail(error, Status::kInvalidState, "features: the session was created without SOTTO_FEATURE_GUIDE");
  }
  SOTTO_TRY(check(guide, "guide", error));
  const char* reason = nullptr;
  if (guide.guide_ != nullptr || is_guide()) {
    reason = "guide has a guide itself, or the session is a guide";
  } else if (guide.is_guide() && guide.client_ != this) {
    reason = "guide already guides another session";
  } else if (guide.is_drafter()) {
    reason = "guide is the draft session of another session";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

Status Partners::check_drafter(const Partners& drafter, Error* error) const {
  SOTTO_TRY(check(drafter, "draft_session", error));
  const char* reason = nullptr;
  if (drafter.guide_ != nullptr || drafter.is_guide() || drafter.drafter_ != nullptr) {
    reason = "draft_session has a guide or a draft session, or is a guide";
  } else if (drafter.is_drafter() && drafter.client_ != this) {
    reason = "draft_session already drafts for another session";
  } else if (is_drafter()) {
    reason = "draft_session is set, but the session is a draft session itself";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

Status Partners::set_guide(Partners* guide, const GuideParams& params, Error* error) {
  if (guide != nullptr) {
    SOTTO_TRY(check_ranges(params, error));
    SOTTO_TRY(check_guide(*guide, error));
  }
  const Status status = output_->roll_back(error);
  if (guide != nullptr) {
    SOTTO_TRY(status);
    SOTTO_TRY(guide->output_->roll_back(error));
  }
  release_guide();
  if (guide != nullptr) {
    guide_ = guide;
    guide_->client_ = this;
    stream_->set_guide(guide->stream_);
  }
  decoder_->set_guide_params(params);
  return Status::kOk;
}

void Partners::release_guide() {
  if (guide_ != nullptr) guide_->client_ = nullptr;
  guide_ = nullptr;
  stream_->set_guide(nullptr);
}

Status Partners::set_speculation(const SpeculationParams& params, Partners* drafter, Error* error) {
  if (params.sources != 0) SOTTO_TRY(drafting_->check(params, error));
  if (drafter != nullptr) SOTTO_TRY(check_drafter(*drafter, error));
  release_drafter();
  if (drafter != nullptr) {
    drafter_ = drafter;
    drafter_->client_ = this;
    drafter_->session_->reset();
  }
  drafting_->set_params(params, drafter == nullptr ? nullptr : drafter->stream_);
  return Status::kOk;
}

void Partners::release_drafter() {
  if (drafter_ == nullptr) return;
  drafter_->client_ = nullptr;
  drafter_->session_->reset();
  drafter_ = nullptr;
  drafting_->drop_drafter();
}

void Partners::leave() {
  if (is_guide()) client_->release_guide();
  if (is_drafter()) client_->release_drafter();
  release_guide();
  release_drafter();
}

}  // namespace sotto
