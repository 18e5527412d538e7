// HostRows: uses device rows in place, or copies them to host memory.
#include "backend/host_rows.h"
#include "base/index.h"

namespace ingot {

HostRows::HostRows(const Backend& backend, View rows) : rows_(rows) {
  if (!backend.host_memory()) copy_ = allocate_host(rows.rows * rows.row_bytes);
  host_ = reinterpret_cast<float*>(copy_ ? copy_.data() : rows.data);
}

void HostRows::fetch(const Backend& backend, std::int64_t first, std::int64_t count) {
  if (!copy_ || count == 0) return;
  const std::int64_t at = first * rows_.row_bytes;
  backend.read(rows_.data + at, {copy_.data() + at, to_size(count * rows_.row_bytes)});
}

}  // namespace ingot
