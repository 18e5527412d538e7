// LoadingPhase: the server's responses while the model is being loaded.
#pragma once

#include "server/http/server.h"

namespace ingot {

/// Answers 503 to every request, so that clients retry. /livez gets 200 instead, so that probes see
/// a live process. Reads no bodies and computes nothing.
class LoadingHandler : public RequestHandler {
 public:
  std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) override;
  HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest& request) override;
  bool is_closing() const override { return true; }
};

/// Makes a server answer through a LoadingHandler. The phase begins with `begin`. The phase ends
/// when the destructor pauses the server.
class LoadingPhase {
 public:
  /// `server` must outlive this object.
  explicit LoadingPhase(Server& server) : server_(server) {}
  ~LoadingPhase() { server_.pause(); }
  LoadingPhase(const LoadingPhase&) = delete;
  LoadingPhase& operator=(const LoadingPhase&) = delete;

  void begin(const ConnectionTimes& times) { server_.answer_until_paused(handler_, times); }

 private:
  LoadingHandler handler_;
  Server& server_;
};

}  // namespace ingot
