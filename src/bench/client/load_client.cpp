// LoadClient: runs each request as a coroutine, all in one thread; starts them on schedule.
#include "bench/client/load_client.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "bench/client/http_client.h"
#include "bench/client/load_schedule.h"

namespace ingot {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

/// The time between two calls of `on_tick`, which notices signals.
constexpr std::chrono::milliseconds kTick(50);

HttpClientOptions http_options(const LoadClientOptions& options) {
  return {.url = options.url,
          .verify = options.verify,
          .api_key = options.api_key,
          .user_agent = options.user_agent,
          .timeout_seconds = options.timeout_seconds};
}

class PlainSink final : public ResponseSink {
 public:
  explicit PlainSink(PlainAnswer& answer) : answer_(answer) {}
  void head(int status, bool) override { answer_.status = status; }
  bool body(std::string_view bytes) override {
    constexpr std::size_t kBytesMax = 4 << 20;
    answer_.body += bytes;
    return answer_.body.size() <= kBytesMax;
  }

 private:
  PlainAnswer& answer_;
};

class TimelineSink final : public ResponseSink {
 public:
  TimelineSink(Timeline& timeline, Clock::time_point begin) : timeline_(timeline), begin_(begin) {}
  void head(int status, bool is_event_stream) override {
    timeline_.head(status, is_event_stream, now());
  }
  bool body(std::string_view bytes) override { return timeline_.body(bytes, now()); }
  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  Timeline& timeline_;
  Clock::time_point begin_;
};

}  // namespace

struct LoadClient::Parts {
  explicit Parts(LoadClientOptions o)
      : options(std::move(o)), client(io.get_executor(), http_options(options)) {}

  /// Runs coroutines until `is_over`. Rethrows what a coroutine threw.
  template <class IsOver>
  void run_until(IsOver is_over) {
    while (!is_over() && !failure) {
      io.restart();
      io.run_for(kTick);
      if (options.on_tick) options.on_tick();
    }
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }

  void run(asio::awaitable<void> work) {
    bool is_over = false;
    asio::co_spawn(io, std::move(work), [&](const std::exception_ptr& thrown) {
      is_over = true;
      failure = thrown;
    });
    run_until([&] { return is_over; });
  }

  LoadClientOptions options;
  asio::io_context io{1};
  HttpClient client;
  std::exception_ptr failure;
};

namespace {

/// The requests of one plan.
class Run {
 public:
  Run(asio::io_context& io, HttpClient& client, const LoadPlan& plan, std::exception_ptr& failure)
      : io_(io),
        client_(client),
        plan_(plan),
        failure_(failure),
        schedule_(plan.arrivals, plan.concurrency),
        timer_(io),
        begin_(Clock::now()),
        calls_(plan.arrivals.size()) {}

  bool is_over() const { return schedule_.is_over(); }
  std::vector<LoadedCall> take_calls() { return std::move(calls_); }

  /// Starts all due requests, and sets a timer for the next one.
  void start_due() {
    while (const auto number = schedule_.take_due(now())) {
      calls_[*number].start = schedule_.start_of(*number, now());
      asio::co_spawn(io_, call(*number), [this](const std::exception_ptr& thrown) {
        if (thrown) failure_ = thrown;
      });
    }
    const auto next = schedule_.next_at();
    if (!next) return;
    timer_.expires_at(
        begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*next)));
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error) start_due();
    });
  }

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  asio::awaitable<void> call(std::size_t number) {
    const std::string body = plan_.body(number);
    Timeline timeline(now(), plan_.keeps_text(number));
    TimelineSink sink(timeline, begin_);
    const std::string problem = co_await client_.exchange("POST", plan_.path, body, sink);
    timeline.end(problem, now());
    calls_[number].result = std::move(timeline.result());
    schedule_.end_one();
    if (plan_.on_done) plan_.on_done(schedule_.ended());
    start_due();
    if (is_over()) io_.stop();
  }

  asio::io_context& io_;
  HttpClient& client_;
  const LoadPlan& plan_;
  std::exception_ptr& failure_;
  LoadSchedule schedule_;
  asio::steady_timer timer_;
  Clock::time_point begin_;
  std::vector<LoadedCall> calls_;
};

asio::awaitable<void> ask(HttpClient& client, std::string path, PlainAnswer& answer) {
  PlainSink sink(answer);
  answer.problem = co_await client.exchange("GET", path, {}, sink);
}

}  // namespace

LoadClient::LoadClient(LoadClientOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {}

LoadClient::~LoadClient() = default;

void LoadClient::connect() { parts_->run(parts_->client.open()); }

PlainAnswer LoadClient::get(std::string_view path) {
  PlainAnswer answer;
  parts_->run(ask(parts_->client, std::string(path), answer));
  return answer;
}

std::int64_t LoadClient::reconnects() const { return parts_->client.reconnects(); }

std::vector<LoadedCall> LoadClient::run(const LoadPlan& plan) {
  Run run(parts_->io, parts_->client, plan, parts_->failure);
  run.start_due();
  parts_->run_until([&] { return run.is_over(); });
  return run.take_calls();
}

}  // namespace ingot
