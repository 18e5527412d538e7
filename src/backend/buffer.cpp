// Host memory for weights, pages and scratch, from the heap or mapped in huge pages.
#include "backend/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <new>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::int64_t kHugePage = 2 << 20;

void unmap(std::byte* data, std::int64_t bytes) { munmap(data, to_size(bytes)); }

void free_aligned(std::byte* data, std::int64_t) { ::operator delete (data, std::align_val_t{64}); }

Error no_memory(std::int64_t bytes) {
  return {ErrorCode::kDoesNotFit,
          cat("the system did not give ", bytes,
              " bytes of memory; a smaller `context` or another `kv_type` needs less")};
}

/// Maps memory at a multiple of `alignment`, in huge pages if the system has them. Maps `alignment`
/// bytes more, then unmaps the bytes before and after. Returns null on failure.
std::byte* try_map_huge(std::int64_t bytes, std::int64_t alignment) {
  if (bytes > std::numeric_limits<std::int64_t>::max() - 2 * alignment) return nullptr;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t size = (bytes + page - 1) / page * page;
  void* data = mmap(nullptr, to_size(size + alignment), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(data);
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) %
                                              static_cast<std::uintptr_t>(alignment));
  const std::int64_t before = past == 0 ? 0 : alignment - past;
  if (before > 0) unmap(first, before);
  std::byte* start = first + before;
  if (before < alignment) unmap(start + size, alignment - before);
  madvise(start, to_size(size), MADV_HUGEPAGE);
  return start;
}

}  // namespace

Buffer allocate_host(std::int64_t bytes) {
  if (bytes <= 0) return {};
  const auto size = to_size(bytes);
  if (bytes < kHugePage) {
    void* data = ::operator new (size, std::align_val_t{64}, std::nothrow);
    if (data == nullptr) throw no_memory(bytes);
    __builtin_memset(data, 0, size);
    return {static_cast<std::byte*>(data), bytes, free_aligned};
  }
  std::byte* data = try_map_huge(bytes, kHugePage);
  if (data == nullptr) throw no_memory(bytes);
  return {data, bytes, unmap};
}

namespace {

/// Bytes of an extent, a power of two. An extent begins at a multiple of its size, so that the
/// address of a piece gives the extent. Larger extents waste more memory at the end of a model.
constexpr std::int64_t kExtent = 64 << 20;
/// Largest size of a piece in bytes. Larger blocks fill their own huge pages well enough.
constexpr std::int64_t kPieceMax = 16 << 20;

/// False under the address sanitizer: it only detects a read beyond a piece if no other piece
/// follows.
#ifdef __has_feature
constexpr bool kSharesExtents = !__has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSharesExtents = false;
#else
constexpr bool kSharesExtents = true;
#endif

}  // namespace

/// The header at the beginning of an extent.
struct alignas(64) HostArena::Extent {
  std::atomic<std::int64_t> owners{1};  ///< its pieces, and the arena
};

Buffer HostArena::allocate(std::int64_t bytes) {
  if (!kSharesExtents || bytes <= 0 || bytes > kPieceMax) return allocate_host(bytes);
  const std::int64_t size = (bytes + 63) / 64 * 64;
  if (extent_ == nullptr || used_ + size > kExtent) {
    std::byte* memory = try_map_huge(kExtent, kExtent);
    // A limit on the address space may leave room for the piece, but not for an extent.
    if (memory == nullptr) return allocate_host(bytes);
    release(extent_);
    extent_ = new (memory) Extent;
    used_ = sizeof(Extent);
  }
  std::byte* data = reinterpret_cast<std::byte*>(extent_) + used_;
  used_ += size;
  extent_->owners.fetch_add(1);
  return {data, bytes, free_piece};
}

void HostArena::release(Extent* extent) {
  if (extent == nullptr || extent->owners.fetch_sub(1) > 1) return;
  unmap(reinterpret_cast<std::byte*>(extent), kExtent);
}

void HostArena::free_piece(std::byte* data, std::int64_t) {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(data);
  release(reinterpret_cast<Extent*>(at - at % kExtent));
}

HostArena::~HostArena() { release(extent_); }

}  // namespace ingot
