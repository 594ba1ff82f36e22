#include "runtime/session/partners.h"

namespace sotto {
namespace {

bool is_guide(const SessionParts& parts) { return parts.client != nullptr && parts.client->guide == &parts; }

bool is_drafter(const SessionParts& parts) { return parts.client != nullptr && parts.client->drafter == &parts; }

Status check_partner(const SessionParts& client, const SessionParts& partner, const char* name, Error* error) {
  if (&partner == &client) {
    return fail(error, Status::kInvalidArgument, name, " is the session itself; it must be another session");
  }
  const uint32_t own = client.stream.model().config().vocabulary_size;
  const uint32_t other = partner.stream.model().config().vocabulary_size;
  if (own == other) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, ": its vocabulary_size is ", other, "; it must be the session's, ",
              own);
}

Status check_guide(const SessionParts& client, const SessionParts& guide, Error* error) {
  if ((client.stream.params().features & kFeatureGuide) == 0) {
    return fail(error, Status::kInvalidState, "features: the session was created without SOTTO_FEATURE_GUIDE");
  }
  SOTTO_TRY(check_partner(client, guide, "guide", error));
  const char* reason = nullptr;
  if (guide.guide != nullptr || is_guide(client)) {
    reason = "guide has a guide itself, or the session is a guide";
  } else if (is_guide(guide) && guide.client != &client) {
    reason = "guide already guides another session";
  } else if (is_drafter(guide)) {
    reason = "guide is the draft session of another session";
  } else if (is_drafter(client)) {
    reason = "guide is set, but the session is a draft session itself";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

Status check_drafter(const SessionParts& client, const SessionParts& drafter, Error* error) {
  SOTTO_TRY(check_partner(client, drafter, "draft_session", error));
  const char* reason = nullptr;
  if (drafter.guide != nullptr || is_guide(drafter) || drafter.drafter != nullptr) {
    reason = "draft_session has a guide or a draft session, or is a guide";
  } else if (is_drafter(drafter) && drafter.client != &client) {
    reason = "draft_session already drafts for another session";
  } else if (is_drafter(client)) {
    reason = "draft_session is set, but the session is a draft session itself";
  }
  return reason == nullptr ? Status::kOk : fail(error, Status::kInvalidArgument, reason);
}

void release_guide(SessionParts* client) {
  if (client->guide != nullptr) client->guide->client = nullptr;
  client->guide = nullptr;
  client->stream.set_guide(nullptr);
}

void release_drafter(SessionParts* client) {
  if (client->drafter == nullptr) return;
  client->drafter->client = nullptr;
  client->drafter->reset();
  client->drafter = nullptr;
  client->drafting.drop_drafter();
}

}  // namespace

Status link_guide(SessionParts* client, SessionParts* guide, const GuideParams& params, Error* error) {
  if (guide != nullptr) {
    SOTTO_TRY(check_ranges(params, error));
    SOTTO_TRY(check_guide(*client, *guide, error));
    SOTTO_TRY(client->output.check_roll_back(error));
    SOTTO_TRY(guide->output.check_roll_back(error));
  }
  // A guide can always be removed, even if buffered tokens cannot be rolled back.
  client->output.try_roll_back();
  release_guide(client);
  if (guide == nullptr) return Status::kOk;
  guide->output.try_roll_back();
  client->guide = guide;
  guide->client = client;
  client->stream.set_guide(&guide->stream);
  client->decoder.set_guide_params(params);
  return Status::kOk;
}

Status link_drafter(SessionParts* client, SessionParts* drafter, const SpeculationParams& params, Error* error) {
  if (params.sources != 0) SOTTO_TRY(client->drafting.check(params, error));
  if (drafter != nullptr) SOTTO_TRY(check_drafter(*client, *drafter, error));
  release_drafter(client);
  if (drafter != nullptr) {
    client->drafter = drafter;
    drafter->client = client;
    drafter->reset();
  }
  client->drafting.set_params(params, drafter == nullptr ? nullptr : &drafter->stream);
  return Status::kOk;
}

void unlink_partners(SessionParts* parts) {
  if (is_guide(*parts)) release_guide(parts->client);
  if (is_drafter(*parts)) release_drafter(parts->client);
  release_guide(parts);
  release_drafter(parts);
}

}  // namespace sotto
