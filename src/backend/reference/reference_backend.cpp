// ReferenceBackend: the ops as plain loops in double precision, with libm, on one thread.
#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/kv_rows.h"
#include "base/check.h"
#include "base/fp_env.h"
#include "base/half.h"
#include "base/index.h"
#include "quant/formats.h"

namespace ingot {
namespace {

using Row = std::vector<double>;

Row read_row(const float* values, std::int64_t n) { return Row(values, values + n); }

/// Rounds a row to float: the only rounding of an op.
void write_row(const Row& row, float* out) {
  std::transform(row.begin(), row.end(), out, [](double v) { return static_cast<float>(v); });
}

const float* weight_row(const Weight& w, std::int64_t r) {
  return reinterpret_cast<const float*>(w.segments[0].data) + r * w.cols;
}

Row multiply(const Weight& w, const Row& x) {
  INGOT_CHECK(w.cols == static_cast<std::int64_t>(x.size()), "weight has ", w.cols,
              " columns, input ", x.size());
  Row y(to_size(w.rows));
  for (std::int64_t r = 0; r < w.rows; ++r) {
    const float* weights = weight_row(w, r);
    double sum = w.bias ? double{w.bias.view.row<float>(0)[r]} : 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += double{weights[k]} * x[k];
    at(y, r) = sum;
  }
  return y;
}

Row normalised(const Row& x, const Norm& n) {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  if (n.kind == NormKind::kLayer) mean = std::accumulate(x.begin(), x.end(), 0.0) / count;
  double squares = 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  const double inv = 1.0 / std::sqrt(squares / count + double{n.eps});
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) * inv * double{n.weight.row<float>(0)[i]};
    if (n.bias) y[i] += double{n.bias.row<float>(0)[i]};
  }
  return y;
}

void rotate(Row& head, const RopeTable& table, std::int32_t position) {
  INGOT_CHECK(position >= 0 && position < table.cos.rows, "position ", position, " of ",
              table.cos.rows);
  const auto pairs = to_size(table.dims / 2);
  for (std::size_t i = 0; i < pairs; ++i) {
    double& a = head[table.adjacent_pairs ? 2 * i : i];
    double& b = head[table.adjacent_pairs ? 2 * i + 1 : i + pairs];
    const double cos = table.cos.row<float>(position)[i];
    const double sin = table.sin.row<float>(position)[i];
    const double turned = a * cos - b * sin;
    b = b * cos + a * sin;
    a = turned;
  }
}

double activation(Act act, double x) {
  switch (act) {
    case Act::kSilu:
      return x / (1.0 + std::exp(-x));
    case Act::kGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Act::kGeluErf:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Row activated(Act act, bool gated, const Row& in) {
  Row out(gated ? in.size() / 2 : in.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = activation(act, in[i]) * (gated ? in[out.size() + i] : 1.0);
  }
  return out;
}

Row softmax(Row x) {
  const double max = *std::max_element(x.begin(), x.end());
  for (double& v : x) v = std::exp(v - max);
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& v : x) v /= sum;
  return x;
}

/// Indices sorted by value, largest first, ties to the lower index.
std::vector<std::int32_t> ranking(const Row& x) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t i, std::int32_t j) { return at(x, i) > at(x, j); });
  return order;
}

bool any_nan(const Row& x) {
  return std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

std::int32_t largest(const Row& x) {
  if (any_nan(x)) return -1;
  return static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

// Pages: blocks of KvRows.

/// The D elements of one token's key or value in one kv head.
std::byte* page_head(const Attention& a, const KvLayer& kv, std::int32_t slot, bool value,
                     std::int32_t g) {
  INGOT_CHECK(slot >= 0 && slot / kBlockTokens < kv.blocks, "slot ", slot, " of ", kv.blocks,
              " blocks");
  const KvRows rows(a, kv.type);
  const std::int64_t head = (value ? a.kv_heads : 0) + g;
  return kv.pages + (slot / kBlockTokens) * kv.block_bytes +
         slot % kBlockTokens * rows.token_bytes + head * rows.head_bytes;
}

/// Rounds a group of up to 32 elements to integers times d, where d is the largest magnitude / 127.
/// Returns d.
float quantise(std::span<const float> group, std::int8_t* out) {
  float amax = 0;
  bool finite = true;
  for (const float x : group) {
    amax = std::max(amax, std::abs(x));
    finite = finite && std::isfinite(x);
  }
  const bool any = finite && amax >= 0x1p-100f;
  for (std::size_t i = 0; i < group.size(); ++i) {
    out[i] =
        any ? static_cast<std::int8_t>(std::nearbyint(group[i] * (127.0f / amax))) : std::int8_t{0};
  }
  if (!finite) return std::nanf("");
  return any ? amax / 127.0f : 0.0f;
}

void store_int8(std::span<const float> head, std::byte* to) {
  const KvRows rows(1, std::ssize(head), KvType::kInt8);
  for (std::size_t d = 0; d < head.size(); d += 32) {
    std::int8_t q[32];
    const auto group = head.subspan(d, std::min<std::size_t>(32, head.size() - d));
    const float scale = quantise(group, q);
    std::memcpy(to + d / 32 * 4, &scale, 4);
    std::memcpy(to + rows.scale_bytes + d, q, group.size());
  }
}

void store_head(const float* from, std::int32_t n, KvType type, std::byte* to) {
  if (type == KvType::kInt8) return store_int8({from, to_size(n)}, to);
  for (std::int32_t d = 0; d < n; ++d) {
    const float x = from[d];
    if (type == KvType::kF32) {
      std::memcpy(to + 4 * d, &x, 4);
    } else {
      const std::uint16_t bits = type == KvType::kF16 ? float_to_half(x) : float_to_bfloat16(x);
      std::memcpy(to + 2 * d, &bits, 2);
    }
  }
}

float load_element(const std::byte* head, std::int32_t n, KvType type, std::int32_t d) {
  float value = 0;
  if (type == KvType::kF32) {
    std::memcpy(&value, head + 4 * d, 4);
  } else if (type == KvType::kInt8) {
    std::memcpy(&value, head + d / 32 * 4, 4);
    value *= static_cast<float>(
        std::bit_cast<std::int8_t>(head[KvRows(1, n, KvType::kInt8).scale_bytes + d]));
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, head + 2 * d, 2);
    value = type == KvType::kF16 ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  return value;
}

Row load_head(const std::byte* from, std::int32_t n, KvType type) {
  Row head(to_size(n));
  for (std::int32_t d = 0; d < n; ++d) {
    at(head, d) = load_element(from, n, type, d);
  }
  return head;
}

bool sees(const Attention& a, std::int32_t row, std::int32_t key) {
  if (a.causal && key > row) return false;
  return a.window == 0 || std::abs(row - key) < a.window;
}

/// One query head over the visible keys of its sequence; `table` maps block numbers to blocks.
Row attend(const Attention& a, const KvLayer& kv, const std::int32_t* table, std::int32_t row,
           std::int32_t kv_len, std::int32_t g, const Row& q) {
  Row scores;
  std::vector<std::int32_t> slots;
  for (std::int32_t key = 0; key < kv_len; ++key) {
    if (!sees(a, row, key)) continue;
    slots.push_back(table[key / kBlockTokens] * kBlockTokens + key % kBlockTokens);
    const Row k = load_head(page_head(a, kv, slots.back(), false, g), a.head_dim, kv.type);
    double s = std::inner_product(q.begin(), q.end(), k.begin(), 0.0) * double{a.scale};
    if (a.score_cap != 0) s = double{a.score_cap} * std::tanh(s / double{a.score_cap});
    scores.push_back(s);
  }
  INGOT_CHECK(!scores.empty(), "row ", row, " of ", kv_len, " sees no key");
  const Row p = softmax(scores);
  Row out(q.size(), 0.0);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Row v = load_head(page_head(a, kv, slots[i], true, g), a.head_dim, kv.type);
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += p[i] * v[d];
  }
  return out;
}

void reduce_row(const Row& x, std::int64_t r, const LogitsReduce& reduce) {
  if (reduce.full && r < reduce.full.rows) write_row(x, reduce.full.row<float>(r));
  const auto row = to_size(r);
  if (!reduce.argmax.empty()) reduce.argmax[row] = largest(x);
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double v : x) sum += std::exp(v - max);
  const auto logprob = [&](std::int32_t id) {
    return static_cast<float>(at(x, id) - max - std::log(sum));
  };
  const auto ids = to_size(reduce.ids_per_row);
  for (std::size_t i = row * ids; i < (row + 1) * ids; ++i) {
    reduce.id_logprobs[i] = logprob(reduce.ids[i]);
  }
  const auto top_k = to_size(reduce.top_k);
  if (top_k == 0) return;
  std::vector<std::int32_t> order = any_nan(x) ? std::vector<std::int32_t>{} : ranking(x);
  std::erase_if(order, [&](std::int32_t id) { return reduce.ranked != 0 && id >= reduce.ranked; });
  for (std::size_t i = 0; i < top_k; ++i) {
    const bool exists = i < order.size();
    reduce.top[row * top_k + i] = exists ? TokenScore{order[i], logprob(order[i])}
                                         : TokenScore{-1, std::numeric_limits<float>::quiet_NaN()};
  }
}

}  // namespace

Buffer ReferenceBackend::allocate(std::int64_t bytes) { return allocate_host(bytes); }

Weight ReferenceBackend::prepare(std::span<const View> parts, std::span<const float> bias, Use) {
  Weight w;
  w.cols = parts[0].cols;
  for (const View& part : parts) {
    INGOT_CHECK(part.cols == w.cols, "a part has ", part.cols, " columns, the first ", w.cols);
    w.rows += part.rows;
  }
  w.storage = allocate_host(w.rows * w.cols * 4);
  auto* out = reinterpret_cast<float*>(w.storage.data());
  for (const View& part : parts) {
    for (std::int64_t r = 0; r < part.rows; ++r, out += w.cols) {
      decode_row(part.format, part.row_data(r), w.cols, out);
    }
  }
  w.segments = {Segment{.format = Format{0}, .rows = w.rows, .data = w.storage.data()}};
  if (!bias.empty()) {
    INGOT_CHECK(static_cast<std::int64_t>(bias.size()) == w.rows, "bias of ", bias.size(), " for ",
                w.rows, " rows");
    w.bias = upload(bias);
  }
  return w;
}

std::int64_t ReferenceBackend::prepared_bytes(std::span<const View> parts, bool bias) const {
  std::int64_t bytes = 0;
  for (const View& part : parts) bytes += 4 * part.rows * (part.cols + (bias ? 1 : 0));
  return bytes;
}

std::int64_t ReferenceBackend::kv_block_bytes(const Attention& a, KvType type) const {
  return KvRows(a, type).block_bytes;
}

void ReferenceBackend::kv_copy(std::span<const KvLayer> layers, std::int32_t from,
                               std::int32_t to) {
  for (const KvLayer& kv : layers) {
    std::copy_n(kv.pages + from * kv.block_bytes, kv.block_bytes, kv.pages + to * kv.block_bytes);
  }
}

void ReferenceBackend::kv_read(const Attention&, std::span<const KvLayer> layers,
                               std::int32_t block, std::span<std::byte> out) const {
  std::byte* to = out.data();
  for (const KvLayer& kv : layers) {
    to = std::copy_n(kv.pages + block * kv.block_bytes, kv.block_bytes, to);
  }
}

void ReferenceBackend::kv_load(const Attention&, std::span<const KvLayer> layers,
                               std::int32_t block, std::span<const std::byte> in) {
  const std::byte* from = in.data();
  for (const KvLayer& kv : layers) {
    std::copy_n(from, kv.block_bytes, kv.pages + block * kv.block_bytes);
    from += kv.block_bytes;
  }
}

std::int64_t ReferenceBackend::scratch_bytes(const StepLimits&) const { return 0; }

void ReferenceBackend::plan(const StepLimits&) {}

void ReferenceBackend::step(const Batch&, FunctionRef<void()> body) {
  set_canonical_fp();
  body();
}

void ReferenceBackend::embed(const Batch& batch, const Weight* table, View x) {
  const auto bytes = to_size(x.cols) * 4;
  for (std::int32_t t = 0; t < batch.rows(); ++t) {
    if (const std::byte* given = batch.embedding(t)) {
      std::memcpy(x.row_data(t), given, bytes);
      continue;
    }
    const std::int32_t token = at(batch.tokens, t);
    INGOT_CHECK(token >= 0 && token < table->rows, "token ", token, " of ", table->rows);
    std::memcpy(x.row_data(t), weight_row(*table, token), bytes);
  }
}

void ReferenceBackend::norm(View x, View add, const Norm& n, View out, Next) {
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t i = 0; add && i < x.cols; ++i) x.row<float>(t)[i] += add.row<float>(t)[i];
    if (out) write_row(normalised(read_row(x.row<float>(t), x.cols), n), out.row<float>(t));
  }
}

void ReferenceBackend::linear(View in, const Weight& w, View out) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    write_row(multiply(w, read_row(in.row<float>(t), in.cols)), out.row<float>(t));
  }
}

void ReferenceBackend::rope(View qkv, const Batch& b, const Norm& q_norm, const Norm& k_norm,
                            const Attention& a) {
  for (std::int32_t t = 0; t < b.rows(); ++t) {
    for (std::int32_t h = 0; h < a.heads + a.kv_heads; ++h) {
      float* data = qkv.row<float>(t) + std::int64_t{h} * a.head_dim;
      Row head = read_row(data, a.head_dim);
      const Norm& n = h < a.heads ? q_norm : k_norm;
      if (n) head = normalised(head, n);
      if (a.rope != nullptr) rotate(head, *a.rope, at(b.positions, t));
      write_row(head, data);
    }
  }
}

void ReferenceBackend::kv_write(View qkv, const Batch& b, const Attention& a, KvLayer kv) {
  const KvBlocks& blocks = at(b.groups, kv.group);
  for (std::int32_t t = 0; t < b.rows(); ++t) {
    const std::int32_t slot = at(blocks.slots, t);
    if (slot == -1) continue;
    const float* k = qkv.row<float>(t) + a.q_cols();
    const float* v = k + a.kv_cols();
    for (std::int32_t g = 0; g < a.kv_heads; ++g) {
      const std::int64_t at = std::int64_t{g} * a.head_dim;
      store_head(k + at, a.head_dim, kv.type, page_head(a, kv, slot, false, g));
      store_head(v + at, a.head_dim, kv.type, page_head(a, kv, slot, true, g));
    }
  }
}

void ReferenceBackend::attention(View qkv, const Batch& b, const Attention& a, KvLayer kv, View out,
                                 Next) {
  const KvBlocks& blocks = at(b.groups, kv.group);
  for (std::int32_t s = 0; s < b.sequences(); ++s) {
    const auto seq = to_size(s);
    const std::int32_t* table = blocks.tables.data() + std::int64_t{s} * blocks.blocks_max;
    for (std::int32_t t = b.q_start[seq]; t < b.q_start[seq + 1]; ++t) {
      const std::int32_t row = b.kv_len[seq] - b.q_start[seq + 1] + t;
      for (std::int32_t h = 0; h < a.heads; ++h) {
        const std::int64_t at = std::int64_t{h} * a.head_dim;
        const Row q = read_row(qkv.row<float>(t) + at, a.head_dim);
        const std::int32_t g = h / (a.heads / a.kv_heads);
        write_row(attend(a, kv, table, row, b.kv_len[seq], g, q), out.row<float>(t) + at);
      }
    }
  }
}

void ReferenceBackend::activate(View in, Act act, bool gated, View out, Next) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    write_row(activated(act, gated, read_row(in.row<float>(t), in.cols)), out.row<float>(t));
  }
}

void ReferenceBackend::moe(View in, const MoeWeights& w, const Moe& m, View out) {
  for (std::int64_t t = 0; t < in.rows; ++t) {
    const Row x = read_row(in.row<float>(t), in.cols);
    const Row p = softmax(multiply(*w.router, x));
    std::vector<std::int32_t> chosen = ranking(p);
    chosen.resize(to_size(m.used));
    double sum = 0;
    for (std::int32_t e : chosen) sum += at(p, e);
    Row y(x.size(), 0.0);
    for (std::int32_t e : chosen) {
      const auto expert = to_size(e);
      const Row inner = activated(m.act, true, multiply(w.gate_up[expert], x));
      const Row part = multiply(w.down[expert], inner);
      const double share = m.renormalise ? p[expert] / sum : p[expert];
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += share * part[i];
    }
    write_row(y, out.row<float>(t));
  }
}

void ReferenceBackend::gather(View x, const Batch& batch, View out) {
  for (std::size_t i = 0; i < batch.out_rows.size(); ++i) {
    std::memcpy(out.row_data(static_cast<std::int64_t>(i)), x.row_data(batch.out_rows[i]),
                to_size(x.cols) * 4);
  }
}

void ReferenceBackend::logits(View in, const Weight& head, const LogitsReduce& reduce) {
  for (std::int64_t r = 0; r < in.rows; ++r) {
    reduce_row(multiply(head, read_row(in.row<float>(r), in.cols)), r, reduce);
  }
}

}  // namespace ingot
