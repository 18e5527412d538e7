// Buffer: owns device memory. HostArena: allocates host memory in huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ingot {

/// Owns bytes that a backend allocated, and frees them.
class Buffer {
 public:
  using Free = void (*)(std::byte* data, std::int64_t bytes);

  Buffer() = default;
  Buffer(std::byte* data, std::int64_t bytes, Free free)
      : data_(data), bytes_(bytes), free_(free) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(free_, other.free_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) free_(data_, bytes_);
  }

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Free free_ = nullptr;
};

/// Allocates zeroed host memory, aligned to 64 bytes. For 2 MiB or more, aligns the memory to huge
/// pages and asks the system to use huge pages.
///
/// Errors: Error{kDoesNotFit} with the number of bytes.
Buffer allocate_host(std::int64_t bytes);

/// Allocates small pieces of host memory that share huge pages. Each piece has its own Buffer. An
/// extent of 64 MiB holds many pieces, and stays allocated while any of them lives. Only one thread
/// at a time may allocate; any thread may free.
class HostArena {
 public:
  HostArena() = default;
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  /// Allocates a zeroed piece, aligned to 64 bytes. Errors: those of allocate_host.
  Buffer allocate(std::int64_t bytes);

 private:
  struct Extent;
  static void release(Extent* extent);
  static void free_piece(std::byte* data, std::int64_t bytes);

  Extent* extent_ = nullptr;  ///< the extent from which `allocate` cuts new pieces; or null
  std::int64_t used_ = 0;     ///< bytes of `extent_` in use
};

}  // namespace ingot
