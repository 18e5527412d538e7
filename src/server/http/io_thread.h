// IoThread: a thread that does the input and output of some of the server's connections.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/processors.h"
#include "server/http/connection.h"

namespace ingot {

/// An event loop, its thread, and the connections that run in it.
class IoThread {
 public:
  IoThread() : work_(boost::asio::make_work_guard(context_)) {}

  boost::asio::io_context& context() { return context_; }
  /// Returns the rate limits that this thread's connections share.
  ThreadPaces& paces() { return paces_; }
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  /// Stops the thread. A later `start` runs the handlers that are still queued.
  void join() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    context_.restart();
  }

  // Call `add`, `remove` and `for_each` from this thread only.
  void add(const std::shared_ptr<Connection>& connection) {
    connections_[connection.get()] = connection;
  }
  void remove(const Connection* connection) { connections_.erase(connection); }
  /// Calls body(connection) for each open connection.
  template <class Body>
  void for_each(Body body) {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [raw, weak] : connections_) {
      if (auto connection = weak.lock()) all.push_back(std::move(connection));
    }
    for (const auto& connection : all) body(*connection);
  }

 private:
  /// Runs handlers until `join`. An exception (out of memory) ends only the handler that throws.
  void run() {
    interrupt_nobody();
    for (;;) {
      try {
        while (context_.run_one() > 0) {
          context_.poll();
          // Sleeps during a flood of refusals, to read later requests together.
          const auto rest = paces_.refusals.rest(RefusalPace::Clock::now());
          if (rest.count() > 0) std::this_thread::sleep_for(rest);
        }
        return;
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  ThreadPaces paces_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::map<const Connection*, std::weak_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace ingot
