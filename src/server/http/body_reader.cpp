// BodyReader: reads bodies framed by length or by chunks; computes the deadline of the next byte.
#include "server/http/body_reader.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {

BodyReader::BodyReader(const HttpHead& head, std::size_t body_bytes_max,
                       const ConnectionTimes& times, Clock::time_point begin)
    : times_(times), begin_(begin), left_(head.length) {
  if (head.is_chunked) chunks_.emplace(body_bytes_max);
  if (left_ > body_bytes_max) {
    refusal_ = HttpRefusal{413, cat("the body may have ", body_bytes_max, " bytes")};
  }
}

std::size_t BodyReader::read(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  if (chunks_) {
    used = chunks_->read(bytes, body);
  } else {
    used = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
    body += bytes.substr(0, used);
    left_ -= used;
  }
  received_ += used;
  return used;
}

BodyReader::Clock::time_point BodyReader::next_byte_by() const {
  const auto at_least = std::chrono::milliseconds(
      static_cast<std::int64_t>(received_ * 1000 / times_.body_bytes_per_second));
  return begin_ + std::min(times_.body, times_.body_grace + at_least);
}

}  // namespace ingot
