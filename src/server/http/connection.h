// Connection: serves HTTP requests on one socket, from its first request to its close.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http/body_reader.h"
#include "server/http/budget.h"
#include "server/http/connection_times.h"
#include "server/http/http_head.h"
#include "server/http/pace.h"
#include "server/http/receiver.h"
#include "server/http/request_handler.h"
#include "server/http/socket.h"
#include "server/http/stream_writer.h"
#include "server/http/waker.h"

namespace ingot {

/// Budgets that all requests of a server share.
struct Budgets {
  Budget bodies;                           ///< limits the bytes of request bodies in memory
  Budget responses;                        ///< limits the bytes of whole, unsent responses
  Budget text_requests{16};                ///< limits the number of requests in `Workers::texts`
  std::atomic<std::int64_t> answering{0};  ///< number of requests that are read, but not answered
};

/// Thread pools that run the request handlers, so that handlers do not block an IoThread.
struct Workers {
  /// Sets the number of threads in each pool.
  Workers(std::size_t request_threads, std::size_t text_threads, std::size_t state_threads,
          std::size_t load_threads)
      : requests(request_threads),
        texts(text_threads),
        states(state_threads),
        loads(load_threads) {}

  boost::asio::thread_pool& pool(HandlerThreads which) {
    if (which == HandlerThreads::kTexts) return texts;
    if (which == HandlerThreads::kLoads) return loads;
    return which == HandlerThreads::kStates ? states : requests;
  }

  std::array<boost::asio::thread_pool*, 4> all() { return {&requests, &texts, &states, &loads}; }

  boost::asio::thread_pool requests, texts, states, loads;
};

/// Objects and limits that all connections share.
struct ConnectionParts {
  RequestHandler& handler;
  Workers& workers;
  Budgets& budgets;
  HttpLimits limits;
  ConnectionTimes times;
  bool is_reserved = false;  ///< true: serves only probes, such as /health
};

/// Rate limits that the connections of one thread share.
struct ThreadPaces {
  RefusalPace refusals;
  StreamPace streams;
};

/// Serves one socket in the one thread of its executor. Keeps itself alive until it ends.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `paces`: the rate limits of the thread that runs `executor`.
  Connection(const ConnectionParts& parts, ThreadPaces& paces,
             boost::asio::any_io_executor executor, std::shared_ptr<Socket> socket,
             std::string peer);

  /// Starts serving. Calls `ended` once, when the connection has ended.
  void start(std::function<void()> ended);
  /// Closes the connection as soon as no request is under way.
  void close_when_idle();
  /// Closes the connection unless it is answering a request that was read.
  void close_unless_answering();
  /// Closes the connection now.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  Awaitable<void> run();
  Awaitable<bool> serve_one();
  Awaitable<std::optional<HttpHead>> read_head();
  Awaitable<bool> read_body(HttpHead& head, BudgetShare& share);
  Awaitable<bool> decompress_body(HttpRequest& request, const Admitted& admitted,
                                  BudgetShare& share);
  Awaitable<bool> drop_body(const HttpHead& head);
  Awaitable<bool> handle(HttpHead& head, const Admitted& admitted, BudgetShare& body_share,
                         BudgetShare* place);
  Awaitable<Handled> handle_in_threads(const HttpRequest& request, const Admitted& admitted,
                                       const Notify& notify);
  Awaitable<bool> generate(std::shared_ptr<RunningGeneration> running, Waker& waker,
                           Exchange& exchange);
  Awaitable<bool> send_stream(RunningGeneration& running, StreamWriter& writer, Waker& waker);
  Awaitable<bool> fail(RunningGeneration& running, StreamWriter& writer, Exchange& exchange);
  Awaitable<void> settle(StreamWriter& writer);
  Awaitable<bool> answer(HttpResponse response, Exchange& exchange);
  Awaitable<bool> respond(HttpResponse response, const HttpRequest& request,
                          const Admitted* admitted, bool keep_alive);
  Awaitable<void> refuse(const HttpRefusal& refusal, const HttpRequest& request);
  Awaitable<void> refuse_head(const HttpRefusal& refusal, const HttpHeadReader& reader);
  Awaitable<void> end_writing();
  Awaitable<void> linger();
  Awaitable<bool> send_events(StreamWriter& writer, bool is_last);
  bool may_stay_open(const HttpHead& head) const;

  ConnectionParts parts_;
  ThreadPaces& paces_;
  boost::asio::any_io_executor executor_;
  std::shared_ptr<Socket> socket_;
  std::string peer_;
  Receiver input_;
  int requests_left_ = 0;      ///< number of further requests before the connection closes
  bool is_busy_ = false;       ///< true from a request's first byte until its end
  bool is_closing_ = false;    ///< the connection closes once no request is under way
  bool is_answering_ = false;  ///< true while the connection answers a request
  bool has_ended_writing_ = false;
  bool is_closed_ = false;  ///< `close` was called
};

}  // namespace ingot
