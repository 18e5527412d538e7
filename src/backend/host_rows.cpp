// HostRows: uses device rows in place, or lists the copies to host memory.
#include "backend/host_rows.h"

namespace ingot {

HostRows::HostRows(const Backend& backend, View rows) : rows_(rows) {
  if (!backend.host_memory()) copy_ = allocate_host(rows.rows * rows.row_bytes);
  host_ = reinterpret_cast<float*>(copy_ ? copy_.data() : rows.data);
}

void HostRows::add_fetch(std::int64_t first, std::int64_t count,
                         std::vector<RowFetch>& copies) const {
  if (!copy_ || count == 0) return;
  float* const out = host_ + first * rows_.cols;
  const auto floats = to_size(count * rows_.cols);
  copies.push_back({.rows = rows_.slice(first, count), .out = {out, floats}});
}

}  // namespace ingot
