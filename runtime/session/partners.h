// Links a session, the client, to two kinds of other sessions: a guide, whose logits are combined with the client's
// (contrast.h), and a drafter, which proposes drafts for the client (drafting.h). Guides and drafters serve one client
// each. Both ends of a link refer to each other, so that either session may be destroyed first.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/session_parts.h"

namespace sotto {

// Sets the guide of a session, or removes it if `guide` is null.
Status link_guide(SessionParts* client, SessionParts* guide, const GuideParams& params, Error* error);

// Sets the sources of drafts. `drafter` is null unless a session is one of them. The drafter is reset when the link
// begins and when it ends, because its text repeats the client's.
Status link_drafter(SessionParts* client, SessionParts* drafter, const SpeculationParams& params, Error* error);

// Ends all links of a session that is about to be destroyed.
void unlink_partners(SessionParts* parts);

}  // namespace sotto
