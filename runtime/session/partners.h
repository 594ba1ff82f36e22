// Links between sessions: a guide, whose logits are combined with the client's (contrast.h), and a drafter, which
// proposes drafts for the client (drafting.h). Each of them serves one client only. Both sides know each other, so that
// either session may be destroyed first.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/session_parts.h"

namespace sotto {

// Sets the guide of a session, or removes it if `guide` is null.
Status link_guide(SessionParts* client, SessionParts* guide, const GuideParams& params, Error* error);

// Sets how drafts are made. `drafter` is null unless another session makes them. A drafter is reset when it is set and
// when it is released, because its text repeats the client's.
Status link_drafter(SessionParts* client, SessionParts* drafter, const SpeculationParams& params, Error* error);

// Ends all links of a session that is about to be destroyed.
void unlink_partners(SessionParts* parts);

}  // namespace sotto
