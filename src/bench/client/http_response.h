// HttpResponseReader: one HTTP/1.1 response out of the bytes of a connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ingot {

/// Reads one response, through Beast's parser. Pure: somebody else has the connection.
class HttpResponseReader {
 public:
  HttpResponseReader();
  ~HttpResponseReader();
  HttpResponseReader(const HttpResponseReader&) = delete;
  HttpResponseReader& operator=(const HttpResponseReader&) = delete;

  /// Takes what it can from the beginning of `bytes`, all that the connection has; returns how
  /// much. The rest is to be handed in again with more behind it.
  std::size_t read(std::string_view bytes);
  /// The connection ended: the end of a body without a length, or an error.
  void end_of_connection();
  /// The bytes of the body that were read since the last call.
  std::string take_body();

  bool has_head() const;
  bool is_done() const;
  /// Of a response that has its head.
  int status() const;
  bool is_event_stream() const;
  bool keeps_alive() const;
  /// Why it is no response, on one line; empty while it can be one.
  const std::string& problem() const { return problem_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string problem_;
};

}  // namespace ingot
