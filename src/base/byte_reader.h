// ByteReader: bounds-checked reading of untrusted bytes, for all parsers. Each error names file,
// section and offset.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

/// Reads little-endian values from a span of bytes, front to back.
///
/// Errors: model_error (code kModel) with the name of the file, the current section and the
/// offset.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string file)
      : bytes_(bytes), file_(std::move(file)) {}

  /// Sets the section for error messages, such as "header", "metadata" or "tensor table".
  void section(std::string name) { section_ = std::move(name); }

  std::uint64_t offset() const { return at_; }
  std::uint64_t remaining() const { return bytes_.size() - at_; }
  const std::string& file() const { return file_; }

  /// Reads the next sizeof(T) bytes as a little-endian number.
  template <class T>
  requires(std::integral<T> || std::floating_point<T>) && (!std::same_as<T, bool>)T read() {
    const std::span<const std::byte> raw = bytes(sizeof(T));
    T value;
    __builtin_memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// Reads the next `count` bytes without a copy: the result points into this reader's bytes.
  std::span<const std::byte> bytes(std::uint64_t count) {
    if (count > remaining()) {
      fail(cat("needs ", count, " bytes, ", remaining(), " are left"));
    }
    const auto part = bytes_.subspan(at_, count);
    at_ += count;
    return part;
  }

  /// Reads the next `count` bytes as text, without a copy: the text points into the reader's bytes.
  std::string_view text(std::uint64_t count) {
    const auto raw = bytes(count);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

  /// Moves to an absolute offset in this reader's bytes, at which the next read begins.
  void seek(std::uint64_t offset) {
    if (offset > bytes_.size()) fail(cat("offset ", offset, " is beyond the end"));
    at_ = offset;
  }

  [[noreturn]] void fail(std::string_view reason) const { fail_at(at_, reason); }
  [[noreturn]] void fail_at(std::uint64_t offset, std::string_view reason) const {
    throw model_error(file_, section_, offset, reason);
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t at_ = 0;
  std::string file_;
  std::string section_ = "header";
};

static_assert(std::endian::native == std::endian::little,
              "parsers and packed weights assume a little-endian machine");

}  // namespace ingot
