// The models of a process, and the sessions that answer its requests.
#pragma once

#include <optional>

#include "platforms/cli/generate/generation.h"
#include "platforms/cli/support/batcher.h"

namespace sotto::cli {

// The parts that all requests of a process share: the models and the grammar's source.
class Engine {
 public:
  explicit Engine(const GenerateOptions& options);  // throws a Failure

  const LoadedModel& model() const { return model_; }
  const LoadedModel* weaker() const { return weaker_ ? &*weaker_ : nullptr; }
  const GrammarText& source() const { return source_; }
  Batcher& batcher() { return batcher_; }

 private:
  LoadedModel model_;
  std::optional<LoadedModel> weaker_;
  GrammarText source_ = {};
  Batcher batcher_;
};

// Answers one request after the other. Its session is created again only if a request needs another one.
class Worker {
 public:
  explicit Worker(Engine& engine) : engine_(engine) {}

  Engine& engine() { return engine_; }
  Session& session() { return *session_; }

  // Continues the prompt of `generation`. Its loading began at `load_start`. Throws a Failure.
  void run(GenerateOptions& options, Clock::time_point load_start, Generation& generation);

 private:
  // Returns an empty session.
  Session& session_for(const GenerateOptions& options);

  Engine& engine_;
  SessionParams params_;
  std::optional<Session> session_;
};

}  // namespace sotto::cli
