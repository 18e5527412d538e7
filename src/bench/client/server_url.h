// ServerUrl: parses a server's address as a user writes it.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// The parsed address of a server.
struct ServerUrl {
  bool is_tls = false;
  std::string host{};       ///< a name or an address, without brackets; empty with a Unix socket
  std::string port{};       ///< decimal
  std::string unix_path{};  ///< path of a Unix socket
  std::string prefix{};     ///< in front of every path: "" or "/a/b"

  /// The value of a request's Host field.
  std::string host_field() const;
};

/// Reads `http[s]://host[:port][/prefix]` or `unix:PATH`. A prefix that ends in /v1 loses it: paths
/// begin with it.
///
/// Errors: Error{kInvalid} that names the wrong part.
ServerUrl parse_server_url(std::string_view text);

}  // namespace ingot
