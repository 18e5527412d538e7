// HttpResponseReader: parses one HTTP/1.1 response from a connection's bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ingot {

/// Reads one response with Beast's parser. It does no I/O.
class HttpResponseReader {
 public:
  HttpResponseReader();
  ~HttpResponseReader();
  HttpResponseReader(const HttpResponseReader&) = delete;
  HttpResponseReader& operator=(const HttpResponseReader&) = delete;

  /// Consumes bytes from the front of `bytes` and returns how many. The caller passes the rest
  /// again, followed by newer bytes.
  std::size_t read(std::string_view bytes);
  /// The connection ended: that ends a body without a length, and is an error otherwise.
  void end_of_connection();
  /// The bytes of the body read since the last call.
  std::string take_body();

  bool has_head() const;
  bool is_done() const;
  /// The status; valid once the head is read.
  int status() const;
  bool is_event_stream() const;
  bool keeps_alive() const;
  /// Why the bytes are not a valid response, in one line; empty while they may be.
  const std::string& problem() const { return problem_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string problem_;
};

}  // namespace ingot
