// The HTTP server: the paths of the OpenAI API, authentication, and streams of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "platforms/server/slots.h"

namespace sotto::cli {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint32_t port = 8080;         // 0 for any free port
  std::string api_key;          // empty if clients need none
  std::string model_name;       // in requests and answers
  uint32_t slot_count = 1;      // requests that are answered at the same time
  uint32_t connections = 64;    // connections that are served; others wait
  uint32_t body_mebibytes = 4;  // the largest request
  SamplerParams sampler;        // the defaults of requests
  SlotParams slots;
};

// Answers requests until SIGINT or SIGTERM. After the first signal, requests that have begun are finished, and a second
// signal ends their texts. Returns the exit code. Throws a Failure if the address is not available.
int run_server(const LoadedModel& model, ServerOptions options);

}  // namespace sotto::cli
