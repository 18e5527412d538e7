// HttpHeadReader: reads the head of an HTTP/1.1 request strictly. A head that two readers could
// understand differently is refused (RFC 9112, with none of its leniencies).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "server/http/http.h"

namespace ingot {

/// A request's head, and what it says about the body and the connection.
struct HttpHead {
  HttpRequest request;       ///< its body is empty yet
  std::size_t bytes = 0;     ///< length of the head with the empty line
  std::uint64_t length = 0;  ///< bytes of the body, unless it is chunked
  bool is_chunked = false;
  bool wants_continue = false;  ///< the client waits for "100 Continue" before its body
  bool keep_alive = true;
  bool is_http_1_0 = false;
};

/// Reads heads from what a connection received, and looks at each byte about once however it
/// arrives.
class HttpHeadReader {
 public:
  explicit HttpHeadReader(const HttpLimits& limits) : limits_(limits) {}

  /// `bytes`: all bytes since the end of the last head; each call sees the bytes of the last one
  /// and later ones. Returns nothing while the head has not ended; afterwards the next head is
  /// read.
  std::optional<std::variant<HttpHead, HttpRefusal>> read(std::string_view bytes);

 private:
  std::optional<HttpRefusal> look_at_line(char c);
  std::optional<HttpRefusal> scan(std::string_view bytes);

  HttpLimits limits_;
  std::size_t scanned_ = 0;     ///< bytes that were searched for the end
  std::size_t line_ = 0;        ///< bytes of the request line; 0 while it has not ended
  bool has_method_ = false;     ///< the method has ended
  std::size_t line_begin_ = 0;  ///< where the line begins that `scanned_` is in
  std::size_t end_ = 0;         ///< bytes of the head; 0 while it has not ended
};

/// Whether a text is a valid method or header field name: letters, digits and !#$%&'*+-.^_`|~
bool is_http_token(std::string_view text);

}  // namespace ingot
