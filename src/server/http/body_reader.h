// BodyReader: takes a request's body out of the bytes that a connection receives.
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

/// Reads one body, framed by its length or by chunks, and says until when the next byte must come.
/// It knows no socket.
class BodyReader {
 public:
  using Clock = std::chrono::steady_clock;

  /// `times` outlives this; `begin` is when the head ended.
  BodyReader(const HttpHead& head, std::size_t body_bytes_max, const ConnectionTimes& times,
             Clock::time_point begin);

  /// Appends to `body` what `bytes` holds of it; returns how many bytes were used: all of them
  /// unless the body has ended. Not after a refusal.
  std::size_t read(std::string_view bytes, std::string& body);

  bool has_ended() const { return chunks_ ? chunks_->has_ended() : left_ == 0; }
  /// Why the body is not read; nothing while all is well. A length that is too large is refused
  /// before the first byte.
  const std::optional<HttpRefusal>& refusal() const {
    return chunks_ ? chunks_->refusal() : refusal_;
  }
  /// The body is late if nothing more has come by then: after a grace it needs a minimum rate.
  Clock::time_point next_byte_by() const;

 private:
  const ConnectionTimes& times_;
  Clock::time_point begin_;
  std::uint64_t left_;  ///< bytes that are to come, unless there are chunks
  std::size_t received_ = 0;
  std::optional<HttpChunkReader> chunks_;
  std::optional<HttpRefusal> refusal_;
};

}  // namespace ingot
