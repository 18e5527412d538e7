// ServerLog: writes log lines without blocking, safe for terminals and pipes.
#include "server/common/request_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/utf8.h"
#include "load/json_object.h"

namespace ingot {

namespace {

/// Maximum bytes of a line with its line break. A writable pipe takes this many without blocking.
constexpr std::size_t kLineMax = PIPE_BUF;

/// Maximum bytes of a refused request's path in a line, and of each other text about a refusal.
constexpr std::size_t kPathBytes = 256;
constexpr std::size_t kRefusalTextBytes = 64;

/// Maximum bytes of a failure's cause in a line.
constexpr std::size_t kCauseBytes = 512;

/// Maximum bytes of content in one line, and room for the line's other members.
constexpr std::size_t kContentBytes = 3 << 10;
constexpr std::size_t kOtherBytes = 128;

/// The JSON with its control characters escaped, so that a terminal can show it.
std::string harmless(std::string json) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (std::all_of(json.begin(), json.end(), is_plain)) return json;
  std::string out;
  for (std::size_t i = 0; i < json.size();) {
    const Utf8Char c = decode_utf8(std::string_view(json).substr(i));
    const std::string_view bytes(json.data() + i, c.size);
    i += c.size;
    if (is_harmless(c.code)) {
      out += bytes;
      continue;
    }
    // All such characters are below U+10000.
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(c.code >> shift) & 15U];
  }
  return out;
}

/// Length of the first whole characters of `text`: at most `most` bytes, at least one.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t bytes = std::max<std::size_t>(1, most);
  const auto continues = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80; };
  for (int i = 0; i < 3 && bytes > 1 && continues(); ++i) --bytes;
  return bytes;
}

/// Whether a write would not block: a stopped reader must not stop the server.
bool has_room(int fd) {
  pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&wanted, 1, 0) == 1;
}

}  // namespace

void add_refusal(Json& line, const HttpRequest& request, const HttpError& error) {
  const auto add = [&line](std::string_view name, std::string_view text, std::size_t bytes_max) {
    if (!text.empty()) line.set(std::string(name), printable(text, bytes_max));
  };
  add("path", request.path, kPathBytes);
  add("peer", request.peer, kRefusalTextBytes);
  add("code", error.code, kRefusalTextBytes);
  add("param", error.param, kRefusalTextBytes);
}

void ServerLog::write(std::string_view event, const Json& fields) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json line = json_object({{"time", std::chrono::duration<double>(now).count()}, {"event", event}});
  for (const auto& [name, value] : *fields.as_object()) line.set(name, value);
  std::string text = harmless(line.dump());
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
    rest.remove_prefix(to_size(count));
  }
}

void ServerLog::request(const Json& fields) {
  if (has_requests()) write("request", fields);
}

void ServerLog::content(std::string_view id, std::string_view of, std::string_view text,
                        bool is_cut) {
  if (!has_contents()) return;
  std::size_t at = 0;
  const auto fields = [&](std::size_t bytes) {
    Json line = json_object(
        {{"id", id}, {"of", of}, {"at", at}, {"text", to_valid_utf8(text.substr(0, bytes))}});
    if (bytes < text.size() || is_cut) line.set("goes_on", true);
    return line;
  };
  do {
    std::size_t bytes = whole_characters(text, kContentBytes);
    Json line = fields(bytes);
    // Escapes make the line longer.
    while (bytes > 1 && harmless(line.dump()).size() > kLineMax - kOtherBytes) {
      bytes = whole_characters(text, bytes / 2);
      line = fields(bytes);
    }
    write("content", line);
    text.remove_prefix(bytes);
    at += bytes;
  } while (!text.empty());
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

void ServerLog::refusal(std::string_view event, int status, const HttpRequest& request,
                        const HttpError& error) {
  if (level_ == Level::kNone) return;
  Json fields = Json::object();
  if (!is_due(event, status, fields)) return;
  add_refusal(fields, request, error);
  write(event, fields);
}

void ServerLog::event(std::string_view name, const Json& fields) {
  if (level_ != Level::kNone) write(name, fields);
}

void ServerLog::failure(std::string_view route, std::string_view id, std::string_view cause) {
  if (level_ == Level::kNone) return;
  Json fields =
      json_object({{"id", id}, {"route", route}, {"cause", printable(cause, kCauseBytes)}});
  if (is_due(route, 500, fields)) write("failed", fields);
}

}  // namespace ingot
