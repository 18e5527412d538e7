// Buffer: memory of a device with one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ingot {

/// Owns bytes that a backend allocated, and gives them back.
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

/// Zeroed host memory, aligned to 64 bytes (large ones to pages, with huge pages where the system
/// gives them).
///
/// Errors: Error{kDoesNotFit} with the number of bytes.
Buffer allocate_host(std::int64_t bytes);

/// Host memory in blocks that lie side by side in large pages, which a block by itself would fill
/// in part or not at all. Each block has its owner; a stretch of them goes with the last of its
/// blocks. Not for several threads at once, but blocks may go in any.
class HostArena {
 public:
  HostArena() = default;
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  /// Zeroed, aligned to 64 bytes. Errors: as of `allocate_host`.
  Buffer allocate(std::int64_t bytes);

 private:
  struct Stretch;
  static void release(Stretch* stretch);
  static void free_block(std::byte* data, std::int64_t bytes);

  Stretch* stretch_ = nullptr;  ///< that blocks are cut from
  std::int64_t used_ = 0;       ///< bytes of it
};

}  // namespace ingot
