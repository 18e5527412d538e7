// Backend: read, write and upload for devices with memory that the host can access.
#include "backend/backend.h"

#include <algorithm>

namespace ingot {

void Backend::write(std::byte* to, std::span<const std::byte> from) {
  std::copy(from.begin(), from.end(), to);
}

void Backend::read(const std::byte* from, std::span<std::byte> to) const {
  std::copy_n(from, to.size(), to.data());
}

Tensor Backend::upload(std::span<const float> values) {
  Tensor t;
  t.buffer = allocate(static_cast<std::int64_t>(values.size_bytes()));
  write(t.buffer.data(), std::as_bytes(values));
  t.view = f32_view(reinterpret_cast<float*>(t.buffer.data()), 1, std::ssize(values));
  return t;
}

}  // namespace ingot
