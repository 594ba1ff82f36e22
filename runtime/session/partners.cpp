#include "runtime/session/partners.h"

namespace sotto {
namespace {

Status check_partner(const Session& client, const Session& partner, const char* name, Error* error) {
  if (&partner == &client) {
    return fail(error, Status::kInvalidArgument, name, " is the session itself; it must be another session");
  }
  const uint32_t own = client.token_stream().model().config().vocabulary_size;
  const uint32_t other = partner.token_stream().model().config().vocabulary_size;
  if (own == other) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, ": its vocabulary_size is ", other, "; it must be the session's, ",
              own);
}

}  // namespace

bool Partners::is_guide(const Session& session) {
  return session.client_ != nullptr && session.client_->guide_ == &session;
}

bool Partners::is_drafter(const Session& session) {
  return session.client_ != nullptr && session.client_->drafter_ == &session;
}

Status Partners::check_guide(const Session& client, const Session& guide, Error* error) {
  if ((client.stream_.params().features & kFeatureGuide) == 0) {
    return fail(error, Status::kInvalidState, "features: the session was created without SOTTO_FEATURE_GUIDE");
  }
  SOTTO_TRY(check_partner(client, guide, "guide", error));
  const char* reason = nullptr;
  if (guide.guide_ != nullptr || is_guide(client)) {
    reason = "guide has a guide itself, or the session is a guide";
  } else if (is_guide(guide) && guide.client_ != &client) {
    reason = "guide already guides another session";
  } else if (is_drafter(guide)) {
    reason = "guide is the draft session of another session";
  } else if (is_drafter(client)) {
    reason = "guide is set, but the session is a draft session itself";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

Status Partners::check_drafter(const Session& client, const Session& drafter, Error* error) {
  SOTTO_TRY(check_partner(client, drafter, "draft_session", error));
  const char* reason = nullptr;
  if (drafter.guide_ != nullptr || is_guide(drafter) || drafter.drafter_ != nullptr) {
    reason = "draft_session has a guide or a draft session, or is a guide";
  } else if (is_drafter(drafter) && drafter.client_ != &client) {
    reason = "draft_session already drafts for another session";
  } else if (is_drafter(client)) {
    reason = "draft_session is set, but the session is a draft session itself";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

void Partners::release_guide(Session* client) {
  if (client->guide_ != nullptr) client->guide_->client_ = nullptr;
  client->guide_ = nullptr;
  client->stream_.set_guide(nullptr);
}

void Partners::release_drafter(Session* client) {
  if (client->drafter_ == nullptr) return;
  client->drafter_->client_ = nullptr;
  client->drafter_->reset();
  client->drafter_ = nullptr;
  client->drafting_.drop_drafter();
}

Status Partners::link_guide(Session* client, Session* guide, const GuideParams& params, Error* error) {
  if (guide != nullptr) {
    SOTTO_TRY(check_ranges(params, error));
    SOTTO_TRY(check_guide(*client, *guide, error));
    SOTTO_TRY(client->output_.check_roll_back(error));
    SOTTO_TRY(guide->output_.check_roll_back(error));
  }
  // A guide can always be removed, even if buffered tokens cannot be rolled back.
  client->output_.try_roll_back();
  release_guide(client);
  if (guide == nullptr) return Status::kOk;
  guide->output_.try_roll_back();
  client->guide_ = guide;
  guide->client_ = client;
  client->stream_.set_guide(&guide->stream_);
  client->decoder_.set_guide_params(params);
  return Status::kOk;
}

Status Partners::link_drafter(Session* client, Session* drafter, const SpeculationParams& params, Error* error) {
  if (params.sources != 0) SOTTO_TRY(client->drafting_.check(params, error));
  if (drafter != nullptr) SOTTO_TRY(check_drafter(*client, *drafter, error));
  release_drafter(client);
  if (drafter != nullptr) {
    client->drafter_ = drafter;
    drafter->client_ = client;
    drafter->reset();
  }
  client->drafting_.set_params(params, drafter == nullptr ? nullptr : &drafter->stream_);
  return Status::kOk;
}

void Partners::unlink(Session* session) {
  if (is_guide(*session)) release_guide(session->client_);
  if (is_drafter(*session)) release_drafter(session->client_);
  release_guide(session);
  release_drafter(session);
}

}  // namespace sotto
