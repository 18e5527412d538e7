// What a connection asks of whoever answers its requests.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/stream.h"
#include "server/http/handler.h"
#include "server/http/http.h"

namespace ingot {

struct Route;

/// A request that was let in.
struct Admitted {
  std::string id;  ///< the server's own
  std::size_t key = 0;
  const Route* route = nullptr;
};

/// A generation's streams, numbered like its choices.
struct RunningGeneration {
  std::vector<Stream> streams;
  std::unique_ptr<Answer> answer;
  bool stream = false;

  /// From any thread.
  void cancel() {
    for (Stream& s : streams) s.cancel();
  }
};

/// The beginning of what a request or its response says.
struct Content {
  std::string text{};
  bool is_cut = false;  ///< there was more

  /// Adds more of it, up to so many bytes in all.
  void add(std::string_view more, std::size_t bytes_max) {
    const std::size_t room = bytes_max - text.size();
    is_cut = is_cut || more.size() > room;
    text += more.substr(0, room);
  }
};

/// What a request came to, for logs and metrics.
struct RequestEnd {
  int status = 0;  ///< 0: the client went away before there was one
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< of the first prompt
  PrefixMiss miss{};               ///< where those end, and why
  double seconds = 0;
  bool is_cut = false;  ///< the stream did not come to its end
  Content request{};    ///< up to `content_bytes_max`
  Content response{};   ///< likewise
};

/// Who answers requests. All but `handle` are quick; every function may be called from several
/// threads at once, and none throws.
class Application {
 public:
  virtual ~Application() = default;

  /// Looks at a head before the body is read. A response ends the request; `has_body` says whether
  /// one would follow.
  virtual std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) = 0;
  /// Answers, or hands work to the engine, without waiting for it where the request is quick
  /// (`is_quick`): other connections wait then. `notify` is called from the engine's thread when
  /// there is something to take from a stream.
  virtual std::variant<HttpResponse, std::shared_ptr<RunningGeneration>> handle(
      const HttpRequest& request, const Admitted& admitted, Notify notify) = 0;
  /// The response to what cannot be read as a request; `request` has what was read of it, if its
  /// head was.
  virtual HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest* request) = 0;
  /// The error of a generation that did not come to its end.
  virtual ApiError generation_error(const Outcome& outcome, const Admitted& admitted) = 0;
  /// A request has ended.
  virtual void ended(const HttpRequest& request, const Admitted& admitted,
                     const RequestEnd& end) = 0;
  /// Fields of every response to this request.
  virtual HttpFields common_fields(const HttpRequest& request, const Admitted* admitted) = 0;
  /// Bytes of bodies and responses that `ended` is to be told.
  virtual std::size_t content_bytes_max() const { return 0; }
  /// Whether connections should close behind their response.
  virtual bool is_closing() const = 0;
};

}  // namespace ingot
