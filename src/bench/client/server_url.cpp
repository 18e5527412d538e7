// Parses server addresses strictly: user names, queries and fragments are errors.
#include "bench/client/server_url.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::size_t kUrlBytesMax = 2048;
/// Bytes of a path in `sockaddr_un` on Linux, with the zero at its end.
constexpr std::size_t kUnixPathBytesMax = 107;

[[noreturn]] void refuse(std::string_view text, std::string_view expected) {
  throw Error(ErrorCode::kInvalid,
              cat("URL ", printable(text), " is not possible: expected ", expected));
}

bool is_plain(char c) { return c > ' ' && c < 0x7f; }

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_port(std::string_view text) {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && value >= 1 && value <= 65535;
}

ServerUrl parse_unix(std::string_view text) {
  const std::string_view path = text.substr(std::string_view("unix:").size());
  if (path.empty() || path.size() > kUnixPathBytesMax || path.find('\0') != path.npos) {
    refuse(text, cat("unix: and a path of 1 to ", kUnixPathBytesMax, " bytes"));
  }
  return {.unix_path = std::string(path)};
}

/// Takes the host off the front of "host:port" or "[address]:port".
std::string take_host(std::string_view text, std::string_view& rest) {
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) refuse(text, "] behind the address");
    const std::string_view host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.") != host.npos || host.empty()) {
      refuse(text, "an IPv6 address between the brackets");
    }
    return std::string(host);
  }
  const std::string_view host = rest.substr(0, rest.find(':'));
  rest.remove_prefix(host.size());
  if (host.empty() || !std::all_of(host.begin(), host.end(), is_host_char)) {
    refuse(text, "the name of a host");
  }
  return std::string(host);
}

std::string parse_prefix(std::string_view text, std::string_view path) {
  if (!std::all_of(path.begin(), path.end(), is_plain) || path.find_first_of("?#") != path.npos) {
    refuse(text, "a path without spaces, ? and #");
  }
  const auto trim = [&] {
    while (path.ends_with('/')) path.remove_suffix(1);
  };
  trim();
  if (path.ends_with("/v1")) path.remove_suffix(3);
  trim();
  return std::string(path);
}

}  // namespace

std::string ServerUrl::host_field() const {
  if (!unix_path.empty()) return "localhost";
  const std::string name = host.find(':') == host.npos ? host : cat("[", host, "]");
  return port == (is_tls ? "443" : "80") ? name : cat(name, ":", port);
}

ServerUrl parse_server_url(std::string_view text) {
  if (text.size() > kUrlBytesMax) refuse(text, cat("at most ", kUrlBytesMax, " bytes"));
  if (text.starts_with("unix:")) return parse_unix(text);
  constexpr std::string_view kHttp = "http://", kHttps = "https://";
  ServerUrl url{.is_tls = text.starts_with(kHttps)};
  if (!url.is_tls && !text.starts_with(kHttp)) refuse(text, "http://, https:// or unix:");
  std::string_view rest = text.substr(url.is_tls ? kHttps.size() : kHttp.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.prefix = parse_prefix(text, rest.substr(slash));
  rest = rest.substr(0, slash);
  url.host = take_host(text, rest);
  url.port = url.is_tls ? "443" : "80";
  if (rest.empty()) return url;
  url.port = std::string(rest.substr(1));
  if (!rest.starts_with(':') || !is_port(url.port)) refuse(text, "a port of 1 to 65535");
  return url;
}

}  // namespace ingot
