// RequestHandler and ResponseWriter: the interface between HTTP connections and API endpoints.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/adapters/adapter_list.h"
#include "runtime/stream.h"
#include "server/http/http.h"

namespace ingot {

struct Route;
struct ApiError;
struct LoadedAdapter;
enum class ErrorForm;

/// Writes the response to one HTTP request from the deltas of its choices. Calls never overlap.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  /// Adds a delta of a choice.
  virtual void add_delta(std::size_t /*choice*/, const Delta& /*delta*/) {}
  /// Returns whether the choice's text is complete, although the engine has not ended the choice.
  /// Then the caller cancels the choice, drops its later deltas, and ends it with kStop.
  virtual bool wants_end(std::size_t /*choice*/) const { return false; }
  /// For streams: appends to `out` an event with the choice's deltas since the choice's last
  /// event. Appends nothing if there is nothing to send.
  virtual void flush(std::size_t /*choice*/, std::string& /*out*/) {}
  /// Ends a choice that did not fail. Appends the choice's text that was not flushed.
  virtual void end_choice(std::size_t choice, const Outcome& outcome, std::string& out) = 0;
  /// Appends the rest of a stream, or the whole body. Called after all choices have ended.
  virtual void finish(std::string& out) = 0;
  /// Appends an error event to a stream that has begun. No event follows.
  virtual void write_error(const ApiError& error, std::string& out) = 0;
};

/// Which threads handle a request.
enum class HandlerThreads {
  kRequests,
  kTexts,   ///< for long requests that do not use the engine; few may be queued
  kStates,  ///< for quick requests, such as probes, that must not wait behind others
  kLoads,   ///< one thread, for requests that load adapters
};

/// An adapter that a request names and that is not loaded.
struct MissingAdapter {
  std::string name;
  std::string param;  ///< the request's member that names it
};

/// The adapters that a request needs from files. A thread of HandlerThreads::kLoads finds them;
/// then the request is handled again in its own threads.
struct AdapterLoads {
  std::vector<MissingAdapter> missing{};
  bool only_exist = false;  ///< the request only needs to know that they exist
  bool are_done = false;    ///< true after all `missing` were found
  /// All adapters of the request that are loaded. They stay although others need their places.
  std::vector<std::shared_ptr<const LoadedAdapter>> loaded{};
  std::shared_ptr<const void> place{};            ///< the request's place in the queue of loads
  std::chrono::steady_clock::time_point begin{};  ///< time from which the request waits

  /// Returns whether the adapters are to be found next.
  bool wait() const { return !missing.empty() && !are_done; }
};

/// An admitted request.
struct Admitted {
  std::string id;  ///< the request's id, made by the server: letters, digits and "-"
  std::size_t key = 0;
  const Route* route = nullptr;
  ErrorForm errors{};  ///< form of errors about this request
  HandlerThreads threads = HandlerThreads::kRequests;
  AdapterLoads loads{};  ///< empty unless the request had to wait for adapters
};

/// A running generation: the streams of its choices, in order. The choices of later
/// prompts have no streams yet.
class RunningGeneration {
 public:
  /// Submits later prompts that have room, and returns the streams of their choices. `under_way`:
  /// number of choices that have a stream and have not ended.
  using SubmitLater = std::function<std::vector<Stream>(std::size_t under_way)>;

  std::vector<Stream> streams;
  std::size_t later_choices = 0;  ///< number of choices without a stream
  SubmitLater submit_later{};     ///< empty if there are no later choices
  std::unique_ptr<ResponseWriter> writer;
  bool stream = false;                            ///< the response is sent as server-sent events
  std::shared_ptr<const AdapterList> adapters{};  ///< adapters of all choices; null: none

  /// Returns whether a choice has left the queue. Thread-safe.
  bool has_started() {
    const std::lock_guard lock(mutex_);
    return std::any_of(streams.begin(), streams.end(),
                       [](const Stream& s) { return s.has_started(); });
  }
  /// Adds the streams of later choices that have room. Only the thread that reads `streams`
  /// may call it. Errors: those of `submit_later`.
  void begin_later(std::size_t under_way) {
    std::vector<Stream> begun = submit_later(under_way);
    const std::lock_guard lock(mutex_);
    later_choices -= begun.size();
    for (Stream& s : begun) {
      if (is_cancelled_) s.cancel();
      streams.push_back(std::move(s));
    }
  }
  /// Cancels all choices, also the later ones. Thread-safe.
  void cancel() {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    for (Stream& s : streams) s.cancel();
  }

 private:
  /// Guards `is_cancelled_`; and `streams` in `begin_later`, `cancel` and `has_started`.
  std::mutex mutex_;
  bool is_cancelled_ = false;
};

/// The first bytes of a request's body, or of a response's body, for the log.
struct Content {
  std::string text{};
  bool is_cut = false;  ///< true if `text` lacks the body's last bytes

  /// Appends as much of `more` as fits: `text` has at most `bytes_max` bytes.
  void add(std::string_view more, std::size_t bytes_max) {
    const std::size_t room = bytes_max - text.size();
    is_cut = is_cut || more.size() > room;
    text += more.substr(0, room);
  }
};

/// The status of a request whose client left, or stopped reading, before it had its response.
inline constexpr int kClientLeft = 499;

/// How a request ended, for logs and metrics. Counts are sums over its prompts and choices.
///
/// | end | status | cut | finished_reason |
/// |---|---|---|---|
/// | complete | 200 | no | stop, length |
/// | client left: inputs were being read | 499 | no | none |
/// | client left: waiting, in prefill, in the stream | 499 | yes | abort |
/// | client left or stopped reading with the text complete | 499 | no | stop, length |
/// | reader stopped for --write-stall | 499 | yes | abort |
/// | cancelled by DELETE, or by the end of a drain | 503 * | yes | abort |
/// | late: in the queue, before the first token, before the end | 503 * | yes | error |
/// | failed step, no memory, bad numbers | 500, 503 * | yes | error |
/// | refused by the engine for a deadline | 503 | yes | error, and rejected{deadline} |
/// | refused before | 4xx, 503 | no | none; rejected{reason} if the engine refused |
///
/// * 200 if a stream had begun; its last event is the error. A preemption changes nothing.
struct RequestEnd {
  int status = kClientLeft;           ///< HTTP status
  HttpError error{};                  ///< the response's error, if any
  std::int64_t prompt_tokens = 0;     ///< lengths of the prompts
  std::int64_t computed_tokens = 0;   ///< prompt tokens that steps computed
  std::int64_t cached_tokens = 0;     ///< prompt tokens that were found in the cache
  std::int64_t generated_tokens = 0;  ///< generated tokens, whether they were sent or not
  PrefixMiss miss{};                  ///< where and why the first prompt's cached prefix ends
  std::optional<double> first_token_seconds{};  ///< from submission; later prompts do not count
  double seconds = 0;
  bool is_cut = false;     ///< true if the generation was cut off
  std::string adapters{};  ///< names of the adapters, with commas between them
  Content request{};       ///< first `content_bytes_max` bytes of the request's body
  Content response{};      ///< first `content_bytes_max` bytes of the response's body
};

/// The exhausted resource for which a request is refused.
enum class NoRoom {
  kResponse,  ///< the memory for large responses
  kText,      ///< the places for requests of HandlerThreads::kTexts
};

/// The result of RequestHandler::handle: a response, a generation under way, or the adapters
/// without which the request cannot be handled.
using Handled = std::variant<HttpResponse, std::shared_ptr<RunningGeneration>, AdapterLoads>;

/// Answers requests. All functions except `handle` are quick. Every function is thread-safe, and
/// none throws. The defaults suit a handler that admits nothing.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  /// Admits a request before its body is read, or returns a response that refuses or answers the
  /// request. `has_body`: true if a body follows the head.
  virtual std::variant<Admitted, HttpResponse> admit(const HttpRequest& request, bool has_body) = 0;
  /// Answers a request, or submits it to the engine. Called from a handler thread. The engine's
  /// thread calls `notify` when a stream has a delta or has ended. `has_left` becomes true when the
  /// client closes the connection: then it needs no response. If it returns loads, it is called
  /// again with these in `admitted`: in a thread of HandlerThreads::kLoads while they wait, and
  /// in a thread as before once they are done.
  virtual Handled handle(
      // NOLINTNEXTLINE(performance-unnecessary-value-param): overrides keep `notify`
      const HttpRequest& /*request*/, const Admitted& /*admitted*/, Notify /*notify*/,
      const std::atomic<bool>& /*has_left*/) {
    return HttpResponse{.status = 503};
  }
  /// Returns the response to an unreadable request. `request` has what was read of it: at least the
  /// client's address.
  virtual HttpResponse refusal(const HttpRefusal& refusal, const HttpRequest& request) = 0;
  /// Returns the response to an admitted request for which the resource `what` is exhausted.
  virtual HttpResponse no_room(NoRoom /*what*/, const Admitted& /*admitted*/) {
    return {.status = 503};
  }
  /// Returns the response of a generation that failed or was cancelled. If `events` is not null,
  /// appends the stream's last event to `events` instead.
  virtual HttpResponse failure(const Outcome& /*outcome*/, const Admitted& /*admitted*/,
                               ResponseWriter& /*writer*/, std::string* /*events*/) {
    return {.status = 500};
  }
  /// Logs and counts a request that has ended. The default does nothing.
  virtual void ended(const HttpRequest& /*request*/, const Admitted& /*admitted*/,
                     const RequestEnd& /*end*/) {}
  /// Returns the header fields that every response to this request has.
  virtual HttpFields common_fields(const HttpRequest& /*request*/, const Admitted* /*admitted*/) {
    return {};
  }
  /// Returns the maximum length, in bytes, of each Content that `ended` gets.
  virtual std::size_t content_bytes_max() const { return 0; }
  /// Whether connections close after their current response.
  virtual bool is_closing() const { return false; }
};

/// An admitted request that was read. Lives until the response is sent or has failed, and the
/// engine has ended all choices. The destructor calls the handler's `ended`.
class Exchange {
 public:
  /// All references must outlive this object. While this object lives, `is_answering` is
  /// true and `answering` is greater by one.
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
  bool keep_alive = false;  ///< the connection stays open after the response
  RequestEnd end;

 private:
  using Clock = std::chrono::steady_clock;

  RequestHandler& handler_;
  bool& is_answering_;
  std::atomic<std::int64_t>& answering_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace ingot
