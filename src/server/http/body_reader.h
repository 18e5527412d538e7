// BodyReader: reads a request's body from the bytes that a connection receives.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/connection_times.h"
#include "server/http/http_chunks.h"
#include "server/http/http_head.h"

namespace ingot {

/// The refusal of a body for which too little of the budget is left.
inline const HttpRefusal kNoRoomForBodies{
    503, "too many large requests are being read: try again later"};

/// Extracts one body from received bytes. The body has a Content-Length or is chunked. Computes the
/// deadline for the body's next byte. Does no input or output.
class BodyReader {
 public:
  using Clock = std::chrono::steady_clock;

  /// `times` must outlive the reader. `begin` is the time at which the head ended.
  BodyReader(const HttpHead& head, std::size_t body_bytes_max, const ConnectionTimes& times,
             Clock::time_point begin);

  /// Decodes `bytes` and appends the body's data to `body`. Returns how many bytes this call used:
  /// all of `bytes`, or fewer if the body ends. Must not be called after a refusal.
  std::size_t read(std::string_view bytes, std::string& body);

  bool has_ended() const { return chunks_ ? chunks_->has_ended() : left_ == 0; }
  /// Returns why the body is refused; empty while the body is valid. A body whose Content-Length is
  /// too large is refused before its first byte.
  const std::optional<HttpRefusal>& refusal() const {
    return chunks_ ? chunks_->refusal() : refusal_;
  }
  /// Returns the deadline for the body's next byte. After a grace period a minimum rate applies.
  Clock::time_point next_byte_by() const;

 private:
  const ConnectionTimes& times_;
  Clock::time_point begin_;
  std::uint64_t left_;  ///< number of bytes still to read; unused for a chunked body
  std::size_t received_ = 0;
  std::optional<HttpChunkReader> chunks_;
  std::optional<HttpRefusal> refusal_;
};

}  // namespace ingot
