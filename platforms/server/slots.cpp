#include "platforms/server/slots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "platforms/cli/support/unit_vector.h"

namespace sotto::cli {
namespace {

Chat new_chat(const LoadedModel& model, const SlotParams& params) {
  return call_with_options("session",
                           [&] { return Chat::create(model.new_session(params.session), params.format, params.chat); });
}

// Collects what a piece contains.
Choice part_of(const Piece& piece, uint32_t index, bool is_scored, const LoadedModel& model) {
  Choice part;
  part.index = index;
  part.text = piece.text();
  if (!is_scored || piece.token() < 0) return part;
  ScoredToken& token = part.tokens.emplace_back();
  token.bytes = piece.bytes();
  token.log_probability = piece.log_probability();
  for (const sotto_alternative& other : piece.alternatives()) {
    token.alternatives.emplace_back(model.text_of({other.token}), other.log_probability);
  }
  return part;
}

}  // namespace

Slot::Slot(const LoadedModel& model, const SlotParams& params, Batcher& batcher)
    : model_(model), batcher_(batcher), cancels_(*params.cancels), chat_(new_chat(model, params)) {}

TokenList Slot::tokens_of(const Prompt& prompt, const char* name) const {
  const auto* text = std::get_if<std::string>(&prompt);
  TokenList tokens =
      text != nullptr ? model_.tokenize(*text, false, name) : model_.check_ids(std::get<TokenList>(prompt), name);
  if (tokens.empty()) throw Failure(std::string(name) + " is empty");
  return tokens;
}

void Slot::set_sampler(const GenerationRequest& request, uint32_t choice) {
  SamplerParams params = request.sampler;
  params.seed += choice;
  try {
    chat_.session().set_sampler(params);
  } catch (const Error& error) {
    throw Failure(error.what());  // which names the parameter
  }
}

std::optional<SessionGrammar> Slot::compile(const GenerationRequest& request, size_t free) {
  if (!request.grammar) return std::nullopt;
  GrammarOptions options;
  options.matcher.finish_within = static_cast<uint32_t>(std::min(request.max_tokens, free));
  try {
    return compile_for_session(*request.grammar, options, model_, chat_.session(), request.stops);
  } catch (const Failure& failure) {
    if (failure.parameter() != "finish_within") throw;
    throw Failure("max_tokens " + failure.reason());
  }
}

void Slot::evaluate(const TokenList& prompt) {
  call("prompt", [&] { (void)chat_.session().prefill(Tokens(prompt)); });
}

void Slot::rewind_to(const TokenList& prompt) {
  chat_.session().clear_matcher();  // which can go back only some tokens; restart() sets it again
  try {
    chat_.session().rewind(prompt.size());
  } catch (const Error&) {  // the ring no longer holds the prompt
    chat_.session().reset();
    evaluate(prompt);
  }
}

void Slot::restart(std::optional<SessionGrammar>& grammar) {
  if (!grammar) return chat_.session().clear_matcher();
  grammar->matcher.reset();
  chat_.session().set_matcher(grammar->matcher);
}

bool Slot::generate(const GenerationRequest& request, size_t max_tokens, uint32_t index, Usage& usage,
                    const OnChoice& on_part) {
  bool keeps_going = true;
  Status stop = Status::ok;
  call("text", [&] {
    stop = batcher_.generate(chat_.session(), max_tokens, [&](const Piece& piece) {
      if (piece.token() >= 0) ++usage.completion_tokens;
      keeps_going = !cancels_ && on_part(part_of(piece, index, request.sampler.log_probabilities != 0, model_));
      return keeps_going;
    });
  });
  if (keeps_going) on_part({index, "", {}, stop});
  return keeps_going;
}

void Slot::complete(const CompletionRequest& request, Usage& usage, const OnChoice& on_part) {
  Session& session = chat_.session();
  std::vector<TokenList> prompts;
  for (const Prompt& prompt : request.prompts) prompts.push_back(tokens_of(prompt, "prompt"));
  set_sampler(request, 0);
  call("stop", [&] { session.set_stops(request.stops); });
  size_t longest = 0;
  for (const TokenList& prompt : prompts) longest = std::max(longest, prompt.size());
  const size_t context = session.info().context_tokens;
  std::optional<SessionGrammar> grammar = compile(request, context - std::min(longest, context));
  uint32_t index = 0;
  for (const TokenList& prompt : prompts) {
    session.reset();
    evaluate(prompt);
    usage.prompt_tokens += prompt.size();
    for (uint32_t choice = 0; choice < request.choice_count; ++choice, ++index) {
      if (choice > 0) rewind_to(prompt);
      set_sampler(request, choice);
      restart(grammar);
      if (!generate(request, request.max_tokens, index, usage, on_part)) return;
    }
  }
}

void Slot::reply(const ChatRequest& request, Usage& usage, const OnChoice& on_part) {
  chat_.reset();
  call("messages", [&] {
    for (const auto& [role, text] : request.messages) chat_.add(role, text);
  });
  set_sampler(request, 0);
  call("stop", [&] { chat_.set_stops(request.stops); });
  chat_.session().clear_matcher();
  std::optional<SessionGrammar> grammar;
  for (uint32_t choice = 0; choice < request.choice_count; ++choice) {
    if (choice > 0) chat_.undo_reply();
    set_sampler(request, choice);
    // An empty reply evaluates only the messages. The session then generates the text, because the conversation ends
    // with the request.
    call("messages", [&] { chat_.reply(0); });
    const ChatInfo info = chat_.info();
    if (choice == 0) {
      usage.prompt_tokens = info.prompt_tokens;
      usage.cached_tokens = info.prompt_tokens - info.evaluated_tokens;
    }
    const size_t free = chat_.session().info().context_tokens - info.prompt_tokens;
    if (choice == 0) grammar = compile(request, free);
    restart(grammar);
    if (!generate(request, std::min(request.max_tokens, free), choice, usage, on_part)) return;
  }
}

std::vector<float> Slot::embed(const Prompt& input, Usage& usage) {
  const TokenList tokens = tokens_of(input, "input");
  usage.prompt_tokens += tokens.size();
  chat_.session().reset();
  std::vector<float> vector;
  call("input", [&] { vector = chat_.session().embed(tokens); });
  normalize(vector);
  return vector;
}

Slots::Slots(const LoadedModel& model, const SlotParams& params, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    slots_.push_back(std::make_unique<Slot>(model, params, batcher_));
    free_.push_back(slots_.back().get());
  }
}

Slots::Lease Slots::take() {
  std::unique_lock lock(mutex_);
  is_free_.wait(lock, [&] { return !free_.empty(); });
  Slot* const slot = free_.back();
  free_.pop_back();
  return Lease(slot, [this](Slot* done) {
    {
      const std::lock_guard guard(mutex_);
      free_.push_back(done);
    }
    is_free_.notify_one();
  });
}

}  // namespace sotto::cli
