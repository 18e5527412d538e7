// RequestHandler and ResponseWriter: what connections need of the code that answers requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/stream.h"
#include "server/http/http.h"

namespace ingot {

struct Route;
struct ApiError;

/// Writes the response to one HTTP request from the deltas of its choices. Its functions are called
/// one at a time.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  /// Takes a delta of a choice.
  virtual void add_delta(std::size_t /*choice*/, const Delta& /*delta*/) {}
  /// For streams: appends an event for the choice's deltas since the last one, where they have
  /// something to say.
  virtual void flush(std::size_t /*choice*/, std::string& /*out*/) {}
  /// A choice has ended without an error; appends what was not flushed.
  virtual void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) = 0;
  /// All choices have ended: appends the rest of a stream, or the whole body.
  virtual void finish(std::string& out) = 0;
  /// Appends the event of an error in the middle of a stream; nothing comes behind it.
  virtual void write_error(const ApiError& error, std::string& out) = 0;
};

/// A request that was admitted.
struct Admitted {
  std::string id;  ///< the server's own, of letters, digits and "-"
  std::size_t key = 0;
  const Route* route = nullptr;
  bool is_text = false;  ///< handled by the threads for texts
};

/// A generation under way: the streams of its choices, in their order.
struct RunningGeneration {
  std::vector<Stream> streams;
  std::unique_ptr<ResponseWriter> writer;
  bool stream = false;  ///< the response is sent as server-sent events

  /// From any thread.
  void cancel() {
    for (Stream& s : streams) s.cancel();
  }
};

/// The first bytes of a request's body or of its response.
struct Content {
  std::string text{};
  bool is_cut = false;  ///< there was more

  /// Adds more, up to `bytes_max` in all.
  void add(std::string_view more, std::size_t bytes_max) {
    const std::size_t room = bytes_max - text.size();
    is_cut = is_cut || more.size() > room;
    text += more.substr(0, room);
  }
};

/// How a request ended, for logs and metrics.
struct RequestEnd {
  int status = 0;  ///< 0: the client left before there was one
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< tokens of the first prompt that were cached
  PrefixMiss miss{};               ///< where the cached tokens end, and why
  double seconds = 0;
  bool is_cut = false;  ///< the generation did not come to its end
  Content request{};    ///< up to `content_bytes_max`
  Content response{};   ///< up to `content_bytes_max`
};

/// A resource that other requests have used up.
enum class NoRoom {
  kResponse,  ///< a large response
  kText,      ///< a request with `Admitted::is_text`
};

/// Answers requests. All functions but `handle` are quick; every function may be called from
/// several threads at once, and none throws. The defaults suit a handler that admits nothing.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  /// Looks at a head before the body is read. A response ends the request; `has_body` says whether
  /// a body would follow.
  virtual std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) = 0;
  /// Answers, or hands work to the engine. Called from a handler thread. The engine's thread calls
  /// `notify` when a stream has a delta or an end.
  virtual std::variant<HttpResponse, std::shared_ptr<RunningGeneration>> handle(
      const HttpRequest& /*request*/, const Admitted& /*admitted*/, Notify /*notify*/) {
    return HttpResponse{.status = 503};
  }
  /// The response to a request that cannot be read. `request`: as far as it was read; null where
  /// its head was not.
  virtual HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest* request) = 0;
  /// The response to an admitted request for which there is no room.
  virtual HttpResponse no_room(NoRoom /*what*/, const Admitted& /*admitted*/) {
    return {.status = 503};
  }
  /// A generation failed or was cancelled: returns the response, or appends a stream's last event
  /// where `events` is not null.
  virtual HttpResponse failure(const Outcome& /*outcome*/, const Admitted& /*admitted*/,
                               ResponseWriter& /*writer*/, std::string* /*events*/) {
    return {.status = 500};
  }
  /// A request has ended.
  virtual void ended(const HttpRequest& /*request*/, const Admitted& /*admitted*/,
                     const RequestEnd& /*end*/) {}
  /// Header fields of every response to this request.
  virtual HttpFields common_fields(const HttpRequest& /*request*/, const Admitted* /*admitted*/) {
    return {};
  }
  /// Bytes of bodies and responses that `ended` is to be told.
  virtual std::size_t content_bytes_max() const { return 0; }
  /// Whether connections close behind their response.
  virtual bool is_closing() const { return false; }
};

/// An admitted request that was read, until its response is out. However it ends, the destructor
/// tells the handler.
class Exchange {
 public:
  /// The references outlive this. `is_answering` is true while this lives, and `answering` counts
  /// it.
  Exchange(RequestHandler& handler, const HttpRequest& from, const Admitted& as, bool& is_answering,
           std::atomic<std::int64_t>& answering)
      : request(from),
        admitted(as),
        handler_(handler),
        is_answering_(is_answering),
        answering_(answering) {
    is_answering_ = true;
    answering_.fetch_add(1);
    end.request.add(request.body, handler_.content_bytes_max());
  }
  ~Exchange() {
    is_answering_ = false;
    answering_.fetch_sub(1);
    end.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    handler_.ended(request, admitted, end);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request;
  const Admitted& admitted;
  bool keep_alive = false;  ///< the connection stays open behind the response
  RequestEnd end;

 private:
  using Clock = std::chrono::steady_clock;

  RequestHandler& handler_;
  bool& is_answering_;
  std::atomic<std::int64_t>& answering_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace ingot
