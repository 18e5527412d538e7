// ServerUrl: parses a server's address as a user writes it.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// The parsed address of a server.
struct ServerUrl {
  bool is_tls = false;
  std::string host{};       ///< name or address, without brackets; empty for a Unix socket
  std::string port{};       ///< port number in decimal digits
  std::string unix_path{};  ///< path of a Unix socket; empty for TCP
  std::string prefix{};     ///< beginning of every request's path, such as "/a/b"; may be empty

  /// Returns the value of the Host field of requests.
  std::string host_field() const;
};

/// Parses `http[s]://host[:port][/prefix]` or `unix:PATH`. Drops /v1 at the end of the prefix,
/// because the paths of requests begin with /v1.
///
/// Errors: Error{kInvalid} if `text` has another form; the message tells what was expected.
ServerUrl parse_server_url(std::string_view text);

}  // namespace ingot
