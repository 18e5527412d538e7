// Loading a model releases the memory pages of its matrices.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

#include "backend/cpu/cpu_backend.h"
#include "base/text.h"
#include "model/model.h"
#include "support/zero_gpt_oss.h"

namespace ingot {
namespace {

using namespace testing_support;

/// The number of memory pages inside a tensor that are mapped now, by Linux's pagemap.
std::int64_t mapped_pages(const TensorInfo& tensor) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uint64_t>(tensor.data);
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::int64_t mapped = map < 0 ? -1 : 0;
  for (std::uint64_t p = (begin + page - 1) / page; map >= 0 && p < (begin + tensor.bytes) / page;
       ++p) {
    std::uint64_t entry = 0;
    EXPECT_EQ(::pread(map, &entry, sizeof entry, static_cast<off_t>(p * sizeof entry)), 8);
    mapped += entry >> 63 != 0 ? 1 : 0;
  }
  if (map >= 0) ::close(map);
  return mapped;
}

TEST(Release, CodesAndScalesOfExperts) {
  const TempFolder folder;
  write_zero_gpt_oss(folder);
  const auto checkpoint = Checkpoint::open(folder.path());
  std::vector<const TensorInfo*> stacks;
  for (const TensorInfo& tensor : checkpoint->tensors()) {
    if (tensor.type_name != "U8") continue;
    stacks.push_back(&tensor);
    for (std::uint64_t i = 0; i < tensor.bytes; ++i) EXPECT_EQ(tensor.data[i], std::byte{0});
    if (mapped_pages(tensor) < 0) GTEST_SKIP() << "no pagemap";
    EXPECT_GE(mapped_pages(tensor), 3) << tensor.name;
  }
  ASSERT_EQ(stacks.size(), 4u);
  ThreadPool pool(1);
  CpuBackend backend(pool, *kernel_tables().back());
  load_model(*checkpoint, bind_model(*checkpoint), backend, {.context = 16},
             [](std::uint64_t, std::uint64_t) {});
  for (const TensorInfo* tensor : stacks) EXPECT_EQ(mapped_pages(*tensor), 0) << tensor->name;
}

}  // namespace
}  // namespace ingot
