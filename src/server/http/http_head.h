// HttpHeadReader: reads the head of an HTTP/1.1 request strictly (RFC 9112). Refuses each head for
// which two parsers could find different ends of the head or of its body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "server/http/http.h"

namespace ingot {

/// A parsed head: the request, its body's framing, and options of the connection.
struct HttpHead {
  HttpRequest request;       ///< the request, with an empty body
  std::string authority;     ///< host and port of a target "http://host:port/path"; else empty
  std::size_t bytes = 0;     ///< length of the head, with its empty line
  std::uint64_t length = 0;  ///< length of the body in bytes; unused for a chunked body
  bool is_chunked = false;
  bool is_gzip = false;         ///< the body is compressed
  bool wants_continue = false;  ///< the client sends its body only after "100 Continue"
  bool keep_alive = true;
  bool is_http_1_0 = false;
};

/// Reads heads from the bytes of a connection. It scans each byte about once, even if bytes arrive
/// one by one.
class HttpHeadReader {
 public:
  explicit HttpHeadReader(const HttpLimits& limits) : limits_(limits) {}

  /// In each call, `bytes` must hold all bytes since the end of the last head. Returns nothing
  /// until the head is complete. After a head, the next call begins the next head. After a refusal,
  /// `read` must not be called.
  std::optional<std::variant<HttpHead, HttpRefusal>> read(std::string_view bytes);

  /// Whether the request line has begun: empty lines before it do not count.
  bool has_begun() const { return has_begun_; }
  /// Returns the part of the request that was read, for the log line of a refused request.
  const HttpRequest& request() const { return head_.request; }

 private:
  std::optional<HttpRefusal> look_at_line(char c);
  std::optional<HttpRefusal> end_line(std::string_view bytes);
  std::optional<HttpRefusal> scan(std::string_view bytes);

  HttpLimits limits_;
  HttpHead head_;
  std::size_t scanned_ = 0;     ///< number of bytes searched for the head's end
  bool has_begun_ = false;      ///< true after the first byte of the request line
  bool has_method_ = false;     ///< true if the end of the method was found
  int empty_lines_ = 0;         ///< number of empty lines before the request line
  std::size_t fields_ = 0;      ///< offset of the header fields; 0: the request line has not ended
  std::size_t line_begin_ = 0;  ///< offset of the line in which the search continues
  std::size_t end_ = 0;         ///< length of the head; 0: not ended yet
};

/// Whether `text` may name a method or a header field: letters, digits and !#$%&'*+-.^_`|~
bool is_http_token(std::string_view text);

}  // namespace ingot
