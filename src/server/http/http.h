// HTTP requests and responses as values; writes the heads and chunks of responses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// Limits on a request. A request that exceeds a limit gets an error that names the limit, and the
/// connection closes.
struct HttpLimits {
  /// Maximum bytes of the request line (method, target, version). RFC 9112 asks for 8,000 or more.
  std::size_t line_bytes_max = 8 << 10;
  /// Maximum bytes of the request line and all header fields, including cookies and tokens that
  /// proxies add. Each connection can use this much memory before its API key is checked.
  std::size_t head_bytes_max = 32 << 10;
  /// Maximum number of header fields; each look-up of a field searches all of them.
  std::size_t fields_max = 100;
  /// Maximum bytes of the body. The framing of chunks does not count.
  std::size_t body_bytes_max = 8 << 20;
};

/// Header fields in order. Names are in lower case; values have no white space around them.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// Returns `text` with its ASCII letters in lower case.
std::string lower_ascii(std::string_view text);

/// Returns the value of the first field named `name` (in lower case); null if no field has it.
const std::string* find_field(const HttpFields& fields, std::string_view name);

/// A request. Its head has been read; its body may still be missing.
struct HttpRequest {
  std::string method;
  std::string path;   ///< the target's path, still percent-encoded
  std::string query;  ///< the target's part after "?"; may be empty
  HttpFields fields;
  std::string body;
  std::string peer;          ///< the client's address; empty for a Unix socket
  bool is_reserved = false;  ///< true: the request's connection serves only probes

  const std::string* field(std::string_view name) const { return find_field(fields, name); }
};

/// An error's names, for the log. Both are empty if there is no error.
struct HttpError {
  std::string code{};
  std::string param{};  ///< name of the body's wrong member; empty: none
};

/// A whole response. `response_head` adds the length, the date and other common fields.
struct HttpResponse {
  int status = 200;
  std::string type = "application/json";  ///< Content-Type; empty if there is no body
  std::string body{};
  HttpFields fields{};
  HttpError error{};
};

/// Why a request cannot be read. The server sends the reason, then closes the connection.
struct HttpRefusal {
  int status = 400;     ///< HTTP status; 0: no response, since the client does not speak HTTP
  std::string message;  ///< text for the client; names the exceeded limit, if any
  HttpFields fields{};  ///< header fields of the response
};

/// Returns a status's reason phrase: "Bad Request" for 400; "Unknown" if the server never sends it.
std::string_view status_text(int status);

/// How a body is framed, and whether the connection stays open after it.
enum class HttpFraming {
  kLength,   ///< Content-Length; the connection stays open
  kClose,    ///< Content-Length; the connection closes
  kChunked,  ///< chunked; the connection stays open
  kToClose,  ///< no length; the body ends when the connection closes
};

/// Returns a response's status line and header fields, with the empty line after the fields.
std::string response_head(const HttpResponse& response, HttpFraming framing);

/// Returns `bytes` as one chunk of a chunked body; if `bytes` is empty, the last chunk.
std::string http_chunk(std::string_view bytes);

}  // namespace ingot
