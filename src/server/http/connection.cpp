// Connections as coroutines. One reads all that comes, up to what may be looked ahead; the other
// answers request by request. Both run in one thread, so that nothing here is locked. What is
// awaited takes no temporaries: GCC 12 destroys those that are aggregates twice.
#include "server/http/connection.h"

#include <time.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/text.h"
#include "server/http/http_chunks.h"
#include "server/http/route.h"

namespace ingot {

namespace asio = boost::asio;
using asio::use_awaitable;

namespace {

/// More than the largest head that there may be: one too large is seen to be.
constexpr std::size_t kLookAheadBytes = 80 << 10;
constexpr std::size_t kDroppedBytes = 64 << 10;    ///< of a body behind a refusal
constexpr std::size_t kUncountedBytes = 64 << 10;  ///< of a body, that every connection may have
constexpr auto kLookForEnd = std::chrono::milliseconds(500);
constexpr std::size_t kWriteBytes = 16 << 10;   ///< whose sending is timed
constexpr std::size_t kStreamBytes = 64 << 10;  ///< of events from which on no more is put to them
constexpr std::size_t kEventBytes = 16 << 10;   ///< of pieces from which on an event takes no more

}  // namespace

/// When the next byte of a body has to be there.
class BodyClock {
 public:
  BodyClock(const ConnectionTimes& times, std::chrono::steady_clock::time_point begin)
      : times_(times), begin_(begin) {}

  std::chrono::steady_clock::time_point next_byte_by(std::size_t bytes) const {
    const auto at_least = std::chrono::milliseconds(
        static_cast<std::int64_t>(bytes * 1000 / times_.body_bytes_per_second));
    return begin_ + std::min(times_.body, times_.body_grace + at_least);
  }

 private:
  const ConnectionTimes& times_;
  std::chrono::steady_clock::time_point begin_;
};

/// A request's part of a budget, which it gives back at its end.
class BudgetShare {
 public:
  explicit BudgetShare(Budget& budget) : budget_(budget) {}
  ~BudgetShare() { end(); }
  BudgetShare(const BudgetShare&) = delete;
  BudgetShare& operator=(const BudgetShare&) = delete;

  /// Takes what is missing to so much; false where there is not so much left.
  [[nodiscard]] bool grow(std::size_t amount) {
    if (amount > amount_ && !budget_.take(amount - amount_)) return false;
    amount_ = std::max(amount, amount_);
    return true;
  }
  /// The same for a body of so many bytes, of which the first ones are free.
  [[nodiscard]] bool hold(std::size_t bytes) {
    return grow(bytes - std::min(bytes, kUncountedBytes));
  }
  void end() { budget_.give_back(std::exchange(amount_, 0)); }

 private:
  Budget& budget_;
  std::size_t amount_ = 0;
};

namespace {

/// What this thread has had of a CPU.
std::chrono::nanoseconds thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

const HttpRefusal kNoRoomForBodies{503, "too many large requests are being read: try again later"};

HttpResponse no_room_for_responses(ErrorForm form) {
  return error_response({503, "server_error", "out_of_memory",
                         "too many large responses are being sent: try again later"},
                        form);
}

/// Says that a request is being answered, while this lives.
class Answering {
 public:
  Answering(bool& is_answering, std::atomic<std::int64_t>& count)
      : is_answering_(is_answering), count_(count) {
    is_answering_ = true;
    count_.fetch_add(1);
  }
  ~Answering() {
    is_answering_ = false;
    count_.fetch_sub(1);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

 private:
  bool& is_answering_;
  std::atomic<std::int64_t>& count_;
};

/// Tells the application that a request has ended, however it did.
class Ending {
 public:
  Ending(Application& application, const HttpRequest& request, const Admitted& admitted,
         RequestEnd& end)
      : application_(application), request_(request), admitted_(admitted), end_(end) {}
  ~Ending() {
    const auto took = std::chrono::steady_clock::now() - begin_;
    end_.seconds = std::chrono::duration<double>(took).count();
    application_.ended(request_, admitted_, end_);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  Application& application_;
  const HttpRequest& request_;
  const Admitted& admitted_;
  RequestEnd& end_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

Connection::Connection(const ConnectionParts& parts, ThreadPaces& paces,
                       asio::any_io_executor executor, std::unique_ptr<Socket> socket,
                       std::string peer)
    : parts_(parts),
      paces_(paces),
      executor_(std::move(executor)),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      signal_(executor_),
      room_(executor_),
      stall_(executor_) {}

void Connection::start(std::function<void()> ended) {
  const auto self = shared_from_this();
  asio::co_spawn(executor_, run(), [self, ended = std::move(ended)](const std::exception_ptr&) {
    self->close();
    ended();
  });
}

void Connection::close_when_idle() {
  is_closing_ = true;
  if (!is_busy_) return close();
  wake();
}

void Connection::close_unless_answering() {
  if (!is_answering_) close();
}

void Connection::close() {
  input_ended_ = true;
  socket_->close();
  wake();
  room_.cancel();
}

Connection::Awaitable<bool> Connection::wait(Clock::time_point until) {
  boost::system::error_code error;
  signal_.expires_at(until);
  co_await signal_.async_wait(asio::redirect_error(use_awaitable, error));
  co_return error == asio::error::operation_aborted;
}

void Connection::take(std::size_t bytes) {
  taken_ += bytes;
  if (taken_ == input_.size()) {
    // What waits for its next request holds no memory for the last one.
    std::string().swap(input_);
    taken_ = 0;
  } else if (taken_ > kLookAheadBytes / 2) {
    input_.erase(0, taken_);
    taken_ = 0;
  }
  room_.cancel();
}

Connection::Awaitable<void> Connection::read_loop() {
  boost::system::error_code ignored;
  while (!input_ended_) {
    if (input().size() >= kLookAheadBytes) {
      // Nothing is read, so that nobody would see the other end leave: it is looked for.
      room_.expires_after(kLookForEnd);
      co_await room_.async_wait(asio::redirect_error(use_awaitable, ignored));
      input_ended_ = input_ended_ || socket_->has_left();
      if (input_ended_) wake();
      continue;
    }
    const bool more = co_await socket_->read(input_, kLookAheadBytes - input().size());
    input_ended_ = input_ended_ || !more;
    wake();
  }
}

Connection::Awaitable<void> Connection::run() {
  stall_.expires_after(parts_.times.head);
  stall_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    if (const auto connection = weak.lock(); connection && !error) connection->close();
  });
  const bool has_begun = co_await socket_->begin();
  stall_.cancel();
  if (!has_begun) co_return;
  asio::co_spawn(executor_, read_loop(), [self = shared_from_this()](const std::exception_ptr&) {
    // Without memory it ends early, and nothing more comes.
    self->input_ended_ = true;
    self->wake();
  });
  requests_left_ = parts_.times.requests_max;
  bool more = true;
  while (more && !is_closing_) {
    more = co_await serve_one();
    if (more) is_busy_ = false;
    // Others of this thread have their turn between requests that came together.
    if (more && !input().empty()) co_await asio::post(executor_, use_awaitable);
  }
  if (has_ended_writing_ && !parts_.is_reserved) co_await linger();
}

/// One request; whether the connection is good for another.
Connection::Awaitable<bool> Connection::serve_one() {
  std::optional<HttpHead> head = co_await read_head();
  if (!head) co_return false;
  --requests_left_;
  HttpRequest& request = head->request;
  request.peer = peer_;
  request.is_reserved = parts_.is_reserved;
  const bool has_body = head->is_chunked || head->length > 0;
  auto admitted = parts_.application.admit(request, has_body);
  if (auto* response = std::get_if<HttpResponse>(&admitted)) {
    // Under overload a small body costs less to drop than a new connection does.
    const bool has_no_room = response->status == 429;
    if (has_no_room) paces_.refusals.refused();
    const bool drops =
        has_no_room && !head->is_chunked && !head->wants_continue && head->length <= kDroppedBytes;
    const bool keep_alive = head->keep_alive && (!has_body || drops) && requests_left_ > 0 &&
                            !parts_.application.is_closing();
    const bool sent = co_await respond(std::move(*response), &request, nullptr, keep_alive);
    co_return sent&& keep_alive&& co_await drop_body(static_cast<std::size_t>(head->length));
  }
  if (head->length > parts_.limits.body_bytes_max) {
    const HttpRefusal large{413, cat("the body may have ", parts_.limits.body_bytes_max, " bytes")};
    co_await refuse(large, &request);
    co_return false;
  }
  if (head->wants_continue && has_body && input().empty()) {
    if (!co_await send("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  }
  BudgetShare share(parts_.budgets.bodies);
  if (has_body && !co_await read_body(*head, share)) co_return false;
  co_return co_await handle(request, std::get<Admitted>(admitted), *head, share);
}

Connection::Awaitable<std::optional<HttpHead>> Connection::read_head() {
  HttpHeadReader reader(parts_.limits);
  std::optional<Clock::time_point> head_by;
  const auto idle_by = Clock::now() + parts_.times.idle;
  for (;;) {
    if (!input().empty() && !head_by) {
      head_by = Clock::now() + parts_.times.head;
      is_busy_ = true;
    }
    if (auto head = reader.read(input())) {
      if (auto* refusal = std::get_if<HttpRefusal>(&*head)) {
        co_await refuse(*refusal);
        co_return std::nullopt;
      }
      take(std::get<HttpHead>(*head).bytes);
      co_return std::move(std::get<HttpHead>(*head));
    }
    if (input_ended_) co_return std::nullopt;
    if (!co_await wait(head_by.value_or(idle_by))) {
      const HttpRefusal late{408, "the request's head took too long"};
      if (head_by) co_await refuse(late);
      co_return std::nullopt;
    }
  }
}

Connection::Awaitable<bool> Connection::read_chunks(HttpRequest& request, const BodyClock& clock,
                                                    BudgetShare& share) {
  std::string& body = request.body;
  HttpChunkReader reader(parts_.limits.body_bytes_max);
  std::size_t received = 0;
  for (;;) {
    const std::size_t used = reader.read(input(), body);
    received += used;
    take(used);
    if (reader.refusal()) {
      co_await refuse(*reader.refusal(), &request);
      co_return false;
    }
    if (!share.hold(body.size())) {
      co_await refuse(kNoRoomForBodies, &request);
      co_return false;
    }
    if (reader.has_ended()) co_return true;
    if (input_ended_) co_return false;
    if (!co_await wait(clock.next_byte_by(received))) {
      const HttpRefusal late{408, "the request's body took too long"};
      co_await refuse(late, &request);
      co_return false;
    }
  }
}

Connection::Awaitable<bool> Connection::read_body(HttpHead& head, BudgetShare& share) {
  HttpRequest& request = head.request;
  std::string& body = request.body;
  const BodyClock clock(parts_.times, Clock::now());
  if (head.is_chunked) co_return co_await read_chunks(request, clock, share);
  while (body.size() < head.length) {
    const std::size_t count = static_cast<std::size_t>(
        std::min<std::uint64_t>(input().size(), head.length - body.size()));
    // By what came, not by what was announced: that costs nothing.
    if (!share.hold(body.size() + count)) {
      co_await refuse(kNoRoomForBodies, &request);
      co_return false;
    }
    body += input().substr(0, count);
    take(count);
    if (count > 0) continue;
    if (input_ended_) co_return false;
    if (!co_await wait(clock.next_byte_by(body.size()))) {
      const HttpRefusal late{408, "the request's body took too long"};
      co_await refuse(late, &request);
      co_return false;
    }
  }
  co_return true;
}

/// Takes a body that nobody wants.
Connection::Awaitable<bool> Connection::drop_body(std::size_t length) {
  const BodyClock clock(parts_.times, Clock::now());
  std::size_t received = 0;
  for (;;) {
    const std::size_t count = std::min(input().size(), length - received);
    take(count);
    received += count;
    if (received == length) co_return true;
    if (input_ended_ || is_closing_) co_return false;
    if (!co_await wait(clock.next_byte_by(received))) co_return false;
  }
}

/// Whether this thread handles the request, which others of its connections wait for.
bool Connection::may_handle_here(const HttpRequest& request, const Admitted& admitted) const {
  const RouteKind kind = admitted.route->kind;
  if (!is_quick(kind, request.body.size())) return false;
  return kind == RouteKind::kQuick || paces_.handling.is_quick(Clock::now());
}

Connection::Awaitable<bool> Connection::handle(HttpRequest& request, const Admitted& admitted,
                                               const HttpHead& head, BudgetShare& share) {
  RequestEnd end;
  end.request.add(request.body, parts_.application.content_bytes_max());
  const Ending ending(parts_.application, request, admitted, end);
  const Answering answering(is_answering_, parts_.budgets.answering);
  // The engine's thread tells this one, at most once for each time that it looks.
  const auto waker = std::make_shared<Waker>();
  Notify notify = [weak = weak_from_this(), executor = executor_, waker](bool is_urgent) {
    if (is_urgent) waker->is_urgent.store(true);
    if (!is_urgent && waker->gathers.load()) return;
    if (waker->is_posted.exchange(true)) return;
    try {
      asio::post(executor, [weak, waker] {
        waker->is_posted.store(false);
        if (const auto self = weak.lock()) self->wake();
      });
    } catch (const std::exception&) {
      // Without memory the connection looks again by itself, after `ping`.
      waker->is_posted.store(false);
    }
  };
  const bool here = may_handle_here(request, admitted);
  const bool is_text = admitted.route->kind == RouteKind::kText;
  const auto keeps_alive = [&] {
    return head.keep_alive && requests_left_ > 0 && !parts_.application.is_closing();
  };
  BudgetShare place(parts_.budgets.text_requests);
  if (is_text && !place.grow(1)) {
    HttpResponse refused = error_response(overloaded(), admitted.route->errors);
    co_return co_await answer(std::move(refused), request, admitted, keeps_alive(), end);
  }
  asio::thread_pool& threads = is_text ? parts_.workers.texts : parts_.workers.requests;
  if (!here) co_await asio::post(asio::bind_executor(threads, use_awaitable));
  // Not of what is always handled here: metrics that take long say nothing of requests.
  const bool is_timed = here && admitted.route->kind == RouteKind::kWork;
  const auto begin = is_timed ? thread_time() : std::chrono::nanoseconds(0);
  auto result = parts_.application.handle(request, admitted, std::move(notify));
  if (!here) co_await asio::post(asio::bind_executor(executor_, use_awaitable));
  if (is_timed) paces_.handling.took(thread_time() - begin, Clock::now());
  // Nobody needs it any more, and a stream can take long.
  std::string().swap(request.body);
  share.end();
  place.end();
  const bool keep_alive = keeps_alive();
  bool more = false;
  if (auto* response = std::get_if<HttpResponse>(&result)) {
    more = co_await answer(std::move(*response), request, admitted, keep_alive, end);
  } else {
    auto running = std::move(std::get<std::shared_ptr<RunningGeneration>>(result));
    more = co_await generate(std::move(running), *waker, request, admitted, keep_alive, end);
  }
  co_return more;
}

namespace {

/// The pieces that a generation has now, as its answer puts them.
class Gathering {
 public:
  Gathering(RunningGeneration& running, RequestEnd& end)
      : running_(running),
        end_(end),
        has_ended_(running.streams.size()),
        left_(running.streams.size()) {}

  /// Appends what there is to `out`, up to a bound; whether there was anything.
  bool gather(std::string& out) {
    bool any = false;
    for (std::size_t i = 0; i < running_.streams.size() && !failed_; ++i) {
      Stream& stream = running_.streams[i];
      // Only an event that is full is followed by another. What comes while one is written waits
      // for the next round: otherwise a slow machine would send an event for every token.
      for (Taken taken = Taken::kFull; out.size() < kStreamBytes && taken == Taken::kFull;) {
        taken = take(i);
        if (taken == Taken::kNothing) break;
        any = true;
        if (running_.stream) running_.answer->flush(i, out);
      }
      if (!has_ended_[i] && stream.finished()) {
        end_one(i, stream.outcome(), out);
        any = true;
      }
    }
    return any;
  }

  bool has_ended() const { return left_ == 0; }
  /// How a choice ended that did not come to its end; null where all go well.
  const Outcome* failed() const { return failed_; }

 private:
  /// What an event takes: nothing, all that there was, or as much as it may.
  enum class Taken { kNothing, kAll, kFull };

  /// Hands over what a choice's stream has, up to a bound.
  Taken take(std::size_t choice) {
    Taken taken = Taken::kNothing;
    for (std::size_t bytes = 0; bytes < kEventBytes; taken = Taken::kAll) {
      if (!running_.streams[choice].try_next(delta_)) return taken;
      bytes += bytes_of(delta_);
      running_.answer->piece(choice, delta_);
    }
    return Taken::kFull;
  }

  /// About what an event has of a piece.
  static std::size_t bytes_of(const Delta& delta) {
    constexpr std::size_t kScoreBytes = 100;
    std::size_t scores = 0;
    for (const TokenLogprobs& t : delta.logprobs) scores += 1 + t.top.size();
    return delta.text.size() + 8 * delta.ids.size() + kScoreBytes * scores;
  }

  void end_one(std::size_t choice, const Outcome& outcome, std::string& out) {
    has_ended_[choice] = true;
    --left_;
    end_.prompt_tokens = std::max(end_.prompt_tokens, outcome.prompt_tokens);
    end_.generated_tokens += outcome.generated_tokens;
    if (choice == 0) {
      end_.cached_tokens = outcome.cached_tokens;
      end_.miss = outcome.miss;
    }
    if (outcome.finish == FinishReason::kError || outcome.finish == FinishReason::kCancelled) {
      failed_ = &outcome;
    } else {
      running_.answer->ended(choice, outcome, out);
    }
  }

  RunningGeneration& running_;
  RequestEnd& end_;
  std::vector<bool> has_ended_;
  std::size_t left_;
  const Outcome* failed_ = nullptr;
  Delta delta_;  ///< what was taken last
};

/// Counts a stream from its first event on.
class StreamShare {
 public:
  explicit StreamShare(StreamPace& pace) : pace_(pace) {}
  ~StreamShare() {
    if (has_begun_) pace_.end_stream();
  }
  StreamShare(const StreamShare&) = delete;
  StreamShare& operator=(const StreamShare&) = delete;

  void begin() {
    if (!has_begun_) pace_.begin_stream();
    has_begun_ = true;
  }

 private:
  StreamPace& pace_;
  bool has_begun_ = false;
};

}  // namespace

/// When what comes behind an event is looked at: `now` for as soon as it comes.
Connection::Clock::time_point Connection::next_look(Clock::time_point now) {
  const auto fixed = parts_.times.gather;
  if (!fixed) return paces_.streams.sent(now);
  return fixed->count() > 0 ? StreamPace::end_of_interval(now, *fixed) : now;
}

/// After something was sent: what comes soon behind it goes out together, for sending costs more
/// than a token of a small model. The end waits for nobody.
Connection::Awaitable<void> Connection::gather_more(Waker& waker) {
  const auto now = Clock::now();
  const auto until = next_look(now);
  if (until == now || input_ended_) co_return;
  waker.gathers.store(true);
  // While it was sent somebody may have called whom nobody heard.
  if (waker.is_urgent.exchange(false)) {
    waker.gathers.store(false);
    co_return;
  }
  co_await wait(until);
  waker.gathers.store(false);
}

Connection::Awaitable<bool> Connection::generate(std::shared_ptr<RunningGeneration> running,
                                                 Waker& waker, const HttpRequest& request,
                                                 const Admitted& admitted, bool keep_alive,
                                                 RequestEnd& end) {
  Gathering gathering(*running, end);
  StreamShare share(paces_.streams);
  // Nothing is sent before the end, which is urgent, as is a queue that gets full.
  if (!running->stream) waker.gathers.store(true);
  std::string out;
  bool has_head = false;
  const auto flush = [&](bool is_last) -> Awaitable<bool> {
    std::string bytes;
    end.response.add(out, parts_.application.content_bytes_max());
    if (!has_head) {
      HttpResponse response{.status = 200, .type = "text/event-stream", .body = {}};
      response.fields = parts_.application.common_fields(request, &admitted);
      // Proxies that would gather events leave them alone.
      response.fields.emplace_back("X-Accel-Buffering", "no");
      bytes = response_head(response, keep_alive ? HttpFraming::kChunked : HttpFraming::kToClose);
      has_head = true;
      end.status = 200;
    }
    if (!out.empty()) bytes += keep_alive ? http_chunk(out) : out;
    if (is_last && keep_alive) bytes += http_chunk({});
    out.clear();
    co_return co_await send(bytes);
  };
  while (!gathering.has_ended()) {
    const bool any = gathering.gather(out);
    if (const Outcome* failed = gathering.failed()) {
      const ApiError error = parts_.application.generation_error(*failed, admitted);
      end.is_cut = true;
      running->cancel();
      if (!has_head) {
        HttpResponse response = error_response(error, running->answer->error_form());
        co_return co_await answer(std::move(response), request, admitted, keep_alive, end);
      }
      running->answer->fail(error, out);
      if (co_await flush(true)) co_await end_writing();
      co_return false;
    }
    if (gathering.has_ended()) break;
    if (running->stream && !out.empty()) {
      if (!co_await flush(false)) break;
      share.begin();
      co_await gather_more(waker);
      if (input_ended_) break;
      continue;
    }
    if (any) continue;
    if (input_ended_) break;
    if (!co_await wait(Clock::now() + parts_.times.ping) && running->stream) {
      out = ": still at work\n\n";
      if (!co_await flush(false)) break;
    }
  }
  if (!gathering.has_ended()) {
    end.is_cut = true;
    running->cancel();
    co_return false;
  }
  if (running->stream) {
    running->answer->finish(out);
    const bool sent = co_await flush(true);
    if (sent && !keep_alive) co_await end_writing();
    co_return sent&& keep_alive;
  }
  // A large answer takes its time, which other connections of this thread do not have.
  co_await asio::post(asio::bind_executor(parts_.workers.requests, use_awaitable));
  running->answer->finish(out);
  co_await asio::post(asio::bind_executor(executor_, use_awaitable));
  HttpResponse response{.status = 200, .body = std::move(out)};
  co_return co_await answer(std::move(response), request, admitted, keep_alive, end);
}

/// A whole response; whether the connection is good for another request. A large one has its part
/// of a budget until it is out, since who reads it may be slow.
Connection::Awaitable<bool> Connection::answer(HttpResponse response, const HttpRequest& request,
                                               const Admitted& admitted, bool keep_alive,
                                               RequestEnd& end) {
  BudgetShare share(parts_.budgets.responses);
  if (!share.hold(response.body.size())) response = no_room_for_responses(admitted.route->errors);
  end.status = response.status;
  end.response.add(response.body, parts_.application.content_bytes_max());
  co_return co_await respond(std::move(response), &request, &admitted, keep_alive) && keep_alive;
}

Connection::Awaitable<bool> Connection::respond(HttpResponse response, const HttpRequest* request,
                                                const Admitted* admitted, bool keep_alive) {
  if (request != nullptr) {
    for (auto& field : parts_.application.common_fields(*request, admitted)) {
      response.fields.push_back(std::move(field));
    }
  }
  std::string bytes =
      response_head(response, keep_alive ? HttpFraming::kLength : HttpFraming::kClose);
  if (request != nullptr && request->method == "HEAD") response.body.clear();
  // A small body goes out with its head; a large one is not copied.
  const bool is_small = response.body.size() <= kWriteBytes;
  if (is_small) bytes += response.body;
  bool sent = co_await send(bytes);
  if (sent && !is_small) sent = co_await send(response.body);
  if (sent && !keep_alive) co_await end_writing();
  co_return sent;
}

/// TLS waits for the other end's word, which may never come.
Connection::Awaitable<void> Connection::end_writing() {
  close_at(Clock::now() + parts_.times.linger);
  co_await socket_->end_writing();
  stall_.cancel();
  has_ended_writing_ = true;
}

/// Closes the connection unless `stall_` is cancelled before.
void Connection::close_at(Clock::time_point time) {
  stall_.expires_at(time);
  stall_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    if (const auto connection = weak.lock(); connection && !error) connection->close();
  });
}

/// `request`: the one that cannot be read, where its head could.
Connection::Awaitable<void> Connection::refuse(const HttpRefusal& refusal,
                                               const HttpRequest* request) {
  if (refusal.status == 0) co_return;
  HttpResponse response = parts_.application.refusal(refusal, request);
  co_await respond(std::move(response), request, nullptr, false);
}

/// Reads and drops what still comes: closing at once could take the response back.
Connection::Awaitable<void> Connection::linger() {
  const auto until = Clock::now() + parts_.times.linger;
  while (!input_ended_ && Clock::now() < until) {
    take(input().size());
    co_await wait(until);
  }
}

Connection::Awaitable<bool> Connection::send(std::string_view bytes) {
  const auto self = shared_from_this();
  bytes.remove_prefix(socket_->write_now(bytes));
  const auto& times = parts_.times;
  const auto at_least = std::chrono::milliseconds(
      static_cast<std::int64_t>(bytes.size() * 1000 / times.sent_bytes_per_second));
  const auto all_by = Clock::now() + times.write_stall + at_least;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kWriteBytes);
    close_at(std::min(Clock::now() + times.write_stall, all_by));
    const bool sent = co_await socket_->write(part);
    stall_.cancel();
    if (!sent) co_return false;
    bytes.remove_prefix(part.size());
  }
  co_return true;
}

}  // namespace ingot
