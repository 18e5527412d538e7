// Receiver: reads ahead what comes on a socket, and lets the connection wait for more.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "server/http/socket.h"

namespace ingot {

/// The bytes that came and were not used, up to a bound. One coroutine fills them, another one uses
/// them; both run in the thread of the executor.
class Receiver {
 public:
  using Clock = std::chrono::steady_clock;

  /// `socket` outlives this.
  Receiver(Socket& socket, const boost::asio::any_io_executor& executor)
      : socket_(socket), signal_(executor), room_(executor) {}

  /// Reads until the other end closes, or `end` is called.
  boost::asio::awaitable<void> run();
  /// Nothing more comes.
  void end();
  bool has_ended() const { return has_ended_; }

  std::string_view bytes() const { return std::string_view(input_).substr(used_); }
  /// Drops the first ones of `bytes`.
  void use(std::size_t count);

  /// Returns at the next `wake`, which comes with new bytes and at the end too, or at `until`:
  /// whether it was woken.
  boost::asio::awaitable<bool> wait(Clock::time_point until);
  void wake() { signal_.cancel(); }

 private:
  Socket& socket_;
  boost::asio::steady_timer signal_;  ///< what `wait` waits for
  boost::asio::steady_timer room_;    ///< what `run` waits for while there is no room
  std::string input_;
  std::size_t used_ = 0;  ///< bytes of `input_`
  bool has_ended_ = false;
};

}  // namespace ingot
