// Host memory for weights, pages and scratch.
#include "backend/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

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

/// Memory that begins where a large page can, so that all of it may lie in such pages: mapped with
/// room to move its start, and what is before and behind given back.
std::byte* map_huge(std::int64_t bytes) {
  if (bytes > std::numeric_limits<std::int64_t>::max() - 2 * kHugePage) throw no_memory(bytes);
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t size = (bytes + page - 1) / page * page;
  void* data = mmap(nullptr, static_cast<std::size_t>(size + kHugePage), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw no_memory(bytes);
  auto* first = static_cast<std::byte*>(data);
  const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) % kHugePage);
  const std::int64_t before = past == 0 ? 0 : kHugePage - past;
  if (before > 0) unmap(first, before);
  std::byte* start = first + before;
  if (before < kHugePage) unmap(start + size, kHugePage - before);
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
  return {map_huge(bytes), bytes, unmap};
}

}  // namespace ingot
