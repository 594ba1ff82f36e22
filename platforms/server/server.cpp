#include "platforms/server/server.h"

#include <httplib.h>
#include <pthread.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "platforms/server/answer.h"

namespace sotto::cli {
namespace {

constexpr char kJson[] = "application/json";
constexpr int kBadRequest = 400, kUnauthorized = 401, kForbidden = 403, kNotFound = 404, kUnsupportedType = 415,
              kServerError = 500;

void set_json(httplib::Response& response, const Json& json) { response.set_content(json.dump(), kJson); }

const char* error_type(int status) { return status == kServerError ? "server_error" : "invalid_request_error"; }

void set_error(httplib::Response& response, int status, const std::string& message) {
  response.status = status;
  set_json(response, error_answer(message, error_type(status)));
}

// Compares texts in a time that does not depend on the position of the first difference. Clients therefore cannot guess
// the key character by character.
bool is_equal(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(i < b.size() ? b[i] : 0);
  }
  return difference == 0;
}

// Calls a function that answers a request, and answers its failure.
template <typename Function>
void answer_or_fail(httplib::Response& response, Function&& function) {
  try {
    function();
  } catch (const UnknownModel& failure) {
    set_error(response, kNotFound, failure.what());
  } catch (const Failure& failure) {
    set_error(response, kBadRequest, failure.what());
  } catch (const std::bad_alloc&) {
    set_error(response, kServerError, "not enough memory");
  } catch (const std::exception& error) {
    set_error(response, kServerError, error.what());
  }
}

std::string event(const Json& json) { return "data: " + json.dump() + "\n\n"; }

// Waits for signals. The first one stops the server, and the second one sets `cancels`. The destructor ends
// the thread, so that it uses neither the server nor `cancels` afterwards.
class SignalThread {
 public:
  SignalThread(const sigset_t& signals, httplib::Server& http, std::atomic<bool>& cancels)
      : thread_([this, signals, &http, &cancels] {
          if (!wait(signals)) return;
          // A stop has no effect before the server listens.
          while (!http.is_running() && !is_over_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          http.stop();
          if (wait(signals)) cancels = true;
        }) {}
  ~SignalThread() {
    is_over_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  // Returns whether a signal came before the end.
  bool wait(const sigset_t& signals) const {
    int signal = 0;
    sigwait(&signals, &signal);
    return !is_over_;
  }

  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

class Server {
 public:
  Server(const LoadedModel& model, ServerOptions options)
      : options_(std::move(options)),
        embedding_size_(model.info().embedding_size),
        slots_(model, with_cancellation(options_.slots), options_.slot_count) {
    http_.new_task_queue = [count = options_.connections] { return new httplib::ThreadPool(count); };
    http_.set_payload_max_length(size_t{options_.body_mebibytes} << 20);
    http_.set_tcp_nodelay(true);  // each event is sent at once
    // The library sets SO_REUSEPORT by default, with which two servers could share a port unnoticed.
    http_.set_socket_options([this](int socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
      listener_ = socket;
    });
    http_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return is_acceptable(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                              : httplib::Server::HandlerResponse::Handled;
    });
    http_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (response.body.empty())
        set_error(response, response.status, "no answer to " + request.method + ' ' + request.path);
    });
    http_.Get("/health", [](const httplib::Request&, httplib::Response& response) {
      set_json(response, {{"status", "ok"}});
    });
    http_.Get("/v1/models", [this](const httplib::Request&, httplib::Response& response) {
      set_json(response, models_answer(options_.model_name, start_));
    });
    http_.Post("/v1/completions", [this](const httplib::Request& request, httplib::Response& response) {
      answer_or_fail(response, [&] {
        generate(read_completion_request(request.body, options_.model_name, options_.sampler), false, response);
      });
    });
    http_.Post("/v1/chat/completions", [this](const httplib::Request& request, httplib::Response& response) {
      answer_or_fail(response, [&] {
        generate(read_chat_request(request.body, options_.model_name, options_.sampler), true, response);
      });
    });
    http_.Post("/v1/embeddings", [this](const httplib::Request& request, httplib::Response& response) {
      answer_or_fail(response, [&] { embed(request.body, response); });
    });
  }

  int run() {
    // All threads inherit the mask, so that only the SignalThread receives the signals.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a client that leaves is an error of a write
    const bool is_bound =
        options_.port == 0
            ? (options_.port = static_cast<uint32_t>(std::max(0, http_.bind_to_any_port(options_.host)))) != 0
            : http_.bind_to_port(options_.host, static_cast<int>(options_.port));
    if (!is_bound)
      throw Failure(options_.host + ':' + std::to_string(options_.port) + ": the address is not available");
    // The library lets 5 connections wait to be accepted; bursts of clients need more.
    if (listen(listener_, SOMAXCONN) != 0) throw Failure("listen: " + std::string(std::strerror(errno)));
    std::fprintf(stderr, "sotto-serve: model %s at http://%s:%u/v1; Ctrl-C stops\n", options_.model_name.c_str(),
                 options_.host.c_str(), options_.port);
    const SignalThread thread(signals, http_, cancels_);
    return http_.listen_after_bind() ? kExitOk : kExitFailure;
  }

 private:
  SlotParams with_cancellation(SlotParams params) const {
    params.cancels = &cancels_;
    return params;
  }

  // Returns whether the request names this machine. A page of another site whose name has been bound to this machine
  // sends its own name.
  static bool is_for_this_machine(const httplib::Request& request) {
    const std::string host = request.get_header_value("Host");
    const std::string name = host.substr(0, host.find(':', host.starts_with('[') ? host.find(']') : 0));
    return host.empty() || name == "localhost" || name == "127.0.0.1" || name == "[::1]";
  }

  // Requires the key or, without one, a page or program of this machine. Requires JSON, because a page of another site
  // cannot send JSON from a browser.
  bool is_acceptable(const httplib::Request& request, httplib::Response& response) const {
    const bool is_open = request.path == "/health" || options_.api_key.empty();
    if (!is_open && !is_equal(request.get_header_value("Authorization"), "Bearer " + options_.api_key)) {
      set_error(response, kUnauthorized, "the header Authorization must have the key of this server: Bearer KEY");
      return false;
    }
    if (options_.api_key.empty() && !is_for_this_machine(request)) {
      set_error(response, kForbidden, "the header Host must name this machine: localhost, 127.0.0.1 or [::1]");
      return false;
    }
    if (request.method == "POST" && !request.get_header_value("Content-Type").starts_with(kJson)) {
      set_error(response, kUnsupportedType, "the header Content-Type must be application/json");
      return false;
    }
    return true;
  }

  static void run_on(Slot& slot, const CompletionRequest& request, Usage& usage, const OnChoice& on_part) {
    slot.complete(request, usage, on_part);
  }
  static void run_on(Slot& slot, const ChatRequest& request, Usage& usage, const OnChoice& on_part) {
    slot.reply(request, usage, on_part);
  }

  template <typename Request>
  void generate(Request request, bool is_chat, httplib::Response& response) {
    Answer answer(is_chat, options_.model_name);
    if (!request.streams) {
      Usage usage;
      run_on(*slots_.take(), request, usage, [&](Choice&& part) {
        answer.add(std::move(part));
        return true;
      });
      return set_json(response, answer.whole(usage));
    }
    response.set_header("Cache-Control", "no-store");
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, is_chat, request = std::move(request), answer = std::move(answer)](size_t, httplib::DataSink& sink) {
          stream(request, is_chat, answer, sink);
          sink.done();
          return true;
        });
  }

  // Sends the parts as events, and ends the generation if the client leaves.
  template <typename Request>
  void stream(const Request& request, bool is_chat, Answer answer, httplib::DataSink& sink) {
    const auto send = [&sink](const std::string& text) {
      return sink.is_writable() && sink.write(text.data(), text.size());
    };
    try {
      Usage usage;
      uint32_t begun = 0;
      run_on(*slots_.take(), request, usage, [&](Choice&& part) {
        for (; is_chat && begun <= part.index; ++begun) send(event(answer.first_chunk(begun)));
        const bool is_empty = part.text.empty() && part.tokens.empty() && part.stop == Status::ok;
        return is_empty ? sink.is_writable() : send(event(answer.chunk(part)));
      });
      if (request.includes_usage) send(event(answer.usage_chunk(usage)));
      send("data: [DONE]\n\n");
    } catch (const Failure& failure) {
      send(event(error_answer(failure.what(), error_type(kBadRequest))));
    } catch (const std::exception& error) {
      send(event(error_answer(error.what(), error_type(kServerError))));
    }
  }

  void embed(const std::string& body, httplib::Response& response) {
    const EmbeddingRequest request = read_embedding_request(body, options_.model_name, embedding_size_);
    Usage usage;
    std::vector<std::vector<float>> vectors;
    const Slots::Lease slot = slots_.take();
    for (const Prompt& input : request.inputs) vectors.push_back(slot->embed(input, usage));
    set_json(response, embedding_answer(options_.model_name, vectors, request.is_base64, usage));
  }

  ServerOptions options_;
  size_t embedding_size_;
  int listener_ = -1;
  std::atomic<bool> cancels_ = false;
  int64_t start_ =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  Slots slots_;
  httplib::Server http_;
};

}  // namespace

int run_server(const LoadedModel& model, ServerOptions options) { return Server(model, std::move(options)).run(); }

}  // namespace sotto::cli
