// AttentionProblem: random inputs for tests of the attention op, with NaN in unused slots of pages.
#pragma once

#include "backend/op_test_util.h"

namespace ingot::testing {

/// Writes the key and value of row i of `qkv`, in device memory, to slot slots[i].
inline void write_keys(Backend& backend, const Attention& a, const KvLayer& layer, View qkv,
                       std::span<const std::int32_t> slots) {
  const std::vector<std::int32_t> positions(slots.size());
  const std::int32_t q_start[] = {0, static_cast<std::int32_t>(slots.size())};
  const std::int32_t kv_len[] = {q_start[1]};
  const KvBlocks group{.slots = slots, .tables = {}, .blocks_max = 0};
  Batch b;
  b.positions = positions;
  b.q_start = q_start;
  b.kv_len = kv_len;
  b.groups = {&group, 1};
  run_step(backend, b, [&] { backend.kv_write(qkv, b, a, layer); });
}

/// Copies rows to the device and writes their keys and values, as above, in parts of less than
/// 1 MiB: a copy of all rows may not fit in the caches, and takes longer than the op.
inline void write_keys(Backend& backend, const Attention& a, const KvLayer& layer,
                       const Matrix& qkv, std::span<const std::int32_t> slots) {
  const std::int64_t part = std::max<std::int64_t>(1, (1 << 18) / (qkv.cols() + 3));
  for (std::int64_t first = 0; first < qkv.rows(); first += part) {
    const std::int64_t count = std::min(part, qkv.rows() - first);
    const Tensor rows = copy_to_device(backend, qkv.view().slice(first, count));
    write_keys(backend, a, layer, rows.view, slots.subspan(std::size_t(first), std::size_t(count)));
  }
}

/// Random sequences with keys and values in pages. The last rows of each sequence are queries.
///
/// Slots of keys that no row sees, and all unused slots of the pool, keep NaN.
struct AttentionProblem {
  AttentionProblem(const Attention& attention, KvType kv_type,
                   const std::vector<TestBatch::Sequence>& shape, Random& random)
      : a(attention),
        type(kv_type),
        sequences(shape),
        batch(shape, attention.window, random),
        keys(std::accumulate(shape.begin(), shape.end(), std::int64_t{0},
                             [](std::int64_t n, const auto& s) { return n + s.kv_len; }),
             attention.qkv_cols()),
        rows(batch.rows(), attention.qkv_cols()) {
    keys.fill(random);
    std::int64_t first = 0;
    std::int64_t row = 0;
    for (std::size_t s = 0; s < shape.size(); ++s) {
      first_key.push_back(first);
      const std::int32_t past = shape[s].kv_len - shape[s].q;
      const std::int32_t seen = a.window == 0 ? 0 : std::max(0, past - a.window + 1);
      for (std::int32_t key = 0; key < shape[s].kv_len; ++key) {
        slots.push_back(key < seen ? -1 : batch.slot(s, key));
      }
      for (std::int32_t i = past; i < shape[s].kv_len; ++i, ++row) {
        std::copy_n(keys.row(first + i), keys.cols(), rows.row(row));
      }
      first += shape[s].kv_len;
    }
  }

  /// Allocates pages full of NaN on `backend`, then writes the keys and values that rows may see.
  Pages fill_pages(Backend& backend) const {
    backend.plan({.rows = std::int32_t(keys.rows()), .cols = a.qkv_cols(), .hidden = a.q_cols()});
    Pages pages = poisoned_pages(backend, a, type, batch.pool_blocks());
    write_keys(backend, a, pages.layer, keys, slots);
    return pages;
  }

  /// Runs the attention op on `rows` and returns its output. `pages` must come from fill_pages.
  Matrix attend(Backend& backend, const Pages& pages) const {
    const AttentionOnDevice on_device(backend, a);
    const OnDevice in(backend, rows);
    const OnDevice out(backend, rows.rows(), a.out_cols());
    const Batch b = batch.get();
    run_step(backend, b, [&] {
      backend.attention(in.view(), b, on_device.attention, pages.layer, out.view(), Next::kAnyone);
    });
    return out.matrix();
  }
  Matrix attend(Backend& backend) const { return attend(backend, fill_pages(backend)); }

  Attention a;
  KvType type;
  std::vector<TestBatch::Sequence> sequences;
  TestBatch batch;
  Matrix keys;                          ///< [sum of kv_len, a.qkv_cols()] rows of all sequences
  Matrix rows;                          ///< the rows of `keys` that are queries
  std::vector<std::int64_t> first_key;  ///< first row of each sequence in `keys`
  std::vector<std::int32_t> slots;      ///< slot of each row of `keys`; -1: not in the pages
};

/// Returns the tested tables, and for KvType::kBF16 also scalar_tiles_kernels().
inline std::vector<const KernelTable*> attention_tables(KvType type) {
  std::vector<const KernelTable*> all = tested_tables();
  if (type == KvType::kBF16) all.push_back(&scalar_tiles_kernels());
  return all;
}

/// Makes the devices of `devices()`, and for KvType::kBF16 one with scalar_tiles_kernels().
inline std::vector<Device> attention_devices(KvType type) {
  std::vector<Device> all = devices();
  if (type == KvType::kBF16) all.push_back(device(scalar_tiles_kernels(), 2));
  return all;
}

/// Random sinks and position biases of an attention, in host memory.
struct AttentionTerms {
  AttentionTerms(const Attention& a, std::int32_t reach, Random& random)
      : sinks(1, a.heads), bias(a.heads, 2 * reach + 1) {
    sinks.fill(random, 2);
    bias.fill(random);
  }
  Matrix sinks, bias;
};

inline const char* kv_name(KvType type) {
  constexpr const char* kNames[] = {"F32", "F16", "BF16", "INT8"};
  return kNames[static_cast<int>(type)];
}

}  // namespace ingot::testing
