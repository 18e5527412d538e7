// Receiver: reads ahead from a socket, and notices when the client leaves.
#include "server/http/receiver.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace ingot {

namespace asio = boost::asio;
using asio::use_awaitable;

namespace {

/// Maximum bytes read ahead: more than the largest head, so that a larger one is recognized.
constexpr std::size_t kAheadBytes = 80 << 10;
/// Interval at which a socket with a full buffer is checked for the client's end.
constexpr auto kLookForEnd = std::chrono::milliseconds(500);

}  // namespace

asio::awaitable<void> Receiver::run() {
  boost::system::error_code ignored;
  while (!has_ended_) {
    if (bytes().size() >= kAheadBytes) {
      room_.expires_after(kLookForEnd);
      co_await room_.async_wait(asio::redirect_error(use_awaitable, ignored));
      if (socket_.has_left()) end();
      continue;
    }
    const bool more = co_await socket_.read(input_, kAheadBytes - bytes().size());
    has_ended_ = has_ended_ || !more;
    wake();
  }
}

void Receiver::end() {
  has_ended_ = true;
  wake();
  room_.cancel();
}

void Receiver::use(std::size_t count) {
  used_ += count;
  if (used_ == input_.size()) {
    // An idle connection keeps no memory of its last request.
    std::string().swap(input_);
    used_ = 0;
  } else if (used_ > kAheadBytes / 2) {
    input_.erase(0, used_);
    used_ = 0;
  }
  room_.cancel();
}

asio::awaitable<bool> Receiver::wait(Clock::time_point until) {
  boost::system::error_code error;
  signal_.expires_at(until);
  co_await signal_.async_wait(asio::redirect_error(use_awaitable, error));
  co_return error == asio::error::operation_aborted;
}

}  // namespace ingot
