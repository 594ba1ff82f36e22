// The sessions that a session works with: the guide, whose logits are combined with its own (contrast.h), and the
// drafter, which proposes drafts (drafting.h). Each of them serves one session only, its client. Both sides know each
// other, so that either session may be destroyed first.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

struct SessionParts;

class Partners {
 public:
  // `own` are the parts of the session, which contain this object.
  explicit Partners(SessionParts& own) : own_(own) {}

  // Sets the guide, or removes it if `guide` is null.
  Status set_guide(SessionParts* guide, const GuideParams& params, Error* error);
  // Sets how drafts are made. `drafter` is null unless another session makes them. A drafter is reset when it is set
  // and when it is released, because its text repeats this session's.
  Status set_speculation(const SpeculationParams& params, SessionParts* drafter, Error* error);
  // Ends all links, before the session is destroyed.
  void unlink();

  bool has_guide() const { return guide_ != nullptr; }
  // Returns whether the guide has no tokens to continue.
  bool has_empty_guide() const;
  // Returns whether `test` returns true for the guide, the drafter, or the session that this one guides or drafts for.
  template <typename Test>
  bool any(Test test) const {
    for (const SessionParts* partner : {guide_, drafter_, client_}) {
      if (partner != nullptr && test(*partner)) return true;
    }
    return false;
  }

 private:
  Status check(const SessionParts& partner, const char* name, Error* error) const;
  Status check_guide(const SessionParts& guide, Error* error) const;
  Status check_drafter(const SessionParts& drafter, Error* error) const;
  bool is_guide() const;
  bool is_drafter() const;
  void release_guide();
  void release_drafter();

  SessionParts& own_;
  SessionParts* guide_ = nullptr;
  SessionParts* drafter_ = nullptr;
  SessionParts* client_ = nullptr;  // the session that this one guides or drafts for
};

}  // namespace sotto
