// TrafficRun's loop: submits due requests, steps the engine, collects tokens.
#include "bench/traffic/traffic_run.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"

namespace ingot {

namespace {

/// Longest sleep in seconds, so that a signal is noticed soon.
constexpr double kWaitMax = 0.05;

/// Copies the outcome of a request whose stream has ended.
void take_outcome(const Outcome& outcome, ServedRequest& served) {
  served.prompt_tokens = outcome.prompt_tokens;
  served.cached_tokens = outcome.cached_tokens;
  served.queue += outcome.queue_seconds;
  served.digest = outcome.digest;
  if (outcome.error) {
    served.error = outcome.error->message();
  } else if (outcome.finish != FinishReason::kLength) {
    served.error = cat("ended early: ", to_string(outcome.finish));
  }
}

}  // namespace

TrafficClock steady_traffic_clock() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto now = [begin] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto wait = [now](double until) {
    const double seconds = std::min(until - now(), kWaitMax);
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  return {.now = now, .wait = wait};
}

TrafficRun::TrafficRun(Engine& engine, const Traffic& traffic, const RequestWriter& writer,
                       TrafficClock clock, TrafficRunOptions options)
    : engine_(engine),
      traffic_(traffic),
      writer_(writer),
      clock_(std::move(clock)),
      options_(std::move(options)),
      served_(traffic.requests.size()) {}

std::vector<ServedRequest> TrafficRun::run() {
  began_ = clock_.now();
  while (done_ < served_.size()) {
    if (options_.on_step) options_.on_step();
    submit_due();
    if (live_.empty()) {
      wait();
      continue;
    }
    engine_.step();
    collect();
  }
  return std::move(served_);
}

bool TrafficRun::is_due(double now) const {
  if (next_ == served_.size()) return false;
  if (options_.concurrency > 0) return std::ssize(live_) < options_.concurrency;
  return traffic_.requests[next_].arrival <= now;
}

void TrafficRun::submit_due() {
  for (double now = clock_.now() - began_; is_due(now); ++next_) submit(next_, now);
}

void TrafficRun::submit(std::size_t number, double now) {
  ServedRequest& served = served_[number];
  served.start = options_.concurrency > 0 ? now : traffic_.requests[number].arrival;
  served.queue = now - served.start;
  Request request = writer_.write(number);
  const auto& checked = options_.checked;
  request.digest = std::binary_search(checked.begin(), checked.end(), number);
  auto stream = engine_.submit(std::move(request));
  if (stream) {
    live_.push_back({.number = number, .stream = std::move(*stream)});
    return;
  }
  served.is_busy = true;
  ++done_;
}

/// Waits until the next arrival, if there is one.
void TrafficRun::wait() {
  if (next_ < served_.size()) clock_.wait(began_ + traffic_.requests[next_].arrival);
}

void TrafficRun::collect() {
  const double now = clock_.now() - began_;
  for (Live& live : live_) take(live, now);
  std::erase_if(live_, [](const Live& live) { return live.stream.finished(); });
  if (options_.on_done) options_.on_done(done_);
}

void TrafficRun::take(Live& live, double now) {
  ServedRequest& served = served_[live.number];
  while (live.stream.try_next(delta_)) {
    if (delta_.ids.empty()) continue;
    if (served.output_tokens == 0) {
      served.first = now;
    } else {
      served.gaps.push_back(now - served.last);
    }
    served.last = now;
    served.output_tokens += std::ssize(delta_.ids);
    const auto& checked = options_.checked;
    if (std::binary_search(checked.begin(), checked.end(), live.number)) {
      served.ids.insert(served.ids.end(), delta_.ids.begin(), delta_.ids.end());
    }
  }
  if (live.stream.finished()) finish(live);
}

void TrafficRun::finish(Live& live) {
  take_outcome(live.stream.outcome(), served_[live.number]);
  ++done_;
}

ServedRequest serve_alone(Engine& engine, Request&& request, const std::function<void()>& on_step) {
  request.digest = true;
  Stream stream = *engine.submit(std::move(request));
  ServedRequest served;
  for (bool more = true; more;) {
    if (on_step) on_step();
    more = engine.step();
    while (const auto delta = stream.try_next()) {
      served.ids.insert(served.ids.end(), delta->ids.begin(), delta->ids.end());
    }
  }
  served.output_tokens = std::ssize(served.ids);
  take_outcome(stream.outcome(), served);
  return served;
}

}  // namespace ingot
