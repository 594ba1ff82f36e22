// Links a session, the client, to other sessions. A guide's logits are combined with the client's (contrast.h). A
// drafter proposes drafts for the client (drafting.h). Each serves one client. Both ends of a link refer to each other,
// so that either session may be destroyed first.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/session.h"

namespace sotto {

class Partners {
 public:
  // Sets the guide of a session, or removes it if `guide` is null.
  static Status link_guide(Session* client, Session* guide, const GuideParams& params, Error* error);
  // Sets the sources of drafts. `drafter` is null unless a session is one of them. The drafter's text repeats the
  // client's, so it is reset when the link begins and when it ends.
  static Status link_drafter(Session* client, Session* drafter, const SpeculationParams& params, Error* error);
  // Ends all links of a session before it is destroyed.
  static void unlink(Session* session);

 private:
  static bool is_guide(const Session& session);
  static bool is_drafter(const Session& session);
  static Status check_guide(const Session& client, const Session& guide, Error* error);
  static Status check_drafter(const Session& client, const Session& drafter, Error* error);
  static void release_guide(Session* client);
  static void release_drafter(Session* client);
};

}  // namespace sotto
