// HTTP requests and responses as values, and writing responses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// Limits on a request. A request beyond one gets the limit in its response, and the connection
/// closes.
struct HttpLimits {
  /// Request line: method, target, version. RFC 9112 asks for at least 8,000 bytes.
  std::size_t line_bytes_max = 8 << 10;
  /// The line and all header fields, with cookies and tokens that proxies add. Each connection
  /// can hold this much before it has shown a key.
  std::size_t head_bytes_max = 32 << 10;
  /// Header fields. Looking one up walks through all of them.
  std::size_t fields_max = 100;
  /// The body without the framing of chunks.
  std::size_t body_bytes_max = 8 << 20;
};

/// Header fields in the order in which they came; names in lower case, values without white space
/// around them.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

/// A text with ASCII letters in lower case.
std::string lower_ascii(std::string_view text);

/// The value of the first field of that name, which is in lower case; null when there is none.
const std::string* find_field(const HttpFields& fields, std::string_view name);

/// A request whose head was read.
struct HttpRequest {
  std::string method;
  std::string path;   ///< the target's path, not decoded
  std::string query;  ///< behind the "?"; empty without one
  HttpFields fields;
  std::string body;
  std::string peer;          ///< address of the other end; empty for a Unix socket
  bool is_reserved = false;  ///< came on a connection that is kept for probes

  const std::string* field(std::string_view name) const { return find_field(fields, name); }
};

/// A whole response. `response_head` adds the length, the date and the fields of every response.
struct HttpResponse {
  int status = 200;
  std::string type = "application/json";  ///< the body's type; empty without a body
  std::string body{};
  HttpFields fields{};
};

/// Why a request cannot be read. It becomes the response, and the connection closes.
struct HttpRefusal {
  int status = 400;     ///< 0: no response, the client does not speak HTTP
  std::string message;  ///< fixed text, with limits where there are any
};

/// "Bad Request" for 400; "Unknown" for a status that this server does not give.
std::string_view status_text(int status);

/// How a body is framed, and whether the connection stays open behind it.
enum class HttpFraming {
  kLength,   ///< Content-Length, the connection stays
  kClose,    ///< Content-Length, and the connection closes
  kChunked,  ///< chunks, the connection stays
  kToClose,  ///< no length: the body ends with the connection
};

/// Status line and fields up to the empty line.
std::string response_head(const HttpResponse& response, HttpFraming framing);

/// A chunk of a chunked body; the last one is empty.
std::string http_chunk(std::string_view bytes);

}  // namespace ingot
