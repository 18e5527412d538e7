// Host memory for weights, pages and scratch.
#include "backend/buffer.h"

#include <sys/mman.h>

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
              " bytes of memory; a smaller --ctx or another --kv-type needs less")};
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
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw no_memory(bytes);
  madvise(data, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(data), bytes, unmap};
}

}  // namespace ingot
