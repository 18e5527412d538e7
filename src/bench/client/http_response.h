// HttpResponseReader: parses one HTTP/1.1 response from a connection's bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ingot {

/// Parses one response with the Beast library. It does no I/O.
class HttpResponseReader {
 public:
  HttpResponseReader();
  ~HttpResponseReader();
  HttpResponseReader(const HttpResponseReader&) = delete;
  HttpResponseReader& operator=(const HttpResponseReader&) = delete;

  /// Parses the front of `bytes` and returns the number of parsed bytes. The next call must pass
  /// the remaining bytes again, followed by newer bytes.
  std::size_t read(std::string_view bytes);
  /// Handles the end of the connection: sets `problem` if the response is not complete.
  void end_of_connection();
  /// Removes and returns the bytes of the body that were parsed since the last call.
  std::string take_body();

  bool has_head() const;
  bool is_done() const;
  /// Returns the HTTP status; valid once has_head() is true.
  int status() const;
  bool is_event_stream() const;
  bool keeps_alive() const;
  /// Returns why the bytes are no valid response, in one line; empty if no error was found yet.
  const std::string& problem() const { return problem_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string problem_;
};

}  // namespace ingot
