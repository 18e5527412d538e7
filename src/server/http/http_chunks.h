// HttpChunkReader: reads a chunked body strictly (RFC 9112, section 7.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http.h"

namespace ingot {

/// Decodes a chunked body as it arrives.
class HttpChunkReader {
 public:
  explicit HttpChunkReader(std::size_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

  /// Decodes `bytes` and appends the data to `body`. Returns how many bytes this call used: all
  /// of `bytes`, or fewer if the body ends. Must not be called after a refusal.
  std::size_t read(std::string_view bytes, std::string& body);

  bool has_ended() const { return state_ == State::kEnded; }
  const std::optional<HttpRefusal>& refusal() const { return refusal_; }

 private:
  enum class State { kSize, kData, kDataCr, kDataLf, kTrailer, kEnded };
  void refuse(int status, std::string message);
  std::size_t read_data(std::string_view bytes, std::string& body);
  void read_char(char c, std::size_t body_bytes);
  void end_size_line(std::size_t body_bytes);
  void end_trailer_line();

  std::size_t body_bytes_max_;
  State state_ = State::kSize;
  std::string line_;         ///< the incomplete size line or trailer
  std::uint64_t left_ = 0;   ///< number of missing bytes of the current chunk
  std::size_t framing_ = 0;  ///< number of bytes of extensions and trailers so far
  std::optional<HttpRefusal> refusal_;
};

}  // namespace ingot
