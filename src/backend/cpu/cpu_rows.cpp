// CpuBackend: the ops on single rows: embeddings, norms, rotations, activations, pooling.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/panel.h"
#include "base/index.h"
#include "base/math.h"

namespace ingot {

namespace {

/// Copies or decodes the embedding or the token of batch row `t`.
void read_embedding(const KernelTable& table, const Batch& batch, const Embedding& e,
                    std::int64_t t, std::int64_t cols, float* out) {
  if (const std::byte* given = batch.embedding(t)) {
    std::copy_n(given, cols * std::int64_t{sizeof(float)}, reinterpret_cast<std::byte*>(out));
    return;
  }
  INGOT_CHECK(e.tokens != nullptr, "neither embeddings nor an embedding matrix");
  unpack_row(*e.tokens, at(batch.tokens, t), out);
  if (e.scale != 1) table.scale(out, e.scale, cols);
}

/// x += row `row` of `rows`, if there are rows.
void add_row(const KernelTable& table, const View& rows, std::int64_t row, std::int64_t cols,
             float* x) {
  if (!rows) return;
  INGOT_CHECK(row >= 0 && row < rows.rows && rows.cols == cols, "row ", row, " of ", rows.rows,
              " x ", rows.cols);
  table.add_scaled(1, rows.row<const float>(row), cols, x);
}

/// `count` heads of one row, with `dim` elements each, and their norm.
struct Heads {
  float* x = nullptr;
  std::int64_t count = 0;
  std::int64_t dim = 0;
  const Norm* norm = nullptr;
};

/// Normalises all heads together, or each head with its own or the common weight.
void norm_heads(const KernelTable& table, const Heads& h) {
  if (!*h.norm) return;
  const View& weight = h.norm->weight;
  if (weight.rows == 1 && weight.cols == h.count * h.dim) {
    table.norm(h.x, nullptr, 1, *h.norm, h.count * h.dim, h.x);
    return;
  }
  INGOT_CHECK((weight.rows == 1 || weight.rows == h.count) && weight.cols == h.dim, "norm [",
              weight.rows, ", ", weight.cols, "] of ", h.count, " heads of ", h.dim);
  for (std::int64_t i = 0; i < h.count; ++i) {
    Norm n = *h.norm;
    const std::int64_t row = weight.rows == 1 ? 0 : i;
    n.weight = weight.slice(row, 1);
    if (n.bias) n.bias = n.bias.slice(row, 1);
    float* x = h.x + i * h.dim;
    table.norm(x, nullptr, 1, n, h.dim, x);
  }
}

/// Rotates each head.
void rotate_heads(const KernelTable& table, const Heads& h, const Attention& a,
                  std::int64_t position) {
  if (a.rope == nullptr || a.rope->dims == 0) return;
  const RopeTable& rope = *a.rope;
  INGOT_CHECK(position >= 0 && position < rope.cos.rows && a.rope_first + rope.dims <= h.dim,
              "position ", position, " of ", rope.cos.rows, ", elements ", a.rope_first, " + ",
              rope.dims, " of ", h.dim);
  for (std::int64_t i = 0; i < h.count; ++i) {
    table.rotate(h.x + i * h.dim + a.rope_first, rope.adjacent_pairs, rope.dims,
                 rope.cos.row<const float>(position), rope.sin.row<const float>(position));
  }
}

}  // namespace

void CpuBackend::embed(const Batch& batch, const Embedding& e, View x) {
  INGOT_CHECK(x.rows == batch.rows() && (e.tokens == nullptr || e.tokens->cols == x.cols), x.rows,
              " rows for a batch of ", batch.rows());
  for (const View& given : batch.embeddings) {
    INGOT_CHECK(!given || given.cols == x.cols, "embeddings of ", given.cols, " columns, not ",
                x.cols);
  }
  overwrites(x);
  pool_.parallel_for(x.rows, [&](std::int64_t t, int) {
    read_embedding(table_, batch, e, t, x.cols, x.row<float>(t));
  });
  if (!adapters_.empty()) add_embedding_adapters(batch, e, x);
  if (!e.types && !e.positions) return;
  pool_.parallel_for(x.rows, [&](std::int64_t t, int) {
    float* row = x.row<float>(t);
    add_row(table_, e.types, batch.types.empty() ? 0 : at(batch.types, t), x.cols, row);
    add_row(table_, e.positions, std::int64_t{at(batch.positions, t)} + e.position_offset, x.cols,
            row);
  });
}

void CpuBackend::norm(View x, Term add, const Norm& n, View out, Next next) {
  const View& terms = add.rows;
  const auto fits = [&](const View& v) { return !v || (v.rows == x.rows && v.cols == x.cols); };
  INGOT_CHECK(fits(terms) && (!n || (out && fits(out) && n.weight.cols == x.cols)), "norm [",
              x.rows, ", ", x.cols, "] + [", terms.rows, ", ", terms.cols, "] -> [", out.rows, ", ",
              out.cols, "]");
  overwrites(x);
  const bool quantise = n && keeps_quantised(out, next);
  const auto norm_row = [&](std::int64_t t) {
    table_.norm(x.row<float>(t), terms ? terms.row<const float>(t) : nullptr, add.factor, n, x.cols,
                n ? out.row<float>(t) : nullptr);
  };
  const bool by_row = !quantise || !has_whole_pieces(x.rows);
  if (by_row) pool_.parallel_for(x.rows, [&](std::int64_t t, int) { norm_row(t); });
  if (!quantise) return;
  quantise_rows(out, [&](std::int64_t row, std::int64_t col, std::int64_t) {
    if (!by_row && col == 0) norm_row(row);
  });
}

void CpuBackend::scale(View x, float factor) {
  overwrites(x);
  pool_.parallel_for(x.rows,
                     [&](std::int64_t t, int) { table_.scale(x.row<float>(t), factor, x.cols); });
}

void CpuBackend::rope(View qkv, const Batch& b, const HeadNorms& n, const Attention& a) {
  INGOT_CHECK(qkv.rows == b.rows() && qkv.cols == a.qkv_cols(), "rope [", qkv.rows, ", ", qkv.cols,
              "], expected [", b.rows(), ", ", a.qkv_cols(), "]");
  overwrites(qkv);
  pool_.parallel_for(qkv.rows, [&](std::int64_t t, int) {
    float* row = qkv.row<float>(t);
    const auto turn = [&](const Heads& heads) {
      if (!n.after_rope) norm_heads(table_, heads);
      rotate_heads(table_, heads, a, at(b.positions, t));
      if (n.after_rope) norm_heads(table_, heads);
    };
    turn({.x = row, .count = a.heads, .dim = a.head_dim, .norm = &n.q});
    if (!a.writes_kv) return;
    float* k = row + a.q_cols();
    turn({.x = k, .count = a.kv_heads, .dim = a.head_dim, .norm = &n.k});
    if (a.values_in_keys) return;
    norm_heads(table_, {.x = k + a.k_cols(), .count = a.kv_heads, .dim = a.v_dim(), .norm = &n.v});
  });
}

void CpuBackend::activate(View in, Act act, bool gated, View out, Next next) {
  INGOT_CHECK(in.cols == out.cols * (gated ? 2 : 1), "activate ", in.cols, " columns to ",
              out.cols);
  activate_rows(columns(in, 0, out.cols), gated ? columns(in, out.cols, out.cols) : View{}, act,
                out, next);
}

void CpuBackend::glu(View gate, View up, Act act, View out, Next next) {
  activate_rows(gate, up, act, out, next);
}

void CpuBackend::activate_rows(View gate, View up, Act act, View out, Next next) {
  const auto fits = [&](const View& v) { return v.rows == out.rows && v.cols == out.cols; };
  INGOT_CHECK(fits(gate) && (up ? fits(up) : act != Act::kGptOss), "activate [", gate.rows, ", ",
              gate.cols, "] with [", up.rows, ", ", up.cols, "] -> [", out.rows, ", ", out.cols,
              "]");
  const auto activate_part = [&](std::int64_t t, std::int64_t col, std::int64_t count) {
    table_.activate(gate.row<const float>(t) + col, up ? up.row<const float>(t) + col : nullptr,
                    act, count, out.row<float>(t) + col);
  };
  if (!keeps_quantised(out, next)) {
    pool_.parallel_for(out.rows, [&](std::int64_t t, int) { activate_part(t, 0, out.cols); });
    return;
  }
  quantise_rows(out, activate_part);
}

void CpuBackend::add_gated(View x, View y, View gate) {
  INGOT_CHECK(x.rows == y.rows && x.cols == y.cols && gate.rows == x.rows && gate.cols == 1,
              "add [", y.rows, ", ", y.cols, "] times [", gate.rows, ", ", gate.cols, "] to [",
              x.rows, ", ", x.cols, "]");
  overwrites(x);
  pool_.parallel_for(x.rows, [&](std::int64_t t, int) {
    table_.add_scaled(math::sigmoid(*gate.row<const float>(t)), y.row<const float>(t), x.cols,
                      x.row<float>(t));
  });
}

void CpuBackend::gather(View x, const Batch& batch, View out) {
  const std::span<const std::int32_t> rows = batch.out_rows;
  INGOT_CHECK(std::ssize(rows) == out.rows, rows.size(), " rows into ", out.rows);
  overwrites(out);
  pool_.parallel_for(out.rows, [&](std::int64_t i, int) {
    const std::int64_t row = at(rows, i);
    INGOT_CHECK(row >= 0 && row < x.rows, "row ", row, " of ", x.rows);
    std::copy_n(x.row<const float>(row), x.cols, out.row<float>(i));
  });
}

void CpuBackend::pool(View x, const Batch& batch, Pooling pooling, View out) {
  INGOT_CHECK(
      pooling != Pooling::kNone && std::ssize(batch.pool_seqs) == out.rows && x.cols == out.cols,
      batch.pool_seqs.size(), " sequences of ", x.cols, " columns into [", out.rows, ", ", out.cols,
      "]");
  overwrites(out);
  adapters_.begin_pooled(batch);
  pool_.parallel_for(out.rows, [&](std::int64_t i, int) {
    const std::int32_t s = at(batch.pool_seqs, i);
    const std::int64_t first = at(batch.q_start, s);
    const std::int64_t end = at(batch.q_start, s + 1);
    const bool has_all = end - first == at(batch.kv_len, s);
    INGOT_CHECK(first < end && (has_all || pooling == Pooling::kLast), "sequence ", s, " has ",
                end - first, " rows in this step, of ", at(batch.kv_len, s));
    float* to = out.row<float>(i);
    if (pooling != Pooling::kMean) {
      const std::int64_t row = pooling == Pooling::kCls ? first : end - 1;
      std::copy_n(x.row<const float>(row), x.cols, to);
      return;
    }
    std::fill_n(to, x.cols, 0.0f);
    for (std::int64_t t = first; t < end; ++t) {
      table_.add_scaled(1, x.row<const float>(t), x.cols, to);
    }
    table_.scale(to, 1.0f / static_cast<float>(end - first), x.cols);
  });
}

void CpuBackend::normalise(View x) {
  overwrites(x);
  pool_.parallel_for(x.rows,
                     [&](std::int64_t t, int) { table_.normalise(x.row<float>(t), x.cols); });
}

}  // namespace ingot
