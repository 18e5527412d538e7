// Connection: two coroutines in one thread, so that no locks are needed. One receives bytes into a
// bounded buffer; the other answers request by request. Awaited calls take no temporary aggregates:
// GCC 12 destroys those twice.
#include "server/http/connection.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/text.h"
#include "server/http/gzip.h"

namespace ingot {

namespace asio = boost::asio;
using asio::use_awaitable;

namespace {

/// Maximum bytes of a refused request's body that are read and dropped to keep the connection.
constexpr std::size_t kDroppedBytes = 64 << 10;
/// Maximum bytes of a body that is copied to be sent together with its head.
constexpr std::size_t kCopiedBytes = 16 << 10;

const HttpRefusal kLateHead{408, "the request's head took too long"};
const HttpRefusal kLateBody{408, "the request's body took too long"};

/// Adds the fields that tell the client how long the connection stays open without requests. The
/// client is told a shorter time, so that it does not send a request while the server closes.
void add_keep_alive(HttpFields& fields, const ConnectionTimes& times) {
  const auto told = std::chrono::duration_cast<std::chrono::seconds>(times.idle * 5 / 6);
  if (told.count() == 0) return;
  fields.emplace_back("Connection", "keep-alive");
  fields.emplace_back("Keep-Alive", cat("timeout=", told.count()));
}

}  // namespace

Connection::Connection(const ConnectionParts& parts, ThreadPaces& paces,
                       asio::any_io_executor executor, std::shared_ptr<Socket> socket,
                       std::string peer)
    : parts_(parts),
      paces_(paces),
      executor_(std::move(executor)),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      input_(*socket_, executor_) {}

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
  input_.wake();
}

void Connection::close_unless_answering() {
  if (!is_answering_) close();
}

void Connection::close() {
  is_closed_ = true;
  socket_->close();
  input_.end();
}

Connection::Awaitable<void> Connection::run() {
  if (!co_await socket_->begin(parts_.times)) co_return;
  asio::co_spawn(executor_, input_.run(), [self = shared_from_this()](const std::exception_ptr&) {
    // Without memory the receiver ends early; then no more bytes arrive.
    self->input_.end();
  });
  requests_left_ = parts_.times.requests_max;
  bool more = true;
  while (more && !is_closing_) {
    more = co_await serve_one();
    if (more) is_busy_ = false;
    // Between requests that arrived together, the thread's other connections run.
    if (more && !input_.bytes().empty()) co_await asio::post(executor_, use_awaitable);
  }
  if (has_ended_writing_ && !parts_.is_reserved) co_await linger();
}

bool Connection::may_stay_open(const HttpHead& head) const {
  return head.keep_alive && requests_left_ > 0 && !parts_.handler.is_closing();
}

/// Serves one request. Returns whether the connection can serve another one.
Connection::Awaitable<bool> Connection::serve_one() {
  std::optional<HttpHead> head = co_await read_head();
  if (!head) co_return false;
  --requests_left_;
  HttpRequest& request = head->request;
  request.peer = peer_;
  request.is_reserved = parts_.is_reserved;
  const bool has_body = head->is_chunked || head->length > 0;
  auto admitted = parts_.handler.admit(request, has_body);
  if (auto* response = std::get_if<HttpResponse>(&admitted)) {
    // Under overload, dropping a small body costs less than a new connection.
    const bool has_no_room = response->status == 429;
    if (has_no_room) paces_.refusals.refused();
    const bool drops =
        has_no_room && !head->is_chunked && !head->wants_continue && head->length <= kDroppedBytes;
    const bool keep_alive = (!has_body || drops) && may_stay_open(*head);
    const bool sent = co_await respond(std::move(*response), request, nullptr, keep_alive);
    co_return sent&& keep_alive&& co_await drop_body(*head);
  }
  BudgetShare share(parts_.budgets.bodies);
  if (has_body && !co_await read_body(*head, share)) co_return false;
  const auto& as = std::get<Admitted>(admitted);
  BudgetShare place(parts_.budgets.text_requests);
  const bool has_place = as.threads != HandlerThreads::kTexts || place.grow(1);
  const bool decompresses = has_place && has_body && head->is_gzip;
  if (decompresses && !co_await decompress_body(request, as, share)) co_return false;
  co_return co_await handle(*head, as, share, has_place ? &place : nullptr);
}

Connection::Awaitable<std::optional<HttpHead>> Connection::read_head() {
  HttpHeadReader reader(parts_.limits);
  std::optional<Clock::time_point> head_by;
  const auto idle_by = Clock::now() + parts_.times.idle;
  for (;;) {
    auto head = reader.read(input_.bytes());
    if (!head_by && (head || reader.has_begun())) {
      head_by = Clock::now() + parts_.times.head;
      is_busy_ = true;
    }
    if (head) {
      if (auto* refusal = std::get_if<HttpRefusal>(&*head)) {
        co_await refuse_head(*refusal, reader);
        co_return std::nullopt;
      }
      input_.use(std::get<HttpHead>(*head).bytes);
      co_return std::move(std::get<HttpHead>(*head));
    }
    if (input_.has_ended()) co_return std::nullopt;
    if (!co_await input_.wait(head_by.value_or(idle_by))) {
      if (head_by) co_await refuse_head(kLateHead, reader);
      co_return std::nullopt;
    }
  }
}

/// Reads the request's body. False if the connection must close; a refusal, if one is due, was sent
/// before.
Connection::Awaitable<bool> Connection::read_body(HttpHead& head, BudgetShare& share) {
  HttpRequest& request = head.request;
  BodyReader reader(head, parts_.limits.body_bytes_max, parts_.times, Clock::now());
  const bool continues = head.wants_continue && input_.bytes().empty() && !reader.refusal();
  if (continues && !co_await socket_->send("HTTP/1.1 100 Continue\r\n\r\n", parts_.times))
    co_return false;
  for (;;) {
    if (!reader.refusal()) input_.use(reader.read(input_.bytes(), request.body));
    const HttpRefusal* refusal = reader.refusal() ? &*reader.refusal() : nullptr;
    // The share grows with the received bytes: announced bytes cost nothing.
    if (refusal == nullptr && !share.hold_body(request.body.size())) refusal = &kNoRoomForBodies;
    if (refusal == nullptr && reader.has_ended()) co_return true;
    if (refusal == nullptr && input_.has_ended()) co_return false;
    if (refusal == nullptr && !co_await input_.wait(reader.next_byte_by())) refusal = &kLateBody;
    if (refusal != nullptr) {
      co_await refuse(*refusal, request);
      co_return false;
    }
  }
}

/// Decompresses the request's body in a handler thread. Returns false, after a refusal, if the
/// connection must close.
Connection::Awaitable<bool> Connection::decompress_body(HttpRequest& request,
                                                        const Admitted& admitted,
                                                        BudgetShare& share) {
  is_answering_ = true;  // a stop waits for the response, since the request was read
  co_await asio::post(asio::bind_executor(parts_.workers.pool(admitted.threads), use_awaitable));
  const auto refusal = gunzip(request.body, parts_.limits.body_bytes_max, share);
  co_await asio::post(asio::bind_executor(executor_, use_awaitable));
  if (refusal) co_await refuse(*refusal, request);
  is_answering_ = false;
  co_return !refusal;
}

/// Drops the body of a refused request.
Connection::Awaitable<bool> Connection::drop_body(const HttpHead& head) {
  BodyReader reader(head, kDroppedBytes, parts_.times, Clock::now());
  for (;;) {
    std::string dropped;
    input_.use(reader.read(input_.bytes(), dropped));
    if (reader.has_ended()) co_return true;
    if (input_.has_ended() || is_closing_) co_return false;
    if (!co_await input_.wait(reader.next_byte_by())) co_return false;
  }
}

/// Lets a handler thread answer the request, and sends the response. Returns whether the connection
/// can serve another request. Frees the body's share and `place`. Without a place, refuses the
/// request.
Connection::Awaitable<bool> Connection::handle(HttpHead& head, const Admitted& admitted,
                                               BudgetShare& body_share, BudgetShare* place) {
  HttpRequest& request = head.request;
  Exchange exchange(parts_.handler, request, admitted, is_answering_, parts_.budgets.answering);
  exchange.keep_alive = may_stay_open(head);
  if (place == nullptr) {
    HttpResponse refused = parts_.handler.no_room(NoRoom::kText, admitted);
    co_return co_await answer(std::move(refused), exchange);
  }
  const auto waker = std::make_shared<Waker>(executor_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->input_.wake();
  });
  const Notify notify = [waker](bool is_urgent) { waker->notify(is_urgent); };
  Handled result = co_await handle_in_threads(request, admitted, notify);
  // The body is freed here, because a stream can take long and does not need it.
  std::string().swap(request.body);
  body_share.release();
  place->release();
  exchange.keep_alive = may_stay_open(head);
  if (auto* response = std::get_if<HttpResponse>(&result)) {
    co_return co_await answer(std::move(*response), exchange);
  }
  auto running = std::move(std::get<std::shared_ptr<RunningGeneration>>(result));
  co_return co_await generate(std::move(running), *waker, exchange);
}

/// Calls the handler in the threads that the request needs. Returns in this connection's thread.
Connection::Awaitable<Handled> Connection::handle_in_threads(const HttpRequest& request,
                                                             const Admitted& admitted,
                                                             const Notify& notify) {
  Admitted as = admitted;
  for (;;) {
    co_await asio::post(asio::bind_executor(parts_.workers.pool(as.threads), use_awaitable));
    Handled result = parts_.handler.handle(request, as, notify, input_.ended());
    co_await asio::post(asio::bind_executor(executor_, use_awaitable));
    AdapterLoads* loads = std::get_if<AdapterLoads>(&result);
    if (loads == nullptr) co_return result;
    as.loads = std::move(*loads);
    as.threads = as.loads.wait() ? HandlerThreads::kLoads : admitted.threads;
  }
}

/// Sends a generation's response. Returns whether the connection can serve another request.
Connection::Awaitable<bool> Connection::generate(std::shared_ptr<RunningGeneration> running,
                                                 Waker& waker, Exchange& exchange) {
  const bool keep_alive = exchange.keep_alive;
  std::string head;
  if (running->stream) {
    HttpResponse stream{.status = 200, .type = "text/event-stream"};
    stream.fields = parts_.handler.common_fields(exchange.request, &exchange.admitted);
    // Tells proxies not to buffer events.
    stream.fields.emplace_back("X-Accel-Buffering", "no");
    if (keep_alive) add_keep_alive(stream.fields, parts_.times);
    head = response_head(stream, keep_alive ? HttpFraming::kChunked : HttpFraming::kToClose);
  }
  StreamWriter writer(*running, exchange.end, std::move(head), keep_alive,
                      parts_.handler.content_bytes_max());
  // Without a stream nothing is sent before the end. The end and a full queue are urgent.
  if (!running->stream) waker.gather_until_urgent();
  const bool has_ended = co_await send_stream(*running, writer, waker);
  if (writer.failed() != nullptr) co_return co_await fail(*running, writer, exchange);
  if (!has_ended) {
    exchange.end.is_cut = true;
    exchange.end.status = kClientLeft;
    running->cancel();
    socket_->close();
    co_await settle(writer);
    co_return false;
  }
  if (running->stream) {
    writer.finish();
    const bool sent = co_await send_events(writer, true);
    if (!sent) exchange.end.status = kClientLeft;
    if (sent && !keep_alive) co_await end_writing();
    co_return sent&& keep_alive;
  }
  // Formatting a large body takes time, so it must not block this thread's other connections.
  co_await asio::post(asio::bind_executor(parts_.workers.requests, use_awaitable));
  writer.finish();
  co_await asio::post(asio::bind_executor(executor_, use_awaitable));
  HttpResponse response{.status = 200, .body = writer.take_body()};
  co_return co_await answer(std::move(response), exchange);
}

/// Sends events until all choices have ended or one has failed. False if the client left.
Connection::Awaitable<bool> Connection::send_stream(RunningGeneration& running,
                                                    StreamWriter& writer, Waker& waker) {
  PacedStream paced(paces_.streams, parts_.times.gather);
  for (;;) {
    const bool any = writer.collect();
    if (writer.failed() != nullptr || writer.has_ended()) co_return true;
    if (running.stream && writer.has_events()) {
      if (!co_await send_events(writer, false)) co_return false;
      // Deltas that arrive soon are sent together: sending costs more than a token of a small
      // model. Urgent deltas and the end do not wait.
      const auto now = Clock::now();
      const auto until = paced.sent(now);
      if (until != now && !input_.has_ended() && waker.begin_gathering()) {
        co_await input_.wait(until);
        waker.end_gathering();
      }
      if (input_.has_ended()) co_return false;
      continue;
    }
    if (any) continue;
    if (input_.has_ended()) co_return false;
    if (!co_await input_.wait(Clock::now() + parts_.times.ping) && running.stream) {
      writer.write_ping();
      if (!co_await send_events(writer, false)) co_return false;
    }
  }
}

Connection::Awaitable<bool> Connection::send_events(StreamWriter& writer, bool is_last) {
  const std::string bytes = writer.take(is_last);
  co_return co_await socket_->send(bytes, parts_.times);
}

/// Reports why a generation failed: as the response, or as a stream's last event.
Connection::Awaitable<bool> Connection::fail(RunningGeneration& running, StreamWriter& writer,
                                             Exchange& exchange) {
  const bool has_begun = writer.has_begun();
  HttpResponse response = parts_.handler.failure(
      *writer.failed(), exchange.admitted, *running.writer, has_begun ? &writer.events() : nullptr);
  exchange.end.is_cut = true;
  running.cancel();
  bool more = false;
  if (!has_begun) {
    more = co_await answer(std::move(response), exchange);
  } else if (co_await send_events(writer, true)) {
    co_await end_writing();
  } else {
    exchange.end.status = kClientLeft;
  }
  co_await settle(writer);
  co_return more;
}

/// Waits until the engine has ended all choices of a cancelled generation, so that the log has the
/// final counts. A step that never ends delays only this connection, until `close`.
Connection::Awaitable<void> Connection::settle(StreamWriter& writer) {
  while (!writer.drop_rest() && !is_closed_) {
    co_await input_.wait(Clock::now() + parts_.times.ping);
  }
}

/// Sends a whole response. Returns whether the connection can serve another request. A large body
/// takes a share of the budget until it is sent, since the client may read slowly.
Connection::Awaitable<bool> Connection::answer(HttpResponse response, Exchange& exchange) {
  BudgetShare share(parts_.budgets.responses);
  if (!share.hold_body(response.body.size())) {
    response = parts_.handler.no_room(NoRoom::kResponse, exchange.admitted);
  }
  exchange.end.status = response.status;
  exchange.end.error = response.error;
  exchange.end.response.add(response.body, parts_.handler.content_bytes_max());
  const bool sent = co_await respond(std::move(response), exchange.request, &exchange.admitted,
                                     exchange.keep_alive);
  if (!sent) exchange.end.status = kClientLeft;
  co_return sent&& exchange.keep_alive;
}

Connection::Awaitable<bool> Connection::respond(HttpResponse response, const HttpRequest& request,
                                                const Admitted* admitted, bool keep_alive) {
  for (auto& field : parts_.handler.common_fields(request, admitted)) {
    response.fields.push_back(std::move(field));
  }
  if (keep_alive) add_keep_alive(response.fields, parts_.times);
  std::string bytes =
      response_head(response, keep_alive ? HttpFraming::kLength : HttpFraming::kClose);
  if (request.method == "HEAD") response.body.clear();
  // A small body is sent with its head; a large one is not copied.
  const bool is_small = response.body.size() <= kCopiedBytes;
  if (is_small) bytes += response.body;
  bool sent = co_await socket_->send(bytes, parts_.times);
  if (sent && !is_small) sent = co_await socket_->send(response.body, parts_.times);
  if (sent && !keep_alive) co_await end_writing();
  co_return sent;
}

/// Refuses a request and ends the connection.
Connection::Awaitable<void> Connection::refuse(const HttpRefusal& refusal,
                                               const HttpRequest& request) {
  if (refusal.status == 0) co_return;
  HttpResponse response = parts_.handler.refusal(refusal, request);
  response.fields.insert(response.fields.end(), refusal.fields.begin(), refusal.fields.end());
  co_await respond(std::move(response), request, nullptr, false);
}

/// Refuses a request whose head was not read to its end.
Connection::Awaitable<void> Connection::refuse_head(const HttpRefusal& refusal,
                                                    const HttpHeadReader& reader) {
  HttpRequest request = reader.request();
  request.peer = peer_;
  request.is_reserved = parts_.is_reserved;
  co_await refuse(refusal, request);
}

Connection::Awaitable<void> Connection::end_writing() {
  co_await socket_->end_writing(parts_.times);
  has_ended_writing_ = true;
}

/// Reads and drops bytes that still arrive. Closing with unread bytes would reset the connection,
/// and the client would lose the response.
Connection::Awaitable<void> Connection::linger() {
  const auto until = Clock::now() + parts_.times.linger;
  while (!input_.has_ended() && Clock::now() < until) {
    input_.use(input_.bytes().size());
    co_await input_.wait(until);
  }
}

}  // namespace ingot
