// One connection: requests in, one after the other, and responses out.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "server/http/application.h"
#include "server/http/connection_times.h"
#include "server/http/handling_pace.h"
#include "server/http/http_head.h"
#include "server/http/refusal_pace.h"
#include "server/http/socket.h"
#include "server/http/stream_pace.h"

namespace ingot {

/// So much of something for all requests together. From any thread.
class Budget {
 public:
  explicit Budget(std::size_t most) : left_(static_cast<std::int64_t>(most)) {}
  /// False where there is not so much left.
  [[nodiscard]] bool take(std::size_t amount) {
    const auto count = static_cast<std::int64_t>(amount);
    if (left_.fetch_sub(count) >= count) return true;
    left_.fetch_add(count);
    return false;
  }
  void give_back(std::size_t amount) { left_.fetch_add(static_cast<std::int64_t>(amount)); }

 private:
  std::atomic<std::int64_t> left_;
};

/// What all requests may take together. The first 64 KiB of each body cost nothing.
struct Budgets {
  Budget bodies;                           ///< bytes of requests that are read and handled
  Budget responses;                        ///< bytes of whole responses until they are sent
  Budget text_requests{16};                ///< that Workers::texts has at once
  std::atomic<std::int64_t> answering{0};  ///< requests that came whole and whose answer is not out
};

/// Threads for what is not quick.
struct Workers {
  /// So many threads of each.
  Workers(std::size_t request_threads, std::size_t text_threads)
      : requests(request_threads), texts(text_threads) {}

  boost::asio::thread_pool requests;  ///< that lead to the engine, and what comes from there
  boost::asio::thread_pool texts;     ///< of RouteKind::kText, which nobody else waits for
};

/// What connections share.
struct ConnectionParts {
  Application& application;
  Workers& workers;
  Budgets& budgets;
  HttpLimits limits;
  ConnectionTimes times;
  bool is_reserved = false;  ///< for probes alone
};

class BudgetShare;

/// What the connections of a thread share.
struct ThreadPaces {
  HandlingPace handling;
  RefusalPace refusals;
  StreamPace streams;
};

/// What the engine's thread looks at before it wakes a connection.
struct Waker {
  std::atomic<bool> is_posted{false};  ///< it will look
  std::atomic<bool> gathers{false};    ///< it puts pieces together, and looks when it is urgent
  std::atomic<bool> is_urgent{false};  ///< somebody said so
};

/// A connection. It lives in the one thread of its executor and keeps itself alive until it ends.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `paces` are the thread's.
  Connection(const ConnectionParts& parts, ThreadPaces& paces,
             boost::asio::any_io_executor executor, std::unique_ptr<Socket> socket,
             std::string peer);

  /// Begins; `ended` is called once at the end.
  void start(std::function<void()> ended);
  /// Ends it as soon as no request is under way.
  void close_when_idle();
  /// Ends it unless a request that came whole is being answered.
  void close_unless_answering();
  /// Ends it.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  Awaitable<void> read_loop();
  Awaitable<void> run();
  Awaitable<bool> serve_one();
  Awaitable<std::optional<HttpHead>> read_head();
  Awaitable<bool> read_body(HttpHead& head, BudgetShare& share);
  Awaitable<bool> drop_body(std::size_t length);
  Awaitable<bool> read_chunks(HttpRequest& request, const class BodyClock& clock,
                              BudgetShare& share);
  Awaitable<bool> handle(HttpRequest& request, const Admitted& admitted, const HttpHead& head,
                         BudgetShare& share);
  bool may_handle_here(const HttpRequest& request, const Admitted& admitted) const;
  Awaitable<bool> generate(std::shared_ptr<RunningGeneration> running, Waker& waker,
                           const HttpRequest& request, const Admitted& admitted, bool keep_alive,
                           RequestEnd& end);
  Awaitable<void> gather_more(Waker& waker);
  Clock::time_point next_look(Clock::time_point now);
  Awaitable<bool> answer(HttpResponse response, const HttpRequest& request,
                         const Admitted& admitted, bool keep_alive, RequestEnd& end);
  Awaitable<bool> respond(HttpResponse response, const HttpRequest* request,
                          const Admitted* admitted, bool keep_alive);
  Awaitable<void> refuse(const HttpRefusal& refusal, const HttpRequest* request = nullptr);
  Awaitable<void> linger();
  Awaitable<bool> send(std::string_view bytes);
  Awaitable<void> end_writing();
  void close_at(Clock::time_point time);
  /// Returns at the next `wake`, or at `until`: whether it was woken.
  Awaitable<bool> wait(Clock::time_point until);
  void wake() { signal_.cancel(); }
  std::string_view input() const { return std::string_view(input_).substr(taken_); }
  void take(std::size_t bytes);

  ConnectionParts parts_;
  ThreadPaces& paces_;
  boost::asio::any_io_executor executor_;
  std::unique_ptr<Socket> socket_;
  std::string peer_;
  boost::asio::steady_timer signal_;  ///< what `run` waits for
  boost::asio::steady_timer room_;    ///< what `read_loop` waits for
  boost::asio::steady_timer stall_;   ///< of writing
  std::string input_;                 ///< what came and was not taken, from `taken_` on
  std::size_t taken_ = 0;
  bool input_ended_ = false;
  int requests_left_ = 0;      ///< that are answered before it closes
  bool is_busy_ = false;       ///< a request is under way
  bool is_closing_ = false;    ///< ends when it is not
  bool is_answering_ = false;  ///< a request that came whole
  bool has_ended_writing_ = false;
};

}  // namespace ingot
