// Host memory for weights, pages and scratch.
#include "backend/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <new>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::int64_t kHugePage = 2 << 20;

void unmap(std::byte* data, std::int64_t bytes) { munmap(data, static_cast<std::size_t>(bytes)); }

void free_aligned(std::byte* data, std::int64_t) { ::operator delete (data, std::align_val_t{64}); }

Error no_memory(std::int64_t bytes) {
  return {ErrorCode::kDoesNotFit,
          cat("the system did not give ", bytes,
              " bytes of memory; a smaller `context` or another `kv_type` needs less")};
}

/// Memory in large pages, as far as the system gives them, that begins at a multiple of
/// `alignment`: mapped with room to move its start, and what is before and behind given back.
/// Null where there is none.
std::byte* try_map_huge(std::int64_t bytes, std::int64_t alignment) {
  if (bytes > std::numeric_limits<std::int64_t>::max() - 2 * alignment) return nullptr;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t size = (bytes + page - 1) / page * page;
  void* data = mmap(nullptr, static_cast<std::size_t>(size + alignment), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(data);
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) %
                                              static_cast<std::uintptr_t>(alignment));
  const std::int64_t before = past == 0 ? 0 : alignment - past;
  if (before > 0) unmap(first, before);
  std::byte* start = first + before;
  if (before < alignment) unmap(start + size, alignment - before);
  madvise(start, static_cast<std::size_t>(size), MADV_HUGEPAGE);
  return start;
}

}  // namespace

Buffer allocate_host(std::int64_t bytes) {
  if (bytes <= 0) return {};
  const auto size = static_cast<std::size_t>(bytes);
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

/// Bytes of a stretch, which begins at a multiple of them: so a block finds its stretch.
constexpr std::int64_t kStretch = 64 << 20;
/// Larger blocks lie in large pages by themselves, but for a small part.
constexpr std::int64_t kLargeBlock = 16 << 20;

/// The address sanitizer sees a read behind a block only where no other block is.
#ifdef __has_feature
constexpr bool kSharesStretches = !__has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSharesStretches = false;
#else
constexpr bool kSharesStretches = true;
#endif

}  // namespace

/// What a stretch begins with.
struct alignas(64) HostArena::Stretch {
  std::atomic<std::int64_t> owners{1};  ///< its blocks, and the arena
};

Buffer HostArena::allocate(std::int64_t bytes) {
  if (!kSharesStretches || bytes <= 0 || bytes > kLargeBlock) return allocate_host(bytes);
  const std::int64_t size = (bytes + 63) / 64 * 64;
  if (stretch_ == nullptr || used_ + size > kStretch) {
    std::byte* memory = try_map_huge(kStretch, kStretch);
    // Where so many addresses are not to be had, the block by itself may be.
    if (memory == nullptr) return allocate_host(bytes);
    release(stretch_);
    stretch_ = new (memory) Stretch;
    used_ = sizeof(Stretch);
  }
  std::byte* data = reinterpret_cast<std::byte*>(stretch_) + used_;
  used_ += size;
  stretch_->owners.fetch_add(1);
  return {data, bytes, free_block};
}

void HostArena::release(Stretch* stretch) {
  if (stretch == nullptr || stretch->owners.fetch_sub(1) > 1) return;
  unmap(reinterpret_cast<std::byte*>(stretch), kStretch);
}

void HostArena::free_block(std::byte* data, std::int64_t) {
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(data);
  release(reinterpret_cast<Stretch*>(at - at % kStretch));
}

HostArena::~HostArena() { release(stretch_); }

}  // namespace ingot
