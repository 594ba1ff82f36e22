// Links a session, the client, to other sessions. A guide's logits are combined with the client's (contrast.h). A
// drafter proposes drafts for the client (drafting.h). Each serves one client. Both ends of a link refer to each other,
// so that either session may be destroyed first.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/session_parts.h"

namespace sotto {

// Sets the guide of a session, or removes it if `guide` is null.
Status link_guide(SessionParts* client, SessionParts* guide, const GuideParams& params, Error* error);

// Sets the sources of drafts. `drafter` is null unless a session is one of them. The drafter's text repeats the
// client's, so it is reset when the link begins and when it ends.
Status link_drafter(SessionParts* client, SessionParts* drafter, const SpeculationParams& params, Error* error);

// Ends all links of a session before it is destroyed.
void unlink_partners(SessionParts* parts);

}  // namespace sotto
