// HttpChunkReader: a state machine that decodes a chunked body.
#include "server/http/http_chunks.h"

#include <algorithm>
#include <charconv>

#include "base/index.h"
#include "base/text.h"
#include "server/http/http_head.h"

namespace ingot {

namespace {

constexpr std::size_t kLineMax = 512;       ///< maximum bytes of a size line or a trailer
constexpr std::size_t kFramingMax = 4096;   ///< maximum bytes of extensions and trailers of a body
constexpr std::size_t kSizeDigitsMax = 15;  ///< maximum digits of a size, with leading zeros

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

void HttpChunkReader::refuse(int status, std::string message) {
  refusal_ = HttpRefusal{status, std::move(message)};
}

std::size_t HttpChunkReader::read(std::string_view bytes, std::string& body) {
  std::size_t at = 0;
  while (at < bytes.size() && !refusal_ && state_ != State::kEnded) {
    if (state_ == State::kData) {
      at += read_data(bytes.substr(at), body);
    } else {
      read_char(bytes[at++], body.size());
    }
  }
  return at;
}

std::size_t HttpChunkReader::read_data(std::string_view bytes, std::string& body) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  body += bytes.substr(0, count);
  left_ -= count;
  if (left_ == 0) state_ = State::kDataCr;
  return count;
}

void HttpChunkReader::read_char(char c, std::size_t body_bytes) {
  if (state_ == State::kDataCr || state_ == State::kDataLf) {
    if (c != (state_ == State::kDataCr ? '\r' : '\n')) return refuse(400, "a chunk is malformed");
    state_ = state_ == State::kDataCr ? State::kDataLf : State::kSize;
    return;
  }
  line_ += c;
  if (line_.size() > kLineMax) return refuse(400, "a chunk's line is too long");
  if (c != '\n') {
    // A CR may only stand at the end of a line.
    if (line_.size() > 1 && line_[line_.size() - 2] == '\r') refuse(400, "a chunk is malformed");
    return;
  }
  if (!line_.ends_with("\r\n")) return refuse(400, "a chunk is malformed");
  line_.resize(line_.size() - 2);
  if (state_ == State::kSize) {
    end_size_line(body_bytes);
  } else {
    end_trailer_line();
  }
  line_.clear();
}

void HttpChunkReader::end_size_line(std::size_t body_bytes) {
  const auto digits = to_size(std::find_if_not(line_.begin(), line_.end(), is_hex) - line_.begin());
  if (digits == 0 || digits > kSizeDigitsMax) return refuse(400, "a chunk's size is malformed");
  const std::string_view extension = std::string_view(line_).substr(digits);
  const bool is_visible = std::all_of(extension.begin(), extension.end(),
                                      [](char c) { return c >= ' ' && c < '\x7f'; });
  if (!extension.empty() && (extension.front() != ';' || !is_visible)) {
    return refuse(400, "a chunk's size is malformed");
  }
  framing_ += extension.size();
  if (framing_ > kFramingMax) return refuse(400, "the chunks' extensions are too long");
  std::from_chars(line_.data(), line_.data() + digits, left_, 16);
  if (left_ > body_bytes_max_ - body_bytes) {
    return refuse(413, cat("the body may have ", body_bytes_max_, " bytes"));
  }
  state_ = left_ == 0 ? State::kTrailer : State::kData;
}

/// Trailers are read and dropped. A trailer that would change the request is refused.
void HttpChunkReader::end_trailer_line() {
  if (line_.empty()) {
    state_ = State::kEnded;
    return;
  }
  framing_ += line_.size();
  const std::size_t colon = line_.find(':');
  if (framing_ > kFramingMax) return refuse(400, "the trailers are too long");
  if (colon == std::string::npos || !is_http_token(std::string_view(line_).substr(0, colon))) {
    return refuse(400, "a trailer is malformed");
  }
  const std::string name = lower_ascii(std::string_view(line_).substr(0, colon));
  for (const std::string_view framing :
       {"content-length", "transfer-encoding", "host", "content-encoding", "content-type",
        "trailer", "authorization", "expect", "connection"}) {
    if (name == framing) refuse(400, "a trailer cannot say that");
  }
}

}  // namespace ingot
