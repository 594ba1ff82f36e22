// The sessions that a session works with: the guide, whose logits are combined with its own (contrast.h), and the
// drafter, which proposes drafts (drafting.h). Each of them serves one session only, its client. Both sides know each
// other, so that either session may be destroyed first.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/session/decoder.h"
#include "runtime/session/drafting.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"

namespace sotto {

class Partners {
 public:
  // Connects the parts of `session`, which must outlive this object.
  Partners(Session* session, TokenStream* stream, TextOutput* output, Decoder* decoder, Drafting* drafting)
      : session_(session), stream_(stream), output_(output), decoder_(decoder), drafting_(drafting) {}

  // Sets the guide, or removes it if `guide` is null.
  Status set_guide(Partners* guide, const GuideParams& params, Error* error);
  // Sets how drafts are made. `drafter` is null unless another session makes them. A drafter is reset when it is set
  // and when it is released, because its text repeats this session's.
  Status set_speculation(const SpeculationParams& params, Partners* drafter, Error* error);
  // Ends all links, before the session is destroyed.
  void leave();

  bool has_guide() const { return guide_ != nullptr; }
  // Returns whether the guide has no tokens from which it could continue.
  bool has_empty_guide() const { return guide_ != nullptr && guide_->stream_->token_count() == 0; }
  // Returns the session that this one guides or drafts for, or null.
  const Session* client() const { return client_ == nullptr ? nullptr : client_->session_; }

 private:
  Status check(const Partners& partner, const char* name, Error* error) const;
  Status check_guide(const Partners& guide, Error* error) const;
  Status check_drafter(const Partners& drafter, Error* error) const;
  bool is_guide() const { return client_ != nullptr && client_->guide_ == this; }
  bool is_drafter() const { return client_ != nullptr && client_->drafter_ == this; }
  void release_guide();
  void release_drafter();

  Session* session_;
  TokenStream* stream_;
  TextOutput* output_;
  Decoder* decoder_;
  Drafting* drafting_;
  Partners* guide_ = nullptr;
  Partners* drafter_ = nullptr;
  Partners* client_ = nullptr;  // the session that this one guides or drafts for
};

}  // namespace sotto
