// gunzip: decompresses gzip with zlib, piece by piece.
#include "server/http/gzip.h"

#include <zlib.h>

#include <array>
#include <new>
#include <utility>

#include "base/text.h"
#include "server/http/body_reader.h"

namespace ingot {

namespace {

/// Bytes that are decompressed at once. A larger piece would not be faster.
constexpr std::size_t kPieceBytes = 32 << 10;
/// zlib's value for the largest window and the format gzip alone.
constexpr int kGzipWindow = MAX_WBITS + 16;
/// The first byte of each member.
constexpr Bytef kMagic = 0x1f;

/// Reads members of gzip from a text.
class GzipReader {
 public:
  /// `input` must outlive the reader. zlib does not write to it. Errors: std::bad_alloc.
  explicit GzipReader(std::string& input) {
    stream_.next_in = reinterpret_cast<Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~GzipReader() { inflateEnd(&stream_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Returns the next bytes of the data; empty after the last byte, or after an error.
  std::string_view next() {
    std::size_t size = 0;
    while (size == 0 && error_.empty() && !has_ended_) size = inflate_piece();
    return {reinterpret_cast<const char*>(piece_.data()), size};
  }
  /// Returns what is wrong with the input; empty: nothing so far.
  std::string_view error() const { return error_; }

 private:
  std::size_t inflate_piece() {
    stream_.next_out = piece_.data();
    stream_.avail_out = static_cast<uInt>(piece_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END) {
      end_member();
    } else if (status != Z_OK) {
      error_ = status == Z_BUF_ERROR ? "ends too early" : "is damaged";
    }
    return piece_.size() - stream_.avail_out;
  }

  void end_member() {
    has_ended_ = stream_.avail_in == 0;
    if (has_ended_) return;
    if (*stream_.next_in != kMagic) error_ = "has extra bytes behind its end";
    inflateReset(&stream_);
  }

  z_stream stream_{};
  std::array<Bytef, kPieceBytes> piece_{};
  bool has_ended_ = false;
  std::string_view error_;
};

/// Appends the decompressed body to `data`. Returns a refusal as `gunzip` does. Errors:
/// std::bad_alloc.
std::optional<HttpRefusal> read_gzip(std::string& body, std::size_t bytes_max, BudgetShare& share,
                                     std::string& data) {
  GzipReader reader(body);
  for (std::string_view piece = reader.next(); !piece.empty(); piece = reader.next()) {
    if (piece.size() > bytes_max - data.size()) {
      return HttpRefusal{413, cat("the decompressed body may have ", bytes_max, " bytes")};
    }
    if (!share.hold_body(body.size() + data.size() + piece.size())) return kNoRoomForBodies;
    data += piece;
  }
  if (reader.error().empty()) return std::nullopt;
  return HttpRefusal{400, cat("the body's gzip ", reader.error())};
}

}  // namespace

std::optional<HttpRefusal> gunzip(std::string& body, std::size_t bytes_max, BudgetShare& share) {
  try {
    std::string data;
    if (auto refusal = read_gzip(body, bytes_max, share, data)) return refusal;
    body = std::move(data);
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return kNoRoomForBodies;
  }
}

}  // namespace ingot
