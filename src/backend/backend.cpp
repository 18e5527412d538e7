// Backend: copies for devices with memory that the host can access, and ops of other ops.
#include "backend/backend.h"

#include <algorithm>

namespace ingot {

void Backend::write(std::byte* to, std::span<const std::byte> from) {
  std::copy(from.begin(), from.end(), to);
}

void Backend::read(const std::byte* from, std::span<std::byte> to) const {
  std::copy_n(from, to.size(), to.data());
}

void Backend::packed(const Weight& w, std::span<std::byte> out) const {
  INGOT_CHECK(std::ssize(out) == w.storage.bytes(), out.size(), " bytes for ", w.storage.bytes());
  read(w.storage.data(), out);
}

void Backend::fetch(View rows, std::span<float> out) {
  INGOT_CHECK(std::ssize(out) == rows.rows * rows.cols &&
                  std::ssize(out) * std::int64_t{sizeof(float)} == rows.rows * rows.row_bytes,
              rows.rows, " x ", rows.cols, " into ", out.size());
  read(rows.data, std::as_writable_bytes(out));
}

void Backend::rope_write(View qkv, const Batch& b, const HeadNorms& n, const Attention& a,
                         KvLayer kv) {
  rope(qkv, b, n, a);
  if (a.writes_kv) kv_write(qkv, b, a, kv);
}

void Backend::linear_activate(View in, const Weight& w, Act act, bool gated, View between, View out,
                              Next next) {
  linear(in, w, between);
  activate(between, act, gated, out, next);
}

Tensor Backend::upload(std::span<const float> values) {
  Tensor t;
  t.buffer = allocate(static_cast<std::int64_t>(values.size_bytes()));
  write(t.buffer.data(), std::as_bytes(values));
  t.view = f32_view(reinterpret_cast<float*>(t.buffer.data()), 1, std::ssize(values));
  return t;
}

}  // namespace ingot
