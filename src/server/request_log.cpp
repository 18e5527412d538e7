// Lines of the log.
#include "server/request_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "base/error.h"

namespace ingot {

namespace {

/// With its end. As much as a pipe takes without waiting once it says that it can be written to.
constexpr std::size_t kLineMax = PIPE_BUF;

/// Of what went wrong.
constexpr std::size_t kCauseBytes = 512;

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

bool ServerLog::is_due(std::string_view name, int status, Json& fields) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const std::lock_guard lock(mutex_);
  Lines& lines = lines_[{name, status}];
  if (second == lines.second) {
    ++lines.others;
    return false;
  }
  lines.second = second;
  fields.set("status", status);
  fields.set("others", std::exchange(lines.others, std::uint64_t{0}));
  return true;
}

void ServerLog::refusal(std::string_view event, int status) {
  if (level_ == Level::kNone) return;
  Json fields = Json::object();
  if (is_due(event, status, fields)) write(event, fields);
}

void ServerLog::failure(std::string_view route, std::string_view id, std::string_view cause) {
  if (level_ == Level::kNone) return;
  Json fields = Json::object();
  fields.set("id", id);
  fields.set("route", route);
  fields.set("cause", printable(cause, kCauseBytes));
  if (is_due(route, 500, fields)) write("failed", fields);
}

}  // namespace ingot
