// Sessions that answer requests, each one at a time. Their memory is reserved at the start.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/options/grammar.h"
#include "platforms/cli/support/batcher.h"
#include "platforms/server/request.h"

namespace sotto::cli {

struct ScoredToken {
  std::string bytes;
  float log_probability;
  std::vector<std::pair<std::string, float>> alternatives;
};

// One text of an answer, or the next part of one.
struct Choice {
  uint32_t index = 0;
  std::string text;
  std::vector<ScoredToken> tokens;  // if log probabilities were requested
  Status stop = Status::ok;         // not ok at the end of the text
};

// The counts of tokens that an answer reports.
struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  // of the prompt, which were not evaluated again
  uint64_t completion_tokens = 0;
};

// Receives the parts of all choices. Returns false to end the generation.
using OnChoice = std::function<bool(Choice&& part)>;

struct SlotParams {
  SessionParams session;
  ChatParams chat;
  std::string format;                          // of conversations
  const std::atomic<bool>* cancels = nullptr;  // set to end all generations
};

// One session, which answers a request at a time with all of its choices.
class Slot {
 public:
  // The slots of a batcher generate together.
  Slot(const LoadedModel& model, const SlotParams& params, Batcher& batcher);

  // These functions generate all choices, one after the other. They throw a Failure before the first part if the
  // request does not fit the model.
  void complete(const CompletionRequest& request, Usage& usage, const OnChoice& on_part);
  void reply(const ChatRequest& request, Usage& usage, const OnChoice& on_part);
  // Returns the mean of the last hidden states, with length 1.
  std::vector<float> embed(const Prompt& input, Usage& usage);

 private:
  TokenList tokens_of(const Prompt& prompt, const char* name) const;
  // Sets the parameters of the next choice.
  void set_sampler(const GenerationRequest& request, uint32_t choice);
  void evaluate(const TokenList& prompt);
  // Removes everything after the prompt from the session.
  void rewind_to(const TokenList& prompt);
  void restart(std::optional<SessionGrammar>& grammar);
  // Compiles the grammar for texts that are complete within request.max_tokens and the free tokens of the context.
  std::optional<SessionGrammar> compile(const GenerationRequest& request, size_t free);
  // Generates a choice. Returns false if `on_part` has ended it.
  bool generate(const GenerationRequest& request, size_t max_tokens, uint32_t index, Usage& usage,
                const OnChoice& on_part);

  const LoadedModel& model_;
  Batcher& batcher_;
  const std::atomic<bool>& cancels_;
  Chat chat_;
};

// A fixed number of slots that wait for requests.
class Slots {
 public:
  Slots(const LoadedModel& model, const SlotParams& params, size_t count);

  // Waits for a free slot, which becomes free again when the pointer is destroyed.
  using Lease = std::unique_ptr<Slot, std::function<void(Slot*)>>;
  Lease take();

 private:
  Batcher batcher_;
  std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
};

}  // namespace sotto::cli
