// Lines of the log.
#include "server/request_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

namespace ingot {

namespace {

/// With its end. As much as a pipe takes without waiting once it says that it can be written to.
constexpr std::size_t kLineMax = PIPE_BUF;

/// Whether a line can be written now: a reader that has stopped must not stop the server.
bool has_room(int fd) {
  pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&wanted, 1, 0) == 1;
}

}  // namespace

void ServerLog::write(std::string_view event, const Json& fields) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json line = Json::object();
  line.set("time", std::chrono::duration<double>(now).count());
  line.set("event", event);
  for (const auto& [name, value] : *fields.as_object()) line.set(name, value);
  std::string text = line.dump();
  if (text.size() >= kLineMax) text.resize(kLineMax - 1);
  text += '\n';
  const std::lock_guard lock(mutex_);
  if (!has_room(fd_)) {
    dropped_.fetch_add(1);
    return;
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      dropped_.fetch_add(1);
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

void ServerLog::request(const Json& fields) {
  if (has_requests()) write("request", fields);
}

void ServerLog::refusal(std::string_view event, int status) {
  if (level_ == Level::kNone) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  Json fields = Json::object();
  {
    const std::lock_guard lock(mutex_);
    Refusals& refusals = refusals_[event];
    if (second == refusals.second) {
      ++refusals.others;
      return;
    }
    refusals.second = second;
    fields.set("status", status);
    fields.set("others", std::exchange(refusals.others, std::uint64_t{0}));
  }
  write(event, fields);
}

}  // namespace ingot
