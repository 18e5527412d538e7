// Receiver: buffers the bytes that arrive on a socket, and lets a connection wait for more.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/socket.h"

namespace ingot {

/// A bounded buffer of received bytes. One coroutine fills the buffer, another coroutine empties
/// it. Both run in the executor's thread.
class Receiver {
 public:
  using Clock = std::chrono::steady_clock;

  /// `socket` must outlive the receiver.
  Receiver(Socket& socket, const boost::asio::any_io_executor& executor)
      : socket_(socket), signal_(executor), room_(executor) {}

  /// Fills the buffer until the client closes its side, or `end` is called.
  boost::asio::awaitable<void> run();
  /// Stops receiving.
  void end();
  bool has_ended() const { return has_ended_; }
  /// Returns whether receiving has ended, as a flag that other threads may read.
  const std::atomic<bool>& ended() const { return has_ended_; }

  std::string_view bytes() const { return std::string_view(input_).substr(used_); }
  /// Drops the first `count` bytes of `bytes()`.
  void use(std::size_t count);

  /// Waits for a call of `wake`, at most until the time `until`. Returns whether `wake` was called.
  /// New bytes and the end of the input also call `wake`.
  boost::asio::awaitable<bool> wait(Clock::time_point until);
  void wake() { signal_.cancel(); }

 private:
  Socket& socket_;
  boost::asio::steady_timer signal_;  ///< timer that `wait` waits on
  boost::asio::steady_timer room_;    ///< timer that `run` waits on while the buffer is full
  std::string input_;
  std::size_t used_ = 0;  ///< number of bytes of `input_` that were dropped
  std::atomic<bool> has_ended_{false};
};

}  // namespace ingot
